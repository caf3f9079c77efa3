"""Group commit: what is ready together is one transaction; intents are durable before their requests, endings before what follows."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reconciler.errors import StateError
from reconciler.state import IntentEnding, Journal, Store, grouped
from tests.growth.test_apply import mixed
from tests.harness import Org
from tests.proofs import costly
from tests.state.examples import GUIDES, WHO, binding, intent
from tests.state.watched import watched

MANY = 50


@contextmanager
def counted() -> Iterator[dict[str, int]]:
    """Statements and commits of every database in this block."""
    counts = {"statements": 0, "commits": 0}

    with watched(
        lambda *_: counts.update(statements=counts["statements"] + 1), commit=lambda _: counts.update(commits=counts["commits"] + 1)
    ):
        yield counts


def test_what_is_ready_together_is_one_transaction(store: Store) -> None:
    async def run(journal: Journal) -> int:
        async with grouped(journal) as group:
            written = await asyncio.gather(*(group.intend(intent()) for _ in range(MANY)))
            assert [one.id for one in written] == list(range(1, MANY + 1))
            assert {one.run for one in written} == {journal.run}
            for one in written:
                group.settle(IntentEnding(one.id, "done"))
        return group.commits

    with store.lease(**WHO) as journal, counted() as counts:
        assert asyncio.run(run(journal)) == counts["commits"] == 2
        assert counts["statements"] <= 20
        assert journal.state().intents == ()


def test_an_intent_is_durable_when_it_returns(store: Store) -> None:
    async def run(journal: Journal) -> None:
        async with grouped(journal) as group:
            for number in range(1, 4):
                await group.intend(intent())
                assert len(store.read().intents) == number

    with store.lease(**WHO) as journal:
        asyncio.run(run(journal))


def test_an_ending_is_durable_before_an_intent_that_comes_after_it(store: Store) -> None:
    async def run(journal: Journal) -> None:
        async with grouped(journal) as group:
            first = await group.intend(intent())
            group.settle(IntentEnding(first.id, "done", bind=(binding(GUIDES),)))
            assert GUIDES not in store.read().bindings
            second = await group.intend(intent())
            assert GUIDES in store.read().bindings
            assert [one.id for one in store.read().intents] == [second.id]

    with store.lease(**WHO) as journal:
        asyncio.run(run(journal))


def test_an_ending_that_no_intent_follows_is_written_by_itself(store: Store) -> None:
    async def run(journal: Journal) -> None:
        async with grouped(journal) as group:
            first = await group.intend(intent())
            group.settle(IntentEnding(first.id, "done"))
            while store.read().intents:
                await asyncio.sleep(0.001)

    with store.lease(**WHO) as journal:
        asyncio.run(asyncio.wait_for(run(journal), 30))


def test_the_loop_goes_on_while_a_transaction_is_written(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    free, threads = threading.Event(), set[int]()
    commit = Journal.commit

    def slowly(self: Journal, *given: Any) -> Any:
        threads.add(threading.get_ident())
        free.wait(30)
        return commit(self, *given)

    monkeypatch.setattr(Journal, "commit", slowly)

    async def run(journal: Journal) -> int:
        async with grouped(journal) as group:
            first = asyncio.create_task(group.intend(intent()))
            while not threads:
                await asyncio.sleep(0)
            later = [asyncio.create_task(group.intend(intent())) for _ in range(MANY)]
            await asyncio.sleep(0)
            free.set()
            await asyncio.gather(first, *later)
        return group.commits

    with store.lease(**WHO) as journal:
        assert asyncio.run(run(journal)) == 2
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_a_transaction_that_fails_fails_for_all_and_nothing_is_accepted_after_it(store: Store) -> None:
    async def run(journal: Journal) -> None:
        async with grouped(journal) as group:
            first, second = await asyncio.gather(group.intend(intent()), group.intend(intent()))
            group.settle(IntentEnding(first.id, "done"))
            group.settle(IntentEnding(first.id, "done"))  # one intent cannot end twice
            raised = await asyncio.gather(*(group.intend(intent()) for _ in range(3)), return_exceptions=True)
            assert [type(error) for error in raised] == [StateError] * 3
            with pytest.raises(StateError, match="cannot end twice"):
                await group.intend(intent())
            group.settle(IntentEnding(second.id, "done"))  # what was sent may still be written down

    with store.lease(**WHO) as journal:
        with pytest.raises(StateError, match="cannot end twice"):
            asyncio.run(run(journal))
        assert [one.id for one in journal.state().intents] == [1]


def test_a_step_that_is_stopped_before_its_request_leaves_nothing_in_doubt(store: Store) -> None:
    async def run(journal: Journal) -> None:
        async with grouped(journal) as group:
            waiting = [asyncio.create_task(group.intend(intent())) for _ in range(3)]
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    with store.lease(**WHO) as journal:
        asyncio.run(run(journal))
        assert journal.state().intents == ()


class AtOnce(Executor):
    """Runs what it is given before anything else can happen: the fastest disk there is."""

    def submit(self, work: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(*given, **named))
        return done


@pytest.mark.parametrize("pauses", range(8))
def test_it_leaves_nothing_in_doubt_however_fast_the_disk_is(store: Store, pauses: int) -> None:
    async def run(journal: Journal) -> None:
        async with grouped(journal) as group:
            group._writer = AtOnce()  # type: ignore[assignment]
            waiting = asyncio.create_task(group.intend(intent()))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            waiting.cancel()
            for _ in range(pauses):
                await asyncio.sleep(0)
            if not waiting.done():
                await asyncio.wait([waiting])

    with store.lease(**WHO) as journal:
        asyncio.run(run(journal))
        assert journal.state().intents == ()


@costly
def test_an_apply_commits_for_many_requests_at_once(tmp_path: Path) -> None:
    """Two transactions and fifteen statements for each write, where each request has its own."""
    org = Org(tmp_path)
    org.write(mixed(100))
    with counted() as counts:
        assert org.apply().went_through
    writes = sum(1 for method, _ in org.requests if method != "GET")
    assert counts["commits"] <= 0.5 * writes, (counts, writes)
    assert counts["statements"] <= 5 * writes, (counts, writes)
