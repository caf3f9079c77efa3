"""Whether a 401 is about the token or about one path: some paths take only certain tokens.

In: paths that were answered, and one that every accepted token may read. Out: whether the token is accepted, after at most one request for
all that were refused at the same time.
Forbidden: knowledge of the purpose of any path.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from reconciler.client.pacing import Clock


class TokenCheck:
    """What the answers of a run say of its token. `reads`: whether the token is not refused on a path; it sends one request. `root`: a path
    that every accepted token may read; "" if none is known."""

    def __init__(self, clock: Clock, reads: Callable[[str], Awaitable[bool]]) -> None:
        self.root = ""
        self._clock, self._reads = clock, reads
        self._asking = asyncio.Lock()
        self._accepted_at = self._refused_at = float("-inf")  # when the request was sent that was answered so
        self._readable = ""  # a path that was read
        self._closed: set[str] = set()  # paths that are refused although the token is accepted

    def note_accepted(self, path: str, sent_at: float) -> None:
        """A request that was sent at this time was done. `path`: what it read; "" if it wrote."""
        self._accepted_at = max(self._accepted_at, sent_at)
        self._readable = self._readable or path

    async def is_accepted(self, path: str, sent_at: float) -> bool:
        """Whether the token is accepted elsewhere, although a request to a path that was sent at this time was refused."""
        async with self._asking:
            if path not in self._closed and await self._is_accepted(path, sent_at):
                self._closed.add(path)
            return path in self._closed

    async def _is_accepted(self, path: str, sent_at: float) -> bool:
        for probe in dict.fromkeys((self.root, self._readable)):
            if self._refused_at >= sent_at:
                return False
            if self._accepted_at > sent_at:
                return True
            if not probe or probe == path:
                continue
            asked_at = self._clock.monotonic()
            if await self._reads(probe):
                self._accepted_at = max(self._accepted_at, asked_at)
                return True
        self._refused_at = max(self._refused_at, self._clock.monotonic())
        return False
