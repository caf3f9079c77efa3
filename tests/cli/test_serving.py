"""Commands that serve end with a signal, also where a library loses it."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from reconciler.cli.terminal.serving import until_interrupted

FOREVER = 3_600.0


async def losing(lost: list[str]) -> None:
    """Lose the first cancellation, as `asyncio.wait_for` does before Python 3.12 where what it waits for is ready in the same moment."""
    try:
        await asyncio.sleep(FOREVER)
    except asyncio.CancelledError:
        lost.append("once")
    await asyncio.sleep(FOREVER)


def test_what_loses_a_cancellation_does_not_keep_a_command_from_ending() -> None:
    lost: list[str] = []

    async def work() -> None:
        beside = asyncio.create_task(losing(lost))
        await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(FOREVER)
        await beside

    until_interrupted(work())
    assert lost == ["once"]


def test_a_cancellation_that_was_lost_is_raised_when_the_next_line_asks_for_it() -> None:
    pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")
    from reconciler.fleet.worker import raise_cancellation

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
