"""What commands do that serve until somebody ends them: the first SIGINT or SIGTERM ends the work without an error."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any


def until_interrupted(work: Coroutine[Any, Any, None]) -> None:
    """Run until a signal, which ends it without an error."""

    async def run() -> None:
        task = asyncio.ensure_future(work)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, task.cancel)
        with suppress(asyncio.CancelledError):
            await task
        # Libraries lose a cancellation that comes at the moment in which they are ready (`wait_for` before Python 3.12), and `run` waits.
        while rest := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in rest:
                task.cancel()
            await asyncio.wait(rest, timeout=1)

    asyncio.run(run())
