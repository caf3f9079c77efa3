"""SIGINT and SIGTERM: while something is applied the first one stops calmly and the second leaves at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import asyncio


class Terminated(BaseException):
    """SIGTERM came while nothing was being applied."""


def _terminate(number: int, frame: Any) -> NoReturn:
    signal.signal(number, _leave)
    raise Terminated


def _leave(number: int, frame: Any) -> NoReturn:
    """The second time: at once, also while the first is being told."""
    os._exit(128 + number)


@contextmanager
def terminable() -> Iterator[None]:
    """In this block SIGTERM raises `Terminated`, as SIGINT raises KeyboardInterrupt."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Stop:
    """Whether a run was told to stop: `event` for the run, `signal` for the exit code."""

    def __init__(self, event: asyncio.Event) -> None:
        self.event = event
        self.signal: int | None = None

    def ask(self, number: int, tell: Callable[[], None]) -> None:
        """The first time the run is told; the second time the process ends. Both are safe: every request has its intent in the journal."""
        if self.signal is not None:
            os._exit(128 + number)
        self.signal = number
        self.event.set()
        tell()


@contextmanager
def stopping(loop: asyncio.AbstractEventLoop, stop: Stop, tell: Callable[[], None]) -> Iterator[None]:
    """In this block signals ask the run to stop."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    with suppress(NotImplementedError, RuntimeError, ValueError):  # not the main thread, which gets no signals anyway
        before = [signal.getsignal(number) for number in numbers]
        for number in numbers:
            loop.add_signal_handler(number, stop.ask, int(number), tell)
        try:
            yield
        finally:
            for number, handler in zip(numbers, before, strict=True):
                loop.remove_signal_handler(number)
                signal.signal(number, handler)
        return
    yield
