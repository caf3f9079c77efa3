"""The redirects of a plan, and the files that differ from those on disk. Pure.

ledger + Plan.site_urls + UrlSettings (lines of the tables, files as they are) -> Plan.redirects

A plan evaluates them from what it predicts, a run once more from what answers after it, and `urls export` from what answers now.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlsplit

from reconciler.address import Address
from reconciler.features.urls.model.pages import AnsweringUrls, PageChange, UrlReason
from reconciler.features.urls.model.planned import REDIRECTS, URLS
from reconciler.features.urls.model.redirects import (
    DeadUrl,
    FormerUrl,
    Moves,
    RecordedUrls,
    Redirect,
    RedirectFile,
    RedirectFormat,
    RedirectPlan,
    SiteRedirects,
    UrlSettings,
    url_settings,
)
from reconciler.features.urls.redirects.formats import NAMES, emptied, existing_names, texts
from reconciler.features.urls.redirects.required import (
    ANY,
    NARROWED,
    UNKNOWN,
    Redirection,
    Wildcard,
    common_root,
    gone_test,
    groups,
    line_url,
    path_below,
    patterns_of,
    recorded_url,
    redirection,
)
from reconciler.features.urls.redirects.serviced import without_case
from reconciler.model import DeadUrls, Desired, Plan
from reconciler.text.urls import containing

UNWRITTEN: Final = (
    "The redirects that follow are not written: a fleet commits to no repository. "
    "After the apply, write them in a checkout: reconciler urls export --write"
)


NOTHING: Final = RecordedUrls()


def with_redirects(desired: Desired, plan: Plan, recorded: RecordedUrls = NOTHING, *, after: AnsweringUrls | None = None) -> Plan:
    """The plan with its redirects; unchanged in a project that says nothing of its URLs.

    `recorded`: what the state knows; nothing without `urls:`. `after`: what answers after the run; None: what the plan predicts.
    """
    if not desired.judges_urls:
        return plan
    settings = url_settings(desired) or UrlSettings()
    before, then = plan.feature(URLS).answering_before or AnsweringUrls(), after or plan.feature(URLS).answering_after or AnsweringUrls()
    former = {**recorded.public, **{url: FormerUrl(page.site, page.page) for url, page in before.public.items()}}
    roots = _roots(plan, former, before, then)
    result = without_case(settings.service, _redirection(settings, plan, recorded, former, then, roots), then)
    dead, ended = _named(settings.earlier, result, recorded.moves, former, before, then)
    shown = desired.dead_urls is not DeadUrls.IGNORE
    named, past = (
        tuple(replace(url, path=path_below(url.url, roots.get(url.site)) or "") for url in urls if shown) for urls in (dead, ended)
    )
    predicted = {recorded_url(change.after) for change in plan.feature(URLS).changes if change.after is not None}
    public = {*former, *then.public, *then.restricted, *predicted}
    unlisted = {*then.closed, *then.created, *then.unread, *(url.removesuffix(ANY) for url in predicted if url.endswith(ANY))}
    sites = {past.site for past in former.values()}
    redirects = compared(settings, result.redirects, named, public, unlisted, then.roots, sites)
    redirects = replace(redirects, ended=past)
    if not desired.writes_files and redirects.files:
        return replace(plan, notes=(*plan.notes, UNWRITTEN)).with_feature(REDIRECTS, replace(redirects, files=()))
    return plan.with_feature(REDIRECTS, redirects)


def patterns_of_dead(plan: Plan, dead: Collection[DeadUrl]) -> list[str]:
    """Patterns for `urls.gone` and `--allow-dead-urls` that name these URLs, which the plan ends, and none that lives after it or may live
    again."""
    after, redirects = plan.feature(URLS).answering_after or AnsweringUrls(), plan.feature(REDIRECTS) or RedirectPlan()
    new = [recorded_url(change.after) for change in plan.feature(URLS).changes if change.after is not None]
    lines = [recorded_url(redirect.source) for redirect in redirects.redirects if redirect.target is not None]
    others = [url.url for url in (*redirects.dead, *redirects.ended) if url not in dead]
    kept = {*after.public, *after.restricted, *new, *lines, *others}
    below = {*after.closed, *after.created, *after.unread}
    below |= {url.removesuffix(ANY) for url in kept if url.endswith(ANY)}
    return patterns_of(dead, kept - below, below, after.roots.values())


def _roots(plan: Plan, former: Mapping[str, FormerUrl], before: AnsweringUrls, after: AnsweringUrls) -> dict[Address, str]:
    """The URL of each site, as it was known to people; of one that nobody can read any more, what all its URLs begin with."""
    of_site: dict[Address, list[str]] = defaultdict(list)
    for url, past in former.items():
        if past.site not in before.roots:
            of_site[past.site].append(url)
    roots = {**after.roots, **{site: common_root(urls) for site, urls in of_site.items()}, **before.roots}
    return roots | {group.site: recorded_url(group.root) for group in plan.feature(URLS).groups if group.root}


def _left(plan: Plan) -> list[PageChange]:
    """The changes after which the page of a URL is no longer there; without secret URLs."""
    return [
        change
        for change in plan.feature(URLS).changes
        if change.before is not None and "://" in change.before and change.before != change.after
    ]


def _moves(changes: Iterable[PageChange]) -> Moves:
    return {
        recorded_url(change.before or ""): (change.site, recorded_url(change.after) if change.after is not None else None)
        for change in changes
    }


def private_moves(plan: Plan) -> Moves:
    """The URLs that a plan moves and that only some readers know: the ledger does not have them, so a run must remember them until it has
    written its files."""
    return _moves(change for change in _left(plan) if not change.is_open)


def _continued(earlier: Moves, moves: Moves) -> dict[str, tuple[Address, str | None]]:
    """The moves of earlier runs, with where these move the pages next."""
    return {url: (site, moves[to][1] if to is not None and to in moves else to) for url, (site, to) in earlier.items()}


def _redirection(
    settings: UrlSettings,
    plan: Plan,
    recorded: RecordedUrls,
    former: Mapping[str, FormerUrl],
    after: AnsweringUrls,
    roots: Mapping[Address, str],
) -> Redirection:
    changes = _left(plan)
    moves = _moves(changes)
    unknown = {recorded_url(change.before or "") for change in changes if change.reason is UrlReason.UNKNOWN}
    return redirection(
        settings.earlier,
        former,
        after,
        gone_test(settings.gone, roots),
        {**_continued(recorded.moves, moves), **moves},
        lambda url: url in unknown or any(f"{above}{ANY}" in unknown for above in containing(url)),
        {**recorded.replaced, **plan.feature(URLS).replaced},
    )


def _named(
    earlier: Iterable[Redirect],
    result: Redirection,
    moves: Moves,
    former: Mapping[str, FormerUrl],
    before: AnsweringUrls,
    after: AnsweringUrls,
) -> tuple[list[DeadUrl], list[DeadUrl]]:
    """The URLs that were public and are so no longer: those that the plan ends, and those that somebody ended before it. `moves`: of
    earlier runs.

    A URL of a site that nobody can read now, and that the plan opens, counts as ended by the plan: it was closed for a while only.
    """
    rules = {redirect.source: redirect for redirect in result.redirects}
    patterns = {url.url.removesuffix(ANY) for url in result.dead if url.url.endswith(ANY)}
    urls = {url.url: url for url in result.dead if url.url.endswith(ANY) or patterns.isdisjoint(containing(url.url))}
    for url, page in before.public.items():
        line = rules.get(url)
        to = after.public.get(url) or (after.public.get(line.target or "") if line is not None else None)
        if to is not None and not to.conditions <= page.conditions:
            urls.setdefault(url, DeadUrl(url, page.site, NARROWED))
        elif to is None and line is None and not after.answers(url) and _may_answer(after, url) and not _may_answer(before, url):
            urls.setdefault(url, DeadUrl(url, page.site, UNKNOWN))
    lines = {line_url(redirect.source): recorded_url(redirect.target or "") for redirect in earlier}
    dead, ended = list[DeadUrl](), list[DeadUrl]()
    for url, named in sorted(urls.items()):
        past = former.get(url)
        answered = before.answers(url) or before.answers(lines.get(url, ""))
        is_opened = past is not None and past.site not in before.roots and past.site in after.roots
        is_planned = past is None and url not in lines and url not in moves
        (dead if answered or is_opened or is_planned else ended).append(named)
    return dead, ended


def _may_answer(urls: AnsweringUrls, url: str) -> bool:
    return not urls.unread.isdisjoint(containing(url))


def compared(
    settings: UrlSettings,
    redirects: Iterable[Redirect],
    dead: tuple[DeadUrl, ...] = (),
    public: Iterable[str] | None = None,
    unlisted: Iterable[str] = (),
    roots: Mapping[Address, str] = {},
    known: Collection[Address] = (),
) -> RedirectPlan:
    """These redirects as files, compared with those that exist. A declared site that writes no files has no redirects. `public`: every URL
    that is or was public, as the ledger spells it; None where they are not known. `unlisted`: URLs below which there are others. `roots`:
    the URLs of the sites that answer. `known`: the sites that the ledger has."""
    new, old = _by_site(redirects), _by_site(settings.earlier)
    others = None if public is None else {*public, *(recorded_url(url.url) for url in dead)}
    below = frozenset(unlisted)
    files = []
    for site, kept in {**settings.sites, **_undeclared(settings, new)}.items():
        rows, numbers = list(new[site].values()), _differences(old[site], new[site])
        same = not any(numbers.values())
        if same and site in settings.former and site not in known:
            continue  # the table of another project that writes into the same folder
        wildcards = () if others is None else _wildcards(rows, others, below)
        host = urlsplit(roots.get(site, "")).netloc
        files += [replace(file, **numbers) for file in _files(settings.texts, kept, rows, wildcards, host, same=same)]
    of_files = tuple(redirect for site in new if site not in settings.silent for redirect in new[site].values())
    return RedirectPlan(tuple(file for file in files if file.text is not None), dead, redirects=of_files)


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
    """The groups of these redirects."""
    if not redirects:
        return ()
    hosts = {url.partition("://")[2].partition("/")[0] for url in others}
    rules = {redirect.source: redirect.target for redirect in redirects if "?" not in redirect.source}
    # Of a host that the ledger does not know, such as that of another environment, nobody knows which URLs there are.
    unlisted = {*unlisted, *(f"{parts.scheme}://{parts.netloc}" for parts in map(urlsplit, rules) if parts.netloc not in hosts)}
    return groups(rules, {*others, *(recorded_url(redirect.source) for redirect in redirects)} - rules.keys(), unlisted)


def between(before: UrlSettings | None, after: UrlSettings | None) -> RedirectPlan | None:
    """What a change of the files changes in the redirects that they have; None if nothing."""
    old, new = (_by_site(settings.earlier if settings is not None else ()) for settings in (before, after))
    sites = {site: files for some in (before, after) if some is not None for site, files in {**some.former, **some.sites}.items()}
    changed = [(site, _table(kept)) for site, kept in sites.items() if old[site] != new[site]]
    files = tuple(RedirectFile(table, RedirectFormat.CSV, table, **_differences(old[site], new[site])) for site, table in changed)
    return RedirectPlan(files) if files else None


Targets = dict[str, Redirect]


def _by_site(redirects: Iterable[Redirect]) -> Mapping[Address, Targets]:
    by_site: dict[Address, Targets] = defaultdict(dict)
    for redirect in redirects:
        redirect = replace(redirect, source=line_url(redirect.source), target=redirect.target and line_url(redirect.target))
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
    existing: Mapping[str, str], site: SiteRedirects, redirects: list[Redirect], wildcards: tuple[Wildcard, ...], host: str, *, same: bool
) -> Iterator[RedirectFile]:
    """The files of a site: those of its formats, and the table. Without a redirect no file is created, and what exists is emptied. `same`:
    the redirects are those that it has: then a file that says each of them is as good as one with wildcards."""
    written: set[str] = set()
    for format in dict.fromkeys((RedirectFormat.CSV, *site.formats)):
        plain = {file.name: file.text for file in texts(site.name, format, redirects, host=host)} if same and wildcards else {}
        for file in texts(site.name, format, redirects, wildcards, host=host):
            path = f"{site.folder}/{file.name}"
            present = existing.get(path, "")
            unchanged = present in (file.text, plain.get(file.name, file.text)) or (not redirects and path not in existing)
            written.add(path)
            yield RedirectFile(path, format, _table(site), None if unchanged else file.text, left_out=Counter(file.left_out.values()))
    # The file of a host that has no redirect any more.
    names = [path.removeprefix(f"{site.folder}/") for path in existing]
    for format, name in existing_names(site.name, names):
        path = f"{site.folder}/{name}"
        if path not in written and format in site.formats and existing[path] != emptied(format):
            yield RedirectFile(path, format, _table(site), emptied(format))
