"""Pages of what is published, and the links in them: read only where a plan changes a URL. Only GET.

In: what shows pages before and after a plan, and trees that the state kept. Out: the pages of each object that matters, or why they could
not be read; and the pages that link to those that answer nowhere after the plan. One request an object; links are lists of whole objects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from reconciler.address import Address, bare
from reconciler.client import encode
from reconciler.client.service import Reader
from reconciler.errors import ServiceError
from reconciler.features.urls.model.pages import LinkingPage, Page, PageTree
from reconciler.features.urls.plan.changes import Trees, needed
from reconciler.features.work.read import links_of
from reconciler.model import Actual, Observed
from reconciler.model.variants import Key, SiteUrls
from reconciler.resource import Kind, Kinds, Pages

KeptTrees = Callable[[Collection[Key]], Mapping[Key, PageTree]]
"""Returns the trees that the state has of these objects, of whichever revision."""

UNREADABLE = "the response is not a tree of pages"


async def page_trees(reader: Reader, kinds: Kinds, actual: Actual, site_urls: SiteUrls, kept: KeptTrees) -> Trees:
    """The pages of every object that matters for the URLs that change. `kept`: asked first; a tree of another revision does not count."""
    trees: dict[Key, PageTree | str] = {}
    while asked := sorted(needed(site_urls, trees)):
        trees |= await read_trees(reader, kinds, actual, asked, kept)
    return trees


async def read_trees(reader: Reader, kinds: Kinds, actual: Actual, keys: Collection[Key], kept: KeptTrees) -> Trees:
    """The pages of these objects, those that were read before as the state has them."""
    known, trees = kept(keys), dict[Key, PageTree | str]()
    for key in keys:
        tree = known.get(key)
        if tree is not None and tree.revision and tree.revision == revision_of(kinds[key[0]], actual.find(*key)):
            trees[key] = tree
    missing = [key for key in keys if key not in trees]
    new = await asyncio.gather(*(_tree(reader, kinds[key[0]], key[1], actual.find(*key)) for key in missing))
    return trees | dict(zip(missing, new, strict=True))


def revision_of(kind: Kind, observed: Observed | None) -> str:
    value = observed.raw.get(kind.pages.revision) if observed is not None and kind.pages is not None else None
    return value if isinstance(value, str) else ""


async def _tree(reader: Reader, kind: Kind, id: str, observed: Observed | None) -> PageTree | str:
    assert kind.pages is not None
    try:
        body = (await reader.get(encode(kind.pages.tree, {"id": bare(id)}))).body
    except ServiceError as error:
        return error.message
    pages = pages_in(body, kind.pages)
    return UNREADABLE if pages is None else PageTree(revision_of(kind, observed), pages)


def pages_in(body: Any, words: Pages) -> tuple[Page, ...] | None:
    """The pages with a URL in an answer, in the order of readers; None where it is not a tree, or a document in it has no id or path."""
    pages, walked = [], _walked(body, words)
    if walked is None:
        return None
    for raw, conditions in walked:
        id, path, title = raw.get("id"), raw.get("path"), raw.get("title")
        if not isinstance(id, str) or not isinstance(path, str) or not path.strip("/"):
            return None
        pages.append(Page(id, title if isinstance(title, str) else "", path.strip("/"), _joined(conditions)))
    return tuple(pages)


def listed_pages(body: Any, words: Pages) -> list[Mapping[str, Any]] | None:
    """All pages with a text in an answer, at any depth, in the order of readers; None where it is not a tree of pages."""
    walked = _walked(body, words)
    return None if walked is None else [raw for raw, _ in walked]


def _walked(body: Any, words: Pages) -> list[tuple[Mapping[str, Any], tuple[str, ...]]] | None:
    """The same pages, each with its conditions: its own, and those of the pages that it is below."""
    pages: list[tuple[Mapping[str, Any], tuple[str, ...]]] = []
    around: tuple[str, ...] = ()
    top = _nested(body)
    waiting = None if top is None else [(raw, around) for raw in top]
    while waiting:
        raw, around = waiting.pop()
        inside = _nested(raw) if isinstance(raw, Mapping) and raw.get("pages") is not None else []
        if not isinstance(raw, Mapping) or inside is None:
            return None
        type, own = raw.get("type", words.document), raw.get(words.condition)
        conditions = (*around, own) if isinstance(own, str) and own and own not in around else around
        pages += [(raw, conditions)] if type == words.document or (type != words.heading and raw.get("path") is not None) else []
        waiting += [(below, conditions) for below in inside]
    return None if waiting is None else pages


def _joined(conditions: Sequence[str]) -> str:
    """Several conditions as one."""
    return "".join(conditions) if len(conditions) < 2 else " && ".join(f"({condition})" for condition in conditions)


def _nested(raw: Any) -> list[Any] | None:
    """The pages in an answer or a page, the last one first."""
    pages = raw.get("pages") if isinstance(raw, Mapping) else None
    return pages[::-1] if isinstance(pages, list) else None


# -- who links there ---------------------------------------------------------------------------------------------------------------------


ReadLinks = tuple[tuple[Kind, Key, Sequence[Mapping[str, Any]], str], ...]
"""The links of pages: for each object with pages, its links, and why they could not be read, or ""."""


async def read_links(reader: Reader, kinds: Kinds, actual: Actual, dead: Mapping[Key, Mapping[str, str]]) -> ReadLinks:
    """The links of every other object with pages in the same containers as what ends, asked for once.

    `dead`: the titles of the pages that answer nowhere after a plan by id, by the object that contains them; under "" its own where nothing
    of it answers.
    """
    sources = [
        (kind, kind.links, observed)
        for kind in kinds.values()
        if kind.pages is not None and kind.links is not None
        for observed in actual.objects.get(kind.name, {}).values()
        # What is not shown at all after the plan has no readers to follow its links.
        if observed.deleted_at is None and "" not in dead.get((kind.name, observed.id), {}) and _beside(actual, observed, dead)
    ]
    lists = await asyncio.gather(*(links_of(reader, word, observed) for _, word, observed in sources))
    return tuple(
        (kind, (kind.name, observed.id), links, failure) for (kind, _, observed), (links, _, failure) in zip(sources, lists, strict=True)
    )


def linking_pages(
    read: ReadLinks, dead: Mapping[Key, Mapping[str, str]], called: Callable[[Key], Address]
) -> tuple[tuple[LinkingPage, ...], tuple[str, ...]]:
    """The pages that link to pages that answer nowhere after a plan, and a sentence for each list that could not be read."""
    pages: dict[tuple[Key, str], tuple[str, dict[str, None]]] = {}
    failed = []
    for kind, key, links, failure in read:
        if "" in dead.get(key, {}):
            continue
        if failure:
            failed.append(f"{called(key)}: its links could not be read, so nobody knows whether it links to pages that end: {failure}")
        for page, title, target in _dead_links(kind, links, dead):
            if page not in dead.get(key, {}):
                pages.setdefault((key, page), (title, {}))[1][target] = None
    linking = [LinkingPage(page, title, called(key), tuple(to)) for (key, page), (title, to) in pages.items()]
    return tuple(sorted(linking, key=lambda line: (line.space, line.title, line.page))), tuple(failed)


def _beside(actual: Actual, observed: Observed, dead: Iterable[Key]) -> bool:
    """Whether an object is in the same containers as one of these."""
    return any(other.within == observed.within for key in dead if (other := actual.find(*key)) is not None)


def _dead_links(kind: Kind, links: Iterable[Mapping[str, Any]], dead: Mapping[Key, Mapping[str, str]]) -> Iterator[tuple[str, str, str]]:
    """(id of the page with the link, its title, the title of the page that it leads to)."""
    for link in links:
        space, page, _ = _reference(kind, link.get("targetReference"))
        title = dead.get((kind.name, space), {}).get(page)
        if title is None:
            continue
        locations = link.get("locationReferences")
        for location in locations if isinstance(locations, list) else ():
            _, at, name = _reference(kind, location)
            if at:
                yield at, name, title


def _reference(kind: Kind, raw: Any) -> tuple[str, str, str]:
    """(id of the object, id of the page in it, title of the page) of a reference; "" for what it does not name."""
    outer, page = ((raw.get(name) if isinstance(raw, Mapping) else None) for name in (kind.object, "page"))
    ids = [value.get("id") if isinstance(value, Mapping) else None for value in (outer, page)]
    title = page.get("title") if isinstance(page, Mapping) else None
    space, at, name = (value if isinstance(value, str) else "" for value in (*ids, title))
    return space, at, name
