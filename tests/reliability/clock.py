"""Virtual time: an event loop that jumps to its next timer instead of waiting, and the clocks that follow it.

Nothing that happens inside the loop waits for anything outside it, so a wait that has no end is seen at once. For a process that really
stands still: clocks that have gone on when it does.
"""

from __future__ import annotations

import asyncio
import random
import selectors
import signal
import sys
import time as machine
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeVar

START = datetime(2026, 1, 1, tzinfo=UTC)
LIMIT = 24 * 3600.0  # virtual seconds that one run may take
DISK = 0.02  # seconds that a thread takes, at most

T = TypeVar("T")


class Hang(BaseException):
    """A run waits for something that never comes, or for too long."""


class Time:
    """One clock for the service, the client and the program; seconds since `START`."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.until = LIMIT

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def pass_(self, seconds: float) -> None:
        self.seconds += seconds
        if self.seconds > self.until:
            raise Hang(f"more than {LIMIT:g} virtual seconds")

    # -- as the client asks for it -----------------------------------------------------------------------------------------------

    def monotonic(self) -> float:
        return self.seconds

    def wall(self) -> float:
        return self.now().timestamp()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run to the end in virtual time."""
        self.until = self.seconds + LIMIT
        with asyncio.Runner(loop_factory=lambda: _Loop(self)) as runner:
            return runner.run(work)


class _Selector(selectors.DefaultSelector):  # type: ignore[valid-type, misc]
    def __init__(self, time: Time) -> None:
        super().__init__()
        self._time = time

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise Hang("everything waits, and nothing will happen")
            if timeout > 0:
                self._time.pass_(timeout)
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, time: Time) -> None:
        super().__init__(_Selector(time))
        self._time = time
        self._disk = random.Random(0)

    def time(self) -> float:
        return self._time.seconds

    def run_in_executor(self, executor: Any, function: Callable[..., T], *given: Any) -> asyncio.Future[T]:  # type: ignore[override]
        """A thread that writes to a disk: what it does takes effect a moment later, while the loop goes on."""
        ended = self.create_future()

        def work() -> None:
            try:
                result = function(*given)
            except BaseException as error:
                ended.set_exception(error)
            else:
                ended.set_result(result)

        self.call_later(self._disk.uniform(0.0, DISK), work)
        return ended


class Continued:
    """The machine's clocks in a process of its own, made once; each SIGCONT makes it `seconds` later."""

    def __init__(self, seconds: float) -> None:
        self._later = 0.0
        self._seconds = seconds
        wall, monotonic = machine.time, machine.monotonic
        machine.time, machine.monotonic = lambda: wall() + self._later, lambda: monotonic() + self._later
        signal.signal(signal.SIGCONT, self._continued)

    def _continued(self, number: int, frame: Any) -> None:
        self._later += self._seconds

    def now(self) -> datetime:
        return datetime.fromtimestamp(machine.time(), UTC)


class Now(Protocol):
    def now(self) -> datetime: ...


@contextmanager
def everywhere(time: Now) -> Iterator[None]:
    """Let `datetime.now` of every module of the program follow another clock during this block."""

    class Kind(type(datetime)):  # type: ignore[misc]
        def __instancecheck__(cls, one: object) -> bool:
            return isinstance(one, datetime)

    class Virtual(datetime, metaclass=Kind):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return time.now().astimezone(tz)

    changed = [
        module
        for name, module in sys.modules.items()
        if name.startswith("reconciler.") and not name.startswith("reconciler.sandbox") and getattr(module, "datetime", None) is datetime
    ]
    for module in changed:
        module.datetime = Virtual  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for module in changed:
            module.datetime = datetime  # type: ignore[attr-defined]
