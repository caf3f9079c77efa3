"""Who follows the changes of a fleet misses none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from unittest.mock import Mock

import pytest

pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")

from reconciler.fleet.serve import feed
from reconciler.fleet.store.dashboard.views import FeedChange

ADA = ("ada@acme.example", "a session")


class Gated(feed.Feed):
    """Its first reading ends when the gate opens."""

    def __init__(self) -> None:
        super().__init__(Mock())
        self.gate = threading.Event()
        self.changes: list[FeedChange] = []

    def _recent(self) -> Sequence[FeedChange]:
        before = [*self.changes]
        assert self.gate.wait(60)
        return before


def change(project: str) -> FeedChange:
    return FeedChange("a row", project, "tenant")


def test_a_change_after_a_client_follows_reaches_it_however_slow_the_first_reading_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feed, "POLL_SECONDS", 0.01)
    gated = Gated()

    async def follow() -> feed.Changed | None:
        following = gated.follow(ADA)
        entering = asyncio.create_task(following.__aenter__())
        done, _ = await asyncio.wait([entering], timeout=0.1)
        assert not done
        gated.gate.set()
        queue = await entering
        gated.changes.append(change("acme"))
        try:
            return await asyncio.wait_for(queue.get(), 30)
        finally:
            await following.__aexit__(None, None, None)

    assert asyncio.run(follow()) == feed.Changed("tenant", frozenset({"acme"}))


def test_a_process_that_ends_releases_clients_that_wait_for_the_first_reading() -> None:
    gated = Gated()

    async def follow() -> feed.Changed | None:
        async def first() -> feed.Changed | None:
            async with gated.follow(ADA) as queue:
                return await queue.get()

        waiting = asyncio.create_task(first())
        await asyncio.sleep(0.05)
        gated.end()
        try:
            return await asyncio.wait_for(waiting, 30)
        finally:
            gated.gate.set()

    assert asyncio.run(follow()) is None
