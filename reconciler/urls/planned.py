"""The redirects of a plan, and the files that differ from those on disk. Pure.

Plan.urls + UrlSettings (earlier redirects, files as they are) -> Plan.redirects
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlsplit

from reconciler.address import Address
from reconciler.model import (
    DeadUrl,
    DeadUrls,
    Desired,
    Plan,
    Redirect,
    RedirectFile,
    RedirectFormat,
    RedirectPlan,
    SiteRedirects,
    UrlSettings,
)
from reconciler.urls.formats import NAMES, texts
from reconciler.urls.redirects import ANY, LOOPBACK, Wildcard, gone_test, groups, path_below, recorded_url, redirection

UNWRITTEN: Final = "The redirects that follow are not written: the fleet has no checkout to commit them to. Apply from a pipeline instead."


@dataclass(frozen=True)
class RecordedUrls:
    """The URLs of the ledger, of every site: those at which pages answer, and those that ended. Empty where a run may have changed URLs and
    did not record them: then nobody knows which answer."""

    live: frozenset[str] = frozenset()
    ended: frozenset[str] = frozenset()


def with_redirects(desired: Desired, plan: Plan, recorded: Callable[[], RecordedUrls] = RecordedUrls) -> Plan:
    """The plan with its redirects; unchanged in a project that says nothing of its URLs.

    `recorded`: returns what the ledger has, asked only where there is a redirect. With it, what moves together can be one wildcard.
    """
    if desired.urls is None and desired.guards.dead_urls is None:
        return plan
    settings = desired.urls or UrlSettings()
    ledger = recorded() if (settings.sites or settings.former) and (settings.earlier or plan.urls) else RecordedUrls()
    roots = {group.site: group.root for group in plan.url_groups if group.root}
    # Every site of a sandbox is below one URL.
    sandbox = next((root for root in roots.values() if urlsplit(root).hostname in LOOPBACK), None)
    earlier = {_as_served(redirect, roots.get(redirect.site, sandbox)): redirect for redirect in settings.earlier}
    result = redirection(earlier, plan.urls, gone_test(settings.gone, roots), lambda url: recorded_url(url) in ledger.live)
    shown = result.dead if desired.dead_urls is not DeadUrls.IGNORE else ()
    dead = tuple(replace(url, path=path_below(url.url, roots.get(url.site)) or "") for url in shown)
    after = {change.after for change in plan.urls if change.after is not None}
    unlisted = [*plan.site_urls.restricted, *(url.removesuffix(ANY) for url in after if url.endswith(ANY))]
    public = {*ledger.live, *ledger.ended, *map(recorded_url, after)} if ledger.live else None
    now, was = _by_site(result.redirects), _by_site(earlier)
    as_it_is = {site for site in was if was[site] == now[site]}
    kept = [earlier[redirect] if redirect.site in as_it_is else redirect for redirect in result.redirects]
    settings = replace(settings, earlier=tuple(old if old.site in as_it_is else new for new, old in earlier.items()))
    redirects = compared(settings, kept, dead, public, map(recorded_url, unlisted))
    if not settings.writes and redirects.files:
        return replace(plan, redirects=replace(redirects, files=()), notes=(*plan.notes, UNWRITTEN))
    return replace(plan, redirects=redirects)


def _as_served(redirect: Redirect, root: str | None) -> Redirect:
    """A redirect of a sandbox with the port that the sandbox has now: an embedded one gets another one in each run. `root`: the URL of its
    site, None where that is not known."""
    now = urlsplit(root or "")
    if now.hostname not in LOOPBACK:
        return redirect

    def moved(url: str) -> str:
        parts = urlsplit(url)
        return parts._replace(netloc=now.netloc).geturl() if parts.hostname in LOOPBACK else url

    target = None if redirect.target is None else moved(redirect.target)
    return replace(redirect, source=moved(redirect.source), target=target)


def compared(
    settings: UrlSettings,
    redirects: Iterable[Redirect],
    dead: tuple[DeadUrl, ...] = (),
    public: Iterable[str] | None = None,
    unlisted: Iterable[str] = (),
) -> RedirectPlan:
    """These redirects as files, compared with those that exist. A declared site that writes no files has no redirects. `public`: every URL
    that is or was public, as the ledger spells it; None where they are not known. `unlisted`: URLs below which there are others."""
    new, old = _by_site(redirects), _by_site(settings.earlier)
    others = None if public is None else {*public, *(recorded_url(url.url) for url in dead)}
    below = frozenset(unlisted)
    files = []
    for site, kept in {**settings.sites, **_undeclared(settings, new)}.items():
        rows, numbers = list(new[site].values()), _differences(old[site], new[site])
        same = not any(numbers.values())
        if same and site in settings.former:
            continue  # the table of another project that writes into the same folder
        wildcards = () if others is None else _wildcards(rows, others, below)
        files += [replace(file, **numbers) for file in _files(settings.texts, kept, rows, wildcards, same=same)]
    return RedirectPlan(tuple(file for file in files if file.text is not None), dead)


def _undeclared(settings: UrlSettings, redirects: Iterable[Address]) -> dict[Address, SiteRedirects]:
    """The files of sites that are not declared: those that they have already, and new ones for what ends with this plan."""
    names = {files.name for files in (*settings.sites.values(), *settings.former.values())}
    new: dict[Address, SiteRedirects] = {}
    for site in sorted({*redirects} - settings.sites.keys() - settings.former.keys() - settings.silent) if settings.formats else ():
        name = site.key if site.key not in names else f"{site.containers[-1]}.{site.key}"
        names.add(name)
        new[site] = SiteRedirects(settings.formats, settings.folder, name)
    return {**settings.former, **new}


def _wildcards(redirects: list[Redirect], others: set[str], unlisted: Collection[str]) -> tuple[Wildcard, ...]:
    """The groups of these redirects. Compared as the ledger spells URLs; written as they are served."""
    hosts = {urlsplit(url).netloc for url in others}
    served: dict[str, str] = {}
    rules: dict[str, str | None] = {}
    for redirect in redirects:
        for url in filter(None, (redirect.source, redirect.target)):
            served[urlsplit(recorded_url(url)).netloc] = urlsplit(url).netloc
        rules[recorded_url(redirect.source)] = None if redirect.target is None else recorded_url(redirect.target)

    def as_served(url: str) -> str:
        parts = urlsplit(url)
        return parts._replace(netloc=served[parts.netloc]).geturl()

    # Of a host that the ledger does not know, such as that of another environment, nobody knows which URLs there are.
    unlisted = {*unlisted, *(f"{parts.scheme}://{parts.netloc}" for parts in map(urlsplit, rules) if parts.netloc not in hosts)}
    known = groups(rules, others - rules.keys(), unlisted)
    return tuple(Wildcard(as_served(group.source), as_served(group.target), group.number) for group in known)


def between(before: UrlSettings | None, after: UrlSettings | None) -> RedirectPlan | None:
    """What a change of the files changes in the redirects that they have; None if nothing."""
    # The port of a sandbox does not count.
    old, new = (
        _by_site(_as_served(redirect, "http://127.0.0.1") for redirect in (settings.earlier if settings is not None else ()))
        for settings in (before, after)
    )
    sites = {site: files for some in (before, after) if some is not None for site, files in {**some.former, **some.sites}.items()}
    changed = [(site, _table(kept)) for site, kept in sites.items() if old[site] != new[site]]
    files = tuple(RedirectFile(table, RedirectFormat.CSV, table, **_differences(old[site], new[site])) for site, table in changed)
    return RedirectPlan(files) if files else None


Targets = dict[str, Redirect]


def _by_site(redirects: Iterable[Redirect]) -> Mapping[Address, Targets]:
    by_site: dict[Address, Targets] = defaultdict(dict)
    for redirect in redirects:
        by_site[redirect.site][redirect.source] = redirect
    return by_site


def _table(site: SiteRedirects) -> str:
    return f"{site.folder}/{NAMES[RedirectFormat.CSV].format(site=site.name)}"


def _differences(old: Targets, new: Targets) -> dict[str, Any]:
    """How many redirects of a site differ."""
    return {
        "added": len(new.keys() - old.keys()),
        "changed": sum(new[url] != old[url] for url in new.keys() & old.keys()),
        "removed": len(old.keys() - new.keys()),
    }


def _files(
    existing: Mapping[str, str], site: SiteRedirects, redirects: list[Redirect], wildcards: tuple[Wildcard, ...], *, same: bool
) -> Iterator[RedirectFile]:
    """The files of a site: those of its formats, and the table. Without a redirect no file is created, and what exists is emptied. `same`:
    the redirects are those that it has: then a file that says each of them is as good as one with wildcards."""
    for format in dict.fromkeys((RedirectFormat.CSV, *site.formats)):
        plain = {file.name: file.text for file in texts(site.name, format, redirects)} if same and wildcards else {}
        for file in texts(site.name, format, redirects, wildcards):
            path = f"{site.folder}/{file.name}"
            present = existing.get(path, "")
            unchanged = present in (file.text, plain.get(file.name, file.text)) or (not redirects and path not in existing)
            yield RedirectFile(path, format, _table(site), None if unchanged else file.text, left_out=Counter(file.left_out.values()))
