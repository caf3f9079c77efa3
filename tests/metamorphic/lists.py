"""A service whose lists come in other pages, and in another order where the order says nothing."""

from __future__ import annotations

import json
import random
import re

import httpx2

from reconciler.kinds import load as kinds
from reconciler.resource import Listing

LISTS = {
    re.compile(r"/v1" + re.sub(r"\{\w+\}", "[^/]+", reading.path)): reading.ordered
    for kind in kinds().values()
    for reading in kind.reads
    if isinstance(reading, Listing)
}


class Shuffling(httpx2.AsyncBaseTransport):
    """Reads a list whole and gives it out in pages of its own, of random sizes. An unordered list has one random order for each reading
    from its first page to its last. `paged`: how many pages were followed by another."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, chance: random.Random) -> None:
        self.inner, self.chance = inner, chance
        self.waiting: dict[str, tuple[list[object], int]] = {}  # by token: what is left of a list, and how long it is
        self.paged = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        ordered = next((ordered for path, ordered in LISTS.items() if path.fullmatch(request.url.path)), None)
        if request.method != "GET" or ordered is None:
            return await self.inner.handle_async_request(request)
        token = request.url.params.get("page")
        if token in self.waiting:
            items, count = self.waiting[token]
        else:
            answer = await self.inner.handle_async_request(request)
            document = json.loads(await answer.aread())
            if answer.status_code != 200 or "next" in document:
                return httpx2.Response(answer.status_code, headers=answer.headers, content=json.dumps(document), request=request)
            items, count = document["items"], len(document["items"])
            if not ordered:
                self.chance.shuffle(items)
        size = self.chance.randint(1, max(1, len(items)))
        page = {"items": items[:size], "count": count}
        if items[size:]:
            token = f"page-{len(self.waiting)}"
            self.waiting[token] = (items[size:], count)
            page["next"] = {"page": token}
            self.paged += 1
        return httpx2.Response(200, json=page, request=request)

    async def aclose(self) -> None:
        await self.inner.aclose()
