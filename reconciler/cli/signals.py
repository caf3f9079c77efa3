"""SIGINT and SIGTERM: while something is applied the first one stops calmly and the second leaves at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

from reconciler.cli import exits

if TYPE_CHECKING:
    import asyncio


class Terminated(SystemExit):
    """SIGTERM came while nothing was being applied. An exit, which asyncio and click let pass."""


def _terminate(number: int, frame: Any) -> None:
    leave_next()
    if not _cancelled():
        raise Terminated(128 + number)


def _cancelled() -> bool:
    """Whether a loop was at its tasks: they are cancelled. What is raised amid its own work is lost, or taken for a broken connection."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return False
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return False
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.call_soon_threadsafe(lambda: None)  # it may be waiting for a connection
    return bool(tasks)


def _leave(number: int, frame: Any) -> NoReturn:
    """The second time: at once, also while the first is being told."""
    os._exit(128 + number)


def leave_next() -> None:
    """From now on a signal ends the process at once."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)


@contextmanager
def terminable() -> Iterator[None]:
    """In this block SIGTERM raises `Terminated`, as SIGINT raises KeyboardInterrupt; see `raising` for what runs in an event loop."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {signal.SIGINT: signal.getsignal(signal.SIGINT), signal.SIGTERM: signal.signal(signal.SIGTERM, _terminate)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def raising() -> Iterator[None]:
    """In this block, inside `terminable`, `Terminated` is raised also where SIGTERM cancelled the tasks of an event loop."""
    try:
        yield
    except BaseException as error:
        asyncio = sys.modules.get("asyncio")
        if asyncio is not None and isinstance(error, asyncio.CancelledError):
            raise Terminated(exits.TERMINATED) from error
        raise


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
