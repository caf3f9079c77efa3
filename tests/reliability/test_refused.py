"""Ten minutes of nothing but 429: the run gives up in time, says why and what to do, and the next one finds everything in its place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from reconciler.client.pacing import PATIENCE
from reconciler.errors import Unavailable
from reconciler.model import StepStatus
from reconciler.sandbox.faults import book
from reconciler.sandbox.faults.rules import parse
from tests.proofs import spread
from tests.reliability.__main__ import database
from tests.reliability.faults import ready
from tests.reliability.seen import difference
from tests.reliability.world import World

GIVES_UP = PATIENCE + 130.0  # one wait of two minutes may be under way


@contextmanager
def refusing(after: int, *, retry_after: bool) -> Iterator[tuple[World, float]]:
    """A world whose service refuses everything from the write of that number on; then it is calm, and one more run makes it right."""
    limit = {"fault": "rate-limit", "operation": "* *", "limit": 0, "window": 7200.0, "retryAfter": retry_after}
    writes = 0

    def begin(boundary: str) -> None:
        nonlocal writes
        writes += boundary.startswith("after ")
        if writes == after and (after == 0 or boundary.startswith("after ")):
            book.set_rules(world.service, [parse(json.dumps(limit))])

    with database("sqlite", None, "unused") as found:
        world, start, expected = ready("small", found)
        world.put(start)
        world.requests.clear()
        world.watch = begin
        if after == 0:
            begin("")
        yield world, world.time.seconds
        world.watch = None
        book.set_rules(world.service, [])
        world.time.pass_(60.0)
        assert all(result.status is StepStatus.DONE for result in world.apply().results)
        world.later()
        assert difference(expected, world.seen()) == []
        assert world.plan().empty
        world.close()


@pytest.mark.parametrize("retry_after", [True, False])
def test_refused_from_the_first_request_on_it_ends_and_says_what_to_do(retry_after: bool) -> None:
    with refusing(0, retry_after=retry_after) as (world, began):
        with pytest.raises(Unavailable, match="429") as caught:
            world.apply()
        assert "Run it again later" in str(caught.value.hint)
        assert world.time.seconds - began <= GIVES_UP
        assert len(world.requests) == (5 if retry_after else 13)  # a limit that no answer names may end within a minute


@pytest.mark.parametrize(("after", "retry_after"), spread([(1, True), (1, False), (3, True), (3, False)], 1))
def test_refused_in_the_middle_it_gives_up_and_nothing_is_done_twice(after: int, retry_after: bool) -> None:
    with refusing(after, retry_after=retry_after) as (world, began):
        outcome = world.apply()
        assert world.time.seconds - began <= GIVES_UP
        assert len(world.requests) < 100
        failed = [str(result.error) for result in outcome.results if result.status is StepStatus.FAILED]
        assert failed
        assert all("429" in error for error in failed)
        assert outcome.count(StepStatus.DONE) >= after
        assert outcome.count(StepStatus.IN_DOUBT) == 0
