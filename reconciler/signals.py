"""SIGINT and SIGTERM: the first one stops an apply after the requests under way and ends anything else; the second ends the process.

The flag `StopSignals.number` records the first signal. A flag alone is not enough, because nothing reads it while a database or a prompt is
awaited; so the first signal raises. Python loses exceptions in destructors and in callbacks of weak references, so those are raised again.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, Final

from reconciler import exits

AGAIN: Final = 0.002  # seconds


class Terminated(SystemExit):
    """SIGTERM while nothing is applied; an exit, which click does not catch."""


def of_signal(error: BaseException | None) -> bool:
    """Whether a signal raised an exception or its cause: Python 3.11 turns an interruption while it creates a class into a RuntimeError."""
    while error is not None and not isinstance(error, KeyboardInterrupt | Terminated):
        error = error.__cause__
    return error is not None


class StopSignals:
    """Handles SIGINT and SIGTERM. `number`: the first signal, None before it. `stop`: called at the first signal instead of raising."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.stop: Callable[[], object] | None = None
        self._blocks = 0  # uninterrupted ones, each inside the one before
        self._waiting = False  # whether a signal came meanwhile

    def run(self, work: Callable[[], Any]) -> Any:
        """What `work` returns. Raises KeyboardInterrupt or `Terminated` if a signal ended it."""
        try:
            return work()
        except BaseException as error:
            asyncio = sys.modules.get("asyncio")
            cancelled = asyncio is not None and isinstance(error, asyncio.CancelledError)
            if self.number is not None and (cancelled or of_signal(error)):
                raise self.raised() from error
            raise

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Stop or raise at the first signal; end the process at the second: the journal contains what was sent."""
        if self.number is not None:
            os._exit(128 + number)
        self.number = number
        warnings.simplefilter("ignore")  # of what was made and never begun
        if "logging" in sys.modules:
            sys.modules["logging"].disable()  # libraries log what they were interrupted in, with tracebacks
        self.hear(number, frame)

    def hear(self, _: int, frame: FrameType | None) -> None:
        """Raise now, at the end of code that must not be interrupted, or a moment later if an exception would be lost."""
        if _within(frame, StopSignals.unraisable.__code__):
            self._again()
        elif self._blocks:
            self._waiting = True
        else:
            self._leave()

    @contextmanager
    def uninterrupted(self) -> Iterator[None]:
        """Delay signals until the end of this block. Keep it short: a person waits. Other threads do not receive signals.

        A mask of signals would not do: it holds for one thread, and Python raises in the main thread what another one received.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        self._blocks += 1
        try:
            yield
        finally:
            self._blocks -= 1
            if self._waiting and not self._blocks:
                self._waiting = False
                self._leave()

    @contextmanager
    def stopping(self, stop: Callable[[], object]) -> Iterator[None]:
        """In this block the first signal calls `stop`, which must be safe to call between any two instructions, instead of raising."""
        self.stop = stop
        try:
            yield
        finally:
            self.stop = None

    def _leave(self) -> None:
        if self.stop is not None:
            self.stop()
        elif not cancel_tasks():
            raise self.raised()

    def raised(self) -> BaseException:
        """What the first signal raises, for who stopped at it without an exception."""
        return KeyboardInterrupt() if self.number == signal.SIGINT else Terminated(exits.TERMINATED)

    def unraisable(self, unraised: sys.UnraisableHookArgs) -> None:
        """Raise a signal again that was lost during garbage collection. Other exceptions there come from interrupted constructors."""
        if self.number is None:
            sys.__unraisablehook__(unraised)
        elif isinstance(unraised.exc_value, KeyboardInterrupt | Terminated):
            self._again()

    def _again(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, AGAIN)


def _within(frame: FrameType | None, code: CodeType) -> bool:
    """Whether the signal interrupted this code, or something that it called."""
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


def cancel_tasks() -> bool:
    """Cancel the tasks of a running event loop, and return whether there are any.

    An exception inside the loop itself would be lost, or taken for a broken connection.
    """
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


@contextmanager
def ending() -> Iterator[StopSignals]:
    """Handle both signals in this block, except for one that the parent process made this program ignore."""
    heard = StopSignals()
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    hook, alarm = sys.unraisablehook, signal.signal(signal.SIGALRM, heard.hear)
    sys.unraisablehook = heard.unraisable
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, heard)
    try:
        with warnings.catch_warnings():
            yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if heard.number is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, alarm)
        sys.unraisablehook = hook
        if heard.number is not None and "logging" in sys.modules:
            sys.modules["logging"].disable(0)
