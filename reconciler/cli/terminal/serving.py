"""What commands do that serve until somebody ends them: the first SIGINT or SIGTERM ends the work, and is no error."""

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

    asyncio.run(run())
