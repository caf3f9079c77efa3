"""`urls:` of a project file: which redirects are written where, which URLs end on purpose, and the redirects that the files have.

In: the evaluated top of the project file, and the declared sites. Out: `UrlSettings`. Reads the files of redirects, below the project only.
What a site is: an object that is published and contains published ones. Forbidden: following a link, and taking a file for ours that
is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from reconciler.address import Address
from reconciler.config.schemas.forms import EXPRESSION, Schema, described_map
from reconciler.config.sections import ProjectSection, SectionReading
from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import Map, MapEntry, Scalar
from reconciler.config.source.problems import Problems, described, items_of, report_form, untainted, wrong_form
from reconciler.config.url_keys import GONE, URLS, URLS_OF_SERVICE
from reconciler.errors import os_reason
from reconciler.features.urls.model.redirects import (
    GoneUrls,
    Redirect,
    RedirectFormat,
    ServiceUrls,
    SiteRedirects,
    UrlSettings,
    url_settings,
    with_settings,
)
from reconciler.features.urls.redirects.formats import existing_names, is_ours
from reconciler.features.urls.redirects.table import TableProblem, redirects_of
from reconciler.links import open_place
from reconciler.model import Desired, Source
from reconciler.resource import Kinds
from reconciler.text.names import did_you_mean, one_of
from reconciler.text.urls import pattern_problem

LINE_MAX: Final = 100  # bytes of the first line of a table, and more
SIZE_MAX: Final = 256 * 1024 * 1024  # bytes of a file; a million redirects have about 150 million
FORMATS: Final = f"a list of formats: {', '.join(RedirectFormat)}"


def read_urls(reading: SectionReading, desired: Desired) -> Desired:
    """The project with the settings of its URLs, None where it has none."""
    if not reading.entries[URLS.name]:
        return desired
    kinds, addresses, root, problems = reading.kinds, desired.resources, reading.root, reading.problems
    (entry,) = reading.entries[URLS.name]
    keys = KeyReader.of(URLS.name, entry, problems, example=URLS.example)
    values = keys.values(URLS.keys)
    keys.rest()
    folder = str(values["to"] or "").rstrip("/")
    sites = dict(_sites(kinds, addresses))
    usual = _formats(keys.entries.get("redirects"), "urls.redirects", problems)
    chosen = dict.fromkeys(sites, usual) | _of_sites(keys.entries.get("sites"), sites, problems)
    files = {site: SiteRedirects(formats, folder, sites[site]) for site, formats in chosen.items() if formats}
    service = _service(keys.entries.get("service"), problems)
    gone = tuple(_gone(keys.entries.get("gone"), problems))
    at = (keys.entries.get("to") or keys.entries.get("redirects") or entry).node.at
    former: dict[Address, SiteRedirects] = {}
    texts: dict[str, str] = {}
    if not problems.found:
        former = dict(_former(kinds, sites, root / folder, SiteRedirects(usual, folder, ""))) if usual else {}
        texts = dict(_texts(root, {**files, **former}, at, problems))
    silent = frozenset(site for site, formats in chosen.items() if not formats)
    earlier = tuple(_earlier({**files, **former}, texts, problems))
    return with_settings(desired, UrlSettings(files, former, usual, folder, silent, gone, earlier, texts, service))


def _former(kinds: Kinds, sites: Mapping[Address, str], folder: Path, usual: SiteRedirects) -> Iterator[tuple[Address, SiteRedirects]]:
    """What has a table and is no longer declared: a site that was removed, or has another key now. Its URLs may still lead somewhere.

    Which organization it was in is in its name only where the project has several; otherwise it is the first.
    """
    roots, declared = sorted({site.containers[-1] for site in sites}), set(sites.values())
    for path in sorted(folder.glob("*.csv")):
        name = path.name.removesuffix(".csv")
        if not roots or name in declared or not _is_table(path):
            continue
        root = next((root for root in roots if name.startswith(f"{root}.")), roots[0])
        key = name.removeprefix(f"{root}.") if len(roots) > 1 else name
        try:
            site = Address((*root.parts, min(kinds.publishers), key))
        except ValueError:
            continue  # not a name that we give
        if site not in sites:
            yield site, replace(usual, name=name)


def _is_table(path: Path) -> bool:
    """Whether a file begins as our tables do. Any other one is of no interest, readable or not."""
    try:
        with open_place(path) as file:
            return is_ours(RedirectFormat.CSV, file.readline(LINE_MAX).decode("utf-8", "replace"))
    except (OSError, ValueError):
        return False


def _sites(kinds: Kinds, addresses: Iterable[Address]) -> Iterator[tuple[Address, str]]:
    """Every declared site, and its name in the names of files: its key, with that of its organization where two have the same."""
    publishers = kinds.publishers
    sites = [address for address in addresses if kinds.of(address).name in publishers]
    shared = Counter(site.key for site in sites)
    for site in sites:
        yield site, site.key if shared[site.key] == 1 else ".".join(part for part in (str(site.containers[-1]), site.key))


def _formats(entry: MapEntry | None, name: str, problems: Problems) -> tuple[RedirectFormat, ...]:
    known = {str(format): format for format in RedirectFormat}
    formats = []
    for node in items_of(entry, FORMATS, "write [] for none", problems.add, name=name):
        text = node.text if isinstance(node, Scalar) else ""
        if not untainted(node, name, problems.add):
            continue
        if text in known:
            formats.append(known[text])
        else:
            wrong = f"{name} contains {described(node)}; {one_of(tuple(known))}{did_you_mean(text, known)}"
            problems.add(node.at, wrong, id="RC-unknown-choice" if text else wrong_form(node))
    return tuple(dict.fromkeys(formats))


def _of_sites(entry: MapEntry | None, sites: Mapping[Address, str], problems: Problems) -> dict[Address, tuple[RedirectFormat, ...]]:
    """The formats of single sites."""
    if entry is None:
        return {}
    if not isinstance(entry.node, Map):
        report_form(entry.node, "urls.sites", "a map of sites", "write {SITE: [FORMAT]}", problems.add)
        return {}
    by_name = {name: site for site, name in sites.items()}
    chosen = {}
    for key, inner in entry.node.entries.items():
        if key in by_name:
            chosen[by_name[key]] = _formats(inner, f"urls.sites.{key}", problems)
        else:
            problems.absent(inner.at, f'no site "{key}"{did_you_mean(key, by_name)}', id="RC-unknown-reference")
    return chosen


def _service(entry: MapEntry | None, problems: Problems) -> ServiceUrls:
    """What the service does by itself."""
    reader = KeyReader.of("urls.service", entry, problems, example="redirects: true")
    values = reader.values(URLS_OF_SERVICE)
    reader.rest()
    return ServiceUrls(values["redirects"] is True, values["case"] == "insensitive")


def _gone(entry: MapEntry | None, problems: Problems) -> Iterator[GoneUrls]:
    form = "write {url: /v1/**, reason: WHY}"
    for node in items_of(entry, "a list", f"{form} for each", problems.add, name="urls.gone"):
        if not isinstance(node, Map):
            problems.add(node.at, f"urls.gone contains {described(node)}; {form}", id=wrong_form(node))
            continue
        reader = KeyReader("urls.gone", node.entries, problems)
        values = reader.values(GONE)
        reader.rest()
        for name in reader.missing(GONE):
            problems.add(node.at, f"{name} is missing in an entry of urls.gone; {form}", id="RC-missing-key")
        url = values["url"]
        if url is not None and (wrong := pattern_problem(url)) is not None:
            problems.add(node.entries["url"].node.at, f"{described(node.entries['url'].node)} matches no URL: {wrong}", id="RC-url-pattern")
        elif url is not None:
            yield GoneUrls(url, values["reason"] or "", node.at)


# -- the files as they are ------------------------------------------------------------------------------------------------------------


def _texts(root: Path, sites: Mapping[Address, SiteRedirects], at: Source, problems: Problems) -> Iterator[tuple[str, str]]:
    """The files that exist, by their path below the project. `at`: the line that names their folder."""
    for site in sites.values():
        folder = root / site.folder
        if (link := _link(root, site.folder)) is not None:
            problems.add(at, f"{link} is a link, and redirects are not written through one; {OWN_FOLDER}", id="RC-link-not-read")
            return
        names = [path.relative_to(folder).as_posix() for inner in (folder, folder / site.name) for path in inner.glob("*")]
        for format, name in existing_names(site.name, names):
            path = f"{site.folder}/{name}"
            text = _text(root, path, at, problems)
            if text is not None and not is_ours(format, text):
                wrong = (
                    f"{path} was not written by Reconciler, which would replace it; move it, or choose another folder: urls: {{to: FOLDER}}"
                )
                problems.add(at, wrong, id="RC-file-of-others")
            elif text is not None:
                yield path, text


OWN_FOLDER: Final = "replace it by what it leads to"


def _link(root: Path, path: str) -> str | None:
    """The first part of a path below the project that is a link; None if none is."""
    parts = path.split("/")
    return next((part for end in range(1, len(parts) + 1) if (root / (part := "/".join(parts[:end]))).is_symlink()), None)


def _text(root: Path, path: str, at: Source, problems: Problems) -> str | None:
    if (link := _link(root, path)) is not None:
        problems.add(at, f"{link} is a link, and redirects are not written through one; {OWN_FOLDER}", id="RC-link-not-read")
        return None
    try:
        with open_place(root / path) as file:
            data = file.read(SIZE_MAX + 1)
        if len(data) > SIZE_MAX:
            raise OSError(0, f"it is larger than {SIZE_MAX // 2**20} MiB")
        return data.decode("utf-8").replace("\r\n", "\n")  # git may check it out with either
    except UnicodeDecodeError:
        problems.add(at, f"{path} is not UTF-8, so Reconciler did not write it; move it", id="RC-file-of-others")
    except OSError as error:
        problems.add(at, f"{path} cannot be read: {os_reason(error)}", id="RC-file-not-read")
    return None


def _earlier(sites: Mapping[Address, SiteRedirects], texts: Mapping[str, str], problems: Problems) -> Iterator[Redirect]:
    for site, files in sites.items():
        for format, name in existing_names(files.name, [path.removeprefix(f"{files.folder}/") for path in texts]):
            if format is RedirectFormat.CSV:
                path = f"{files.folder}/{name}"
                try:
                    yield from redirects_of(texts[path], site)
                except TableProblem as error:
                    problems.add(Source(path, error.line), f"{error}; correct the line, or remove it", id="RC-redirect-line")


def judged_urls(kinds: Kinds, own: Desired, other: Desired) -> Desired:
    """The redirects of the files, and those of the sites that have some in the other commit; `gone` is that of the other commit."""
    ours, theirs = url_settings(own), url_settings(other)
    if theirs is None:
        return with_settings(own, replace(ours, gone=(), service=ServiceUrls())) if ours is not None else own
    urls = ours or UrlSettings()
    left = {site: files for site, files in theirs.sites.items() if site in own.resources and site not in urls.sites}
    texts = {path: text for path, text in theirs.texts.items() if any(path.startswith(f"{files.folder}/") for files in left.values())}
    judged = replace(
        urls,
        sites={**urls.sites, **left},
        formats=urls.formats or theirs.formats,
        folder=urls.folder or theirs.folder,
        silent=urls.silent - left.keys(),
        gone=theirs.gone,
        service=theirs.service,
        earlier=(*urls.earlier, *(redirect for redirect in theirs.earlier if redirect.site in left)),
        texts={**texts, **urls.texts},
    )
    return with_settings(own, judged)


def url_schemas(kinds: Kinds) -> Mapping[str, Schema]:
    """`urls`: the formats of redirects, of all sites and of single ones, and the URLs that end on purpose."""
    formats = {"type": "array", "items": {"anyOf": [{"enum": list(RedirectFormat)}, EXPRESSION]}}
    url = {"type": "string", "pattern": r"^(/|https?://)"}
    return {
        "redirects": formats,
        "gone": {"type": "array", "items": described_map(GONE, {"url": {"anyOf": [url, EXPRESSION]}})},
        "sites": {"type": "object", "additionalProperties": formats},
    }


SECTION: Final = ProjectSection("urls", read_urls, url_schemas, judged_urls)
