"""The checks of `health` that cost requests: what the kinds declare is asked, and `checks.py` says what the answers mean. Only GET.

In: a reading, and the limits of the project. Out: one result a check, those that are off included, with what they would cost. What a check
could not read makes it unknown, and no other check.

    brokenLinks              one list for each object with links
    startPages, stalePages   one tree for each object with pages, which both use
    changeRequests, outdated one list for each root, which both use
    search                   one request for each search
    topics                   one list for each root
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from reconciler.address import bare
from reconciler.client import encode
from reconciler.client.service import Reader
from reconciler.errors import ServiceError
from reconciler.features.health.checks import (
    Shown,
    beginnings,
    broken_links,
    largest,
    no_start,
    search_misses,
    searched,
    stale_pages,
    waiting,
)
from reconciler.features.health.model import CheckResult, Concern, HealthChecks
from reconciler.features.health.plan import HealthInputs
from reconciler.features.urls.read.pages import listed_pages
from reconciler.model import Observed
from reconciler.resource import Kind, placeholders

OBJECTS_MAX: Final = 1_000  # of which one check asks; an organization with more is not known completely
FIRST: Final = 5  # items of a list of which only the number matters
RESULTS: Final = 20  # of a search: what readers do not see on the first page they do not find
TOPICS: Final = 1_000  # the service's maximum of a page
CONCERNS_MAX: Final = 100  # of one check; the others are counted

Lines = list[Concern | str]


async def checked(
    reader: Reader, inputs: HealthInputs, checks: HealthChecks, known: Mapping[str, CheckResult] = {}
) -> tuple[CheckResult, ...]:
    """The results, in the order of the keys. `known`: results that are not older than they may be, which are not asked for again."""
    asking = _Asking(reader, inputs, checks)
    results = []
    for name, is_on, run in asking.table():
        described = CheckResult(name, *asking.described(name), on=False)
        if not is_on:
            results.append(described)
        elif name in known:
            results.append(known[name])
        else:
            before = reader.requests
            lines = await run()
            results.append(_result(described, inputs, lines, reader.requests - before))
    return tuple(results)


def _result(described: CheckResult, inputs: HealthInputs, lines: Lines, requests: int) -> CheckResult:
    concerns = list(dict.fromkeys(line for line in lines if isinstance(line, Concern)))
    if len(concerns) > CONCERNS_MAX:
        more = Concern(concerns[0].sort, "", f"and {len(concerns) - CONCERNS_MAX:,} more like these")
        concerns = [*concerns[:CONCERNS_MAX], more]
    unread = tuple(dict.fromkeys(line for line in lines if isinstance(line, str)))
    return replace(described, on=True, at=inputs.now, requests=requests, concerns=tuple(concerns), unread=unread)


Run = Callable[[], Awaitable[Lines]]


@dataclass
class _Asking:
    """The requests of one run; a list or a tree that two checks need is asked for once."""

    reader: Reader
    inputs: HealthInputs
    checks: HealthChecks
    _trees: dict[tuple[str, str], list[Mapping[str, Any]] | str] = field(default_factory=dict)
    _reviews: dict[tuple[str, str], tuple[dict[str, Any], ...] | str] = field(default_factory=dict)

    def table(self) -> Iterator[tuple[str, bool, Run]]:
        """Each check by name, whether it is on, and what runs it."""
        checks = self.checks
        yield "brokenLinks", checks.broken_links is not None, self.broken_links
        yield "startPages", bool(checks.start_pages), self.start_pages
        yield "stalePages", checks.stale_pages is not None, self.stale_pages
        yield "changeRequests", checks.change_requests is not None, lambda: self.reviews(checks.change_requests, outdated=False)
        yield "outdated", bool(checks.outdated), lambda: self.reviews(None, outdated=True)
        yield "search", bool(checks.searches), self.searches
        yield "topics", bool(checks.topics), self.topics

    def described(self, name: str) -> tuple[tuple[str, ...], str]:
        """The operations of a check, and what it costs in words."""
        operations: list[str] = []
        cost = "no request"
        for kind in self.inputs.kinds.values():
            each = f"1 request for each {kind.name}"
            if name == "brokenLinks" and kind.links is not None:
                operations, cost = [f"{kind.links.path}?{'='.join(kind.links.broken)}"], each
            elif name in ("startPages", "stalePages") and kind.pages is not None:
                operations = [kind.pages.tree]
                cost = each if name == "stalePages" else f"1 request for each {kind.name} that a published site begins with"
            elif name in ("changeRequests", "outdated") and kind.reviews is not None:
                operations, cost = [kind.reviews.path], each
            elif name == "search" and kind.search is not None:
                operations, cost = [f"{kind.search.path}?{kind.search.query}=…"], "1 request for each search"
            elif name == "topics" and kind.topics is not None:
                operations, cost = [kind.topics.path], each
        return tuple(f"GET /v1{path}" for path in operations), cost

    # -- asking ----------------------------------------------------------------------------------------------------------------------

    def _objects(self, has: Callable[[Kind], object]) -> list[tuple[Kind, Observed]]:
        return [(kind, observed) for kind, observed in self.inputs.objects() if has(kind) is not None]

    async def _each(self, objects: Sequence[tuple[Kind, Observed]], ask: Callable[[Kind, Observed], Awaitable[Lines]]) -> Lines:
        """What asking about each of these gives; of too many, about the first."""
        lines = [line for some in await asyncio.gather(*(ask(*item) for item in objects[:OBJECTS_MAX])) for line in some]
        if len(objects) > OBJECTS_MAX:
            lines.append(f"only {OBJECTS_MAX:,} of {len(objects):,} were looked at")
        return lines

    async def _body(self, path: str, observed: Observed, query: Mapping[str, str]) -> Any:
        known = {**observed.within, "id": bare(observed.id)}
        return (await self.reader.get(encode(path, {name: known[name] for name in placeholders(path)}), query)).body

    def _failed(self, kind: Kind, observed: Observed, error: ServiceError) -> str:
        return f"{self.inputs.called((kind.name, observed.id))}: {error.message}"

    # -- checks ----------------------------------------------------------------------------------------------------------------------

    async def broken_links(self) -> Lines:
        async def ask(kind: Kind, observed: Observed) -> Lines:
            assert kind.links is not None
            name, value = kind.links.broken
            try:
                body = await self._body(kind.links.path, observed, {name: value, "limit": str(FIRST)})
            except ServiceError as error:
                return [self._failed(kind, observed, error)]
            return list(broken_links(self.inputs, kind, observed, body, self.checks.broken_links or 0))

        return await self._each(self._objects(lambda kind: kind.links), ask)

    async def _tree(self, kind: Kind, observed: Observed) -> list[Mapping[str, Any]] | str:
        """The pages of an object, or why they are not known."""
        key = kind.name, observed.id
        if key not in self._trees:
            assert kind.pages is not None
            try:
                listed = listed_pages(await self._body(kind.pages.tree, observed, {}), kind.pages)
                self._trees[key] = f"{self.inputs.called(key)}: the response is not a tree of pages" if listed is None else listed
            except ServiceError as error:
                self._trees[key] = self._failed(kind, observed, error)
        return self._trees[key]

    async def start_pages(self) -> Lines:
        async def ask(place: Shown) -> Lines:
            kind, inner = self.inputs.kinds[place.inner[0]], self.inputs.actual.find(*place.inner)
            if kind.pages is None or inner is None:
                root = self.inputs.called((place.root.kind, place.root.id))
                return [f"{self.inputs.called(place.inner)}, with which {root} begins, was not read"]
            listed = await self._tree(kind, inner) if inner.deleted_at is None else []
            return [listed] if isinstance(listed, str) else list(no_start(self.inputs, place, listed))

        return [line for some in await asyncio.gather(*map(ask, beginnings(self.inputs)[:OBJECTS_MAX])) for line in some]

    async def stale_pages(self) -> Lines:
        async def ask(kind: Kind, observed: Observed) -> Lines:
            listed = await self._tree(kind, observed)
            return (
                [listed]
                if isinstance(listed, str)
                else list(stale_pages(self.inputs, kind, observed, listed, self.checks.stale_pages or 0))
            )

        return await self._each(self._objects(lambda kind: kind.pages), ask)

    async def reviews(self, days: int | None, *, outdated: bool) -> Lines:
        async def ask(kind: Kind, observed: Observed) -> Lines:
            word, key = kind.reviews, (kind.name, observed.id)
            assert word is not None
            if key not in self._reviews:
                try:
                    path = encode(word.path, {name: bare(observed.id) for name in placeholders(word.path)})
                    listed = await self.reader.list(path)
                    self._reviews[key] = listed.items if listed.complete else f"{self.inputs.called(key)}: the list is not complete"
                except ServiceError as error:
                    self._reviews[key] = self._failed(kind, observed, error)
            items = self._reviews[key]
            if isinstance(items, str):
                return [items]
            to = self.inputs.kinds[word.of]
            return list(waiting(self.inputs, to, word, items, days=days, outdated=outdated))

        return await self._each(self._objects(lambda kind: kind.reviews), ask)

    async def searches(self) -> Lines:
        lines: Lines = []
        for search in self.checks.searches:
            shown = searched(self.inputs, search)
            if isinstance(shown, str):
                lines.append(shown)
                continue
            within = {**shown[0].root.within}
            kind, id = next(
                ((kind, within[kind.name]) for kind in self.inputs.kinds.values() if kind.search is not None and kind.name in within),
                (None, ""),
            )
            assert kind is not None
            assert kind.search is not None
            try:
                path = encode(kind.search.path, {"id": id})
                body = (await self.reader.get(path, {kind.search.query: search.query, "limit": str(RESULTS)})).body
            except ServiceError as error:
                lines.append(f"the search for {search.query!r}: {error.message}")
                continue
            lines += search_misses(self.inputs, search, kind.search, shown, body)
        return lines

    async def topics(self) -> Lines:
        async def ask(kind: Kind, observed: Observed) -> Lines:
            assert kind.topics is not None
            try:
                body = await self._body(kind.topics.path, observed, {"limit": str(TOPICS)})
            except ServiceError as error:
                return [self._failed(kind, observed, error)]
            items = body.get("items") if isinstance(body, Mapping) else None
            if not isinstance(items, list):
                return [f"{self.inputs.called((kind.name, observed.id))}: the response is not a list"]
            return list(largest(self.inputs, kind, observed, items, self.checks.topics or 0))

        return await self._each(self._objects(lambda kind: kind.topics), ask)
