"""SIGINT and SIGTERM: while something is applied the first one stops calmly and the second leaves at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from reconciler.cli import exits

if TYPE_CHECKING:
    import asyncio


AGAIN: Final = 0.002  # seconds


class Terminated(SystemExit):
    """SIGTERM came while nothing was being applied. An exit, which click lets pass."""


class Ending:
    """Hears SIGINT and SIGTERM while nothing is being applied. `number`: the one that came, None while none did."""

    def __init__(self) -> None:
        self.number: int | None = None
        self._lost = False

    def run(self, work: Callable[[], Any]) -> Any:
        """What `work` returns; raises KeyboardInterrupt or `Terminated` where a signal ended it, in an event loop too."""
        try:
            return work()
        except BaseException as error:
            asyncio = sys.modules.get("asyncio")
            if self.number is None or asyncio is None or not isinstance(error, asyncio.CancelledError):
                raise
            raise self._raised() from error

    def __call__(self, number: int, frame: Any) -> None:
        """The first time what is under way is left, or ended where it must not be broken off; the second time the process is, at once."""
        if self.number is not None and not self._lost:
            os._exit(128 + number)
        self._lost = False
        self.number = self.number or number
        if "logging" in sys.modules:
            sys.modules["logging"].disable()  # libraries log what they were interrupted in, with tracebacks
        put_off = getattr(sys.modules.get("reconciler.unbroken"), "put_off", None)  # only who holds a lease has imported it
        if put_off is None or not put_off(self._leave):
            self._leave()

    def _leave(self) -> None:
        if not _cancelled():
            raise self._raised()

    def _raised(self) -> BaseException:
        return KeyboardInterrupt() if self.number == signal.SIGINT else Terminated(exits.TERMINATED)

    def unraisable(self, found: sys.UnraisableHookArgs) -> None:
        """What was raised amid the collection of garbage went nowhere: it is raised again."""
        if self.number is None or not isinstance(found.exc_value, KeyboardInterrupt | Terminated):
            sys.__unraisablehook__(found)
            return
        self._lost = True
        threading.Timer(AGAIN, os.kill, (os.getpid(), self.number)).start()


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
def ending() -> Iterator[Ending]:
    """In this block both signals are heard, but for one that whoever started the program had it ignore."""
    heard = Ending()
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    hook = sys.unraisablehook
    sys.unraisablehook = heard.unraisable
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, heard)
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook
        if heard.number is not None and "logging" in sys.modules:
            sys.modules["logging"].disable(0)


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
