"""The redirects of a plan, and the files that differ from those on disk. Pure.

Plan.urls + UrlSettings (earlier redirects, files as they are) -> Plan.redirects
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
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
from reconciler.urls.redirects import LOOPBACK, gone_test, groups, path_below, redirection

UNWRITTEN: Final = "The redirects that follow are not written: the fleet has no checkout to commit them to. Apply from a pipeline instead."


def with_redirects(desired: Desired, plan: Plan, live: Iterable[str] | None = None) -> Plan:
    """The plan with its redirects; unchanged in a project that says nothing of its URLs.

    `live`: every URL that is public, of every site, where that is known: then what moves together can be one wildcard.
    """
    if desired.urls is None and desired.guards.dead_urls is None:
        return plan
    settings = desired.urls or UrlSettings()
    roots = {group.site: group.root for group in plan.url_groups if group.root}
    settings = replace(settings, earlier=tuple(_as_served(redirect, roots.get(redirect.site)) for redirect in settings.earlier))
    result = redirection(settings.earlier, plan.urls, gone_test(settings.gone, roots))
    shown = result.dead if desired.dead_urls is not DeadUrls.IGNORE else ()
    dead = tuple(replace(url, path=path_below(url.url, roots.get(url.site)) or "") for url in shown)
    redirects = compared(settings, result.redirects, dead, live)
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
    settings: UrlSettings, redirects: Iterable[Redirect], dead: tuple[DeadUrl, ...] = (), live: Iterable[str] | None = None
) -> RedirectPlan:
    """These redirects as files, compared with those that exist. A site that writes no files has no redirects."""
    new, old = _by_site(redirects), _by_site(settings.earlier)
    public = None if live is None else {*live, *(url.url for url in dead)} - {redirect.source for redirect in redirects}
    files = []
    for site, kept in settings.sites.items():
        numbers = _differences(old[site], new[site])
        files += [replace(file, **numbers) for file in _files(settings.texts, kept, list(new[site].values()), public)]
    return RedirectPlan(tuple(file for file in files if file.text is not None), dead)


def between(before: UrlSettings | None, after: UrlSettings | None) -> RedirectPlan | None:
    """What a change of the files changes in the redirects that they have; None if nothing."""
    # The port of a sandbox is no difference.
    old, new = (
        _by_site(_as_served(redirect, "http://127.0.0.1") for redirect in (settings.earlier if settings is not None else ()))
        for settings in (before, after)
    )
    sites = {**(before.sites if before is not None else {}), **(after.sites if after is not None else {})}
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
    existing: Mapping[str, str], site: SiteRedirects, redirects: list[Redirect], public: Iterable[str] | None
) -> Iterator[RedirectFile]:
    """The files of a site: those of its formats, and the table. Without a redirect no file is created, and what exists is emptied."""
    wildcards = () if public is None else groups({redirect.source: redirect.target for redirect in redirects}, public)
    for format in dict.fromkeys((RedirectFormat.CSV, *site.formats)):
        for file in texts(site.name, format, redirects, wildcards):
            path = f"{site.folder}/{file.name}"
            unchanged = existing.get(path, "") == file.text or (not redirects and path not in existing)
            yield RedirectFile(path, format, _table(site), None if unchanged else file.text, left_out=Counter(file.left_out.values()))
