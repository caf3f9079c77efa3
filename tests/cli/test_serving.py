"""Commands that serve end with a signal, also where a library loses it."""

from __future__ import annotations

import asyncio
import os
import signal

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
