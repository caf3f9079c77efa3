"""A worker and its runs: one that begins while the worker looks at its rows goes on, and one that nobody does any more is recovered."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from reconciler.fleet.worker import raise_cancellation
from tests.cli.test_serving import FOREVER

pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")

from reconciler.fleet.store import FleetDatabase, runs
from reconciler.fleet.worker import WorkerSettings, _Worker
from tests.fleet.test_store import admit, begin, declare, project, recover, register

SECONDS = 20.0


def test_a_run_that_begins_while_its_worker_looks_is_not_ended(
    database: FleetDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(database, project("a"))
    worker = _Worker(database, WorkerSettings(patience=1, data=tmp_path), lambda text: None, lambda *words, **facts: None)
    worker.id = register(database, patience=1)
    (run,) = admit(database)
    real = runs.alive
    looks: list[set[int]] = []

    async def both() -> bool:
        loop = asyncio.get_running_loop()

        def task() -> None:
            worker.tasks[run] = asyncio.ensure_future(asyncio.sleep(SECONDS))  # type: ignore[assignment]

        def slow(connection: object, number: int) -> set[int]:
            own = real(connection, number)  # type: ignore[arg-type]
            if not looks:  # it begins after the rows were read, and before the worker compares them
                assert begin(database, run, number) is not None
                loop.call_soon_threadsafe(task)
            looks.append(own)
            return own

        monkeypatch.setattr(runs, "alive", slow)
        living = asyncio.create_task(worker._live())
        async with asyncio.timeout(SECONDS):
            while len(looks) < 3:
                await asyncio.sleep(0.01)
        living.cancel()
        ended = worker.tasks[run].cancelled() or worker.tasks[run].cancelling() > 0
        worker.tasks[run].cancel()
        await asyncio.gather(living, worker.tasks[run], return_exceptions=True)
        return ended

    assert not asyncio.run(both())
    assert (looks[0], looks[-1]) == (set(), {run})


def test_a_run_that_its_worker_does_not_do_is_recovered_although_the_worker_lives(database: FleetDatabase, tmp_path: Path) -> None:
    declare(database, project("a"))
    worker = _Worker(database, WorkerSettings(patience=1, data=tmp_path), lambda text: None, lambda *words, **facts: None)
    worker.id = register(database, patience=600)
    (run,) = admit(database)
    assert begin(database, run, worker.id) is not None  # and the answer to that was lost: no task does it
    assert recover(database) == []

    async def live() -> list[int]:
        living = asyncio.create_task(worker._live())
        async with asyncio.timeout(SECONDS):
            while not (lost := await asyncio.to_thread(recover, database)):
                await asyncio.sleep(0.02)
        living.cancel()
        await asyncio.gather(living, return_exceptions=True)
        return lost

    assert asyncio.run(live()) == [run]


def test_a_cancellation_that_was_lost_is_raised_when_the_next_line_asks_for_it() -> None:
    reached = []

    async def worker() -> None:
        try:
            await asyncio.sleep(FOREVER)
        except asyncio.CancelledError:
            reached.append("lost")
        raise_cancellation()
        reached.append("went on")

    async def cancelled() -> None:
        task = asyncio.create_task(worker())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        raise_cancellation()

    asyncio.run(cancelled())
    assert reached == ["lost"]
