"""An event loop that jumps to its next timer instead of waiting, and the clock that follows it."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LoopClock:
    """The time of the running loop, virtual under `run_virtually`. `epoch`: the wall clock at monotonic 0."""

    epoch: float

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def wall(self) -> float:
        return self.epoch + self.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _VirtualLoop(asyncio.SelectorEventLoop):
    """Where there is nothing to do now, it is at once the time at which there is."""

    def __init__(self) -> None:
        self.virtual = 0.0
        super().__init__(_Impatient(self))

    def time(self) -> float:
        return self.virtual


class _Impatient(selectors.DefaultSelector):  # type: ignore[misc,valid-type]
    def __init__(self, loop: _VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is not None and timeout > 0:
            self._loop.virtual += timeout
        return super().select(0)


def run_virtually(main: Coroutine[Any, Any, Any]) -> Any:
    """Like asyncio.run, in no time; only for what uses no sockets."""
    with asyncio.Runner(loop_factory=_VirtualLoop) as runner:
        return runner.run(main)
