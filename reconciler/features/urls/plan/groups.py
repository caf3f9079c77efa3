"""Changes of URLs as people read them: together, where a whole part of a site moves or ends. Pure.

Two URLs of a page that moves end alike, because only what shows the page changed. What is left of both, without that end, is the part that
moved:

    /use/v1/install  ->  /product/v1/install      /use/**  ->  /product/**

Of a URL that ends there is only one: the part is the outermost one above its page below which nothing answers after the plan.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from reconciler.address import Address
from reconciler.features.urls.model.pages import PageChange, UrlGroup, UrlReason
from reconciler.features.urls.redirects.required import moved_parts
from reconciler.model.variants import SiteUrls
from reconciler.text.urls import containing

ORDER = (UrlReason.GONE, UrlReason.SHADOWED, UrlReason.UNKNOWN, UrlReason.MOVED)


class _Part(NamedTuple):
    """What the changes of a group have in common. `inner`: whether the URLs are below those two."""

    reason: UrlReason
    site: Address
    before: str
    after: str | None


def grouped(site_urls: SiteUrls, urls: Iterable[PageChange]) -> tuple[UrlGroup, ...]:
    """The groups of what ends, first what is worst for readers and largest. New URLs and secret ones are in none."""
    roots = {site_urls.names[variant.site]: variant.root for variant in site_urls.before}
    answering = {part for variant in site_urls.after for base in variant.bases.values() for part in containing(base)}
    bases: dict[Address, set[str]] = {}
    for variant in site_urls.before:
        bases.setdefault(site_urls.names[variant.space], set()).update(variant.bases.values())
    members: dict[_Part, list[PageChange]] = {}
    for change in urls:
        if change.before is not None and change.space is not None:
            members.setdefault(_part(change, roots.get(change.site, ""), bases[change.space], answering), []).append(change)
    groups = [_group(part, changes, roots) for part, changes in members.items()]
    return tuple(sorted(groups, key=lambda group: (group.after is not None, ORDER.index(group.reason), -group.urls, group.before or "")))


def _part(change: PageChange, root: str, bases: Collection[str], answering: Collection[str]) -> _Part:
    """`bases`: of what shows the page before the plan. `answering`: the URLs below which something answers after it."""
    before, after = (url.removesuffix("/**") if url is not None else None for url in (change.before, change.after))
    assert before is not None
    if after is not None:
        return _Part(change.reason, change.site, *moved_parts(before, after))
    base = next((part for part in reversed(containing(before)) if part in bases), before)
    outer = next((part for part in containing(base) if part.startswith(root) and part not in answering), base)
    return _Part(change.reason, change.site, outer, None)


def _group(part: _Part, changes: list[PageChange], roots: Mapping[Address, str]) -> UrlGroup:
    pages = {(change.space, change.page) for change in changes if change.page is not None}
    spaces = tuple(dict.fromkeys(change.space for change in changes if change.space is not None))
    before, after = (url if url is None else f"{url}/**" for url in (part.before, part.after))
    if len(changes) == 1 and changes[0].page is not None:
        before, after = changes[0].before, part.after and changes[0].after
    known = sum(change.page is not None for change in changes)
    return UrlGroup(part.reason, part.site, roots.get(part.site, ""), before, after, known, len(pages), tuple(sorted(spaces)))
