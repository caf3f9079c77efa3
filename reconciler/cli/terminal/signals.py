"""SIGINT and SIGTERM: the first one stops an apply calmly and ends everything else; the second one ends the process at once.

One flag, `StopSignals.number`, says whether one came. It is not enough: nothing would look at it while a database or a prompt is waited
for. So the first one raises; and Python loses what is raised in a destructor or a callback of a weak reference, which is why that is raised
again.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import CodeType, FrameType
from typing import Any, Final

from reconciler.cli import exits

AGAIN: Final = 0.002  # seconds


class Terminated(SystemExit):
    """SIGTERM came while nothing was being applied. An exit, which click lets pass."""


def of_signal(error: BaseException | None) -> bool:
    """Whether a signal raised that, or what it was made of: Python 3.11 makes a RuntimeError of what interrupts the making of a class."""
    while error is not None and not isinstance(error, KeyboardInterrupt | Terminated):
        error = error.__cause__
    return error is not None


class StopSignals:
    """Hears SIGINT and SIGTERM. `number`: the first one that came, None while none did. `stop`: what is done then instead of leaving."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.stop: Callable[[], object] | None = None

    def run(self, work: Callable[[], Any]) -> Any:
        """What `work` returns; raises KeyboardInterrupt or `Terminated` where a signal ended it, in an event loop too."""
        try:
            return work()
        except BaseException as error:
            asyncio = sys.modules.get("asyncio")
            cancelled = asyncio is not None and isinstance(error, asyncio.CancelledError)
            if self.number is not None and (cancelled or of_signal(error)):
                raise self._raised() from error
            raise

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """The first time what is under way is stopped or left; the second time the process ends: what was sent is in the journal."""
        if self.number is not None:
            os._exit(128 + number)
        self.number = number
        warnings.simplefilter("ignore")  # of what was made and never begun
        if "logging" in sys.modules:
            sys.modules["logging"].disable()  # libraries log what they were interrupted in, with tracebacks
        self.hear(number, frame)

    def hear(self, _: int, frame: FrameType | None) -> None:
        """Leave now, at the end of what must not be broken off, or a moment later where what is raised would be lost."""
        put_off = getattr(sys.modules.get("reconciler.state.uninterrupted"), "put_off", None)  # only who holds a lease has imported it
        if _within(frame, StopSignals.unraisable.__code__):
            self._again()
        elif put_off is None or not put_off(self._leave):
            self._leave()

    def _leave(self) -> None:
        if self.stop is not None:
            self.stop()
        elif not _cancelled():
            raise self._raised()

    def _raised(self) -> BaseException:
        return KeyboardInterrupt() if self.number == signal.SIGINT else Terminated(exits.TERMINATED)

    def unraisable(self, found: sys.UnraisableHookArgs) -> None:
        """What was raised amid the collection of garbage went nowhere: it is raised again. What else breaks there was left half-made."""
        if self.number is None:
            sys.__unraisablehook__(found)
        elif isinstance(found.exc_value, KeyboardInterrupt | Terminated):
            self._again()

    def _again(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, AGAIN)


_HEARING: Final[list[StopSignals]] = []
"""Who hears signals now; the last one, where a program is run inside another one."""


def _within(frame: FrameType | None, code: CodeType) -> bool:
    """Whether that is what was interrupted, or something it called."""
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


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


@contextmanager
def ending() -> Iterator[StopSignals]:
    """In this block both signals are heard, but for one that whoever started the program had it ignore."""
    heard = StopSignals()
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return
    _HEARING.append(heard)
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
        _HEARING.remove(heard)
        for number, handler in before.items():
            signal.signal(number, handler)
        if heard.number is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, alarm)
        sys.unraisablehook = hook
        if heard.number is not None and "logging" in sys.modules:
            sys.modules["logging"].disable(0)


@contextmanager
def stopping(stop: Callable[[], None]) -> Iterator[StopSignals]:
    """In this block of an event loop the first signal calls `stop` there instead of leaving; another thread than the main one gets none."""
    import asyncio

    heard = _HEARING[-1] if _HEARING and threading.current_thread() is threading.main_thread() else StopSignals()
    heard.stop = partial(asyncio.get_running_loop().call_soon_threadsafe, stop)
    try:
        yield heard
    finally:
        heard.stop = None
