"""Jobs that write comments at the same time, in a time of their own: who goes on is drawn, every request takes a while, and some fail.

Each job is a thread, of which one runs at a time; it gives way where it waits or sends a request. So a seed is a whole interleaving.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from reconciler.features.forges.comment.part import CommentPart, Dialect
from reconciler.features.forges.comment.upkeep import CommentMode, OurComment
from reconciler.features.forges.keep import UpkeepResult, keep
from reconciler.features.forges.port import Busy, TryAgain

SMALL = Dialect(65_500)


class Killed(BaseException):
    """A runner that is switched off."""


class Schedule:
    """The time of all jobs."""

    def __init__(self, random: Random) -> None:
        self.random, self.now = random, 1_000.0
        self._control = threading.Semaphore(0)
        self._jobs: dict[int, tuple[float, threading.Semaphore]] = {}  # of each that waits: until when
        self._local = threading.local()

    def run(self, jobs: Sequence[Callable[[], Any]]) -> list[Any]:
        """The result of each job, or what it raised."""
        results: list[Any] = [None] * len(jobs)

        def begin(number: int) -> None:
            self._local.number = number
            self._wait(self.random.random() * 3)
            try:
                results[number] = jobs[number]()
            except BaseException as error:
                results[number] = error
            self._control.release()

        for thread in [threading.Thread(target=begin, args=(number,), daemon=True) for number in range(len(jobs))]:
            thread.start()
            self._control.acquire()
        while self._jobs:
            first = min(until for until, _ in self._jobs.values())
            self.now = max(self.now, first)
            ready = sorted(number for number, (until, _) in self._jobs.items() if until <= self.now + 0.01)
            _, semaphore = self._jobs.pop(self.random.choice(ready))
            semaphore.release()
            self._control.acquire()
        return results

    def _wait(self, seconds: float) -> None:
        semaphore = threading.Semaphore(0)
        self._jobs[self._local.number] = (self.now + seconds, semaphore)
        self._control.release()
        semaphore.acquire()

    # the clock of every job

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self._wait(seconds)

    def chance(self) -> float:
        return self.random.random()


@dataclass
class Memory:
    """A forge as a job sees it. `turns`: whether it has something that only one can have. `slow`: seconds that a request takes at most;
    `failing`: how likely it is that one fails, half of them after they had their effect; `deadly`: that its job is killed there."""

    schedule: Schedule
    has_turns: bool = True
    slow: float = 1.0
    failing: float = 0.0
    deadly: float = 0.0
    stale: bool = False
    bodies: dict[int, OurComment] = field(default_factory=dict)
    holder: tuple[int, float] | None = None
    ids: int = 0
    name: str = "Memory"
    dialect: Dialect = SMALL

    @property
    def turns(self) -> Memory | None:
        return self if self.has_turns else None

    def _asked(self, effect: Callable[[], Any], *, reads: bool = False) -> Any:
        random = self.schedule.random
        fate = random.random()
        self.schedule.sleep(random.random() * self.slow)
        if fate < self.deadly:
            raise Killed
        if not reads and fate < self.deadly + self.failing / 2:
            raise TryAgain("503", id="RC-forge-failing")
        result = effect()
        self.schedule.sleep(random.random() * self.slow)
        if fate > 1 - self.deadly:
            raise Killed
        if not reads and fate > 1 - self.deadly - self.failing / 2:
            raise TryAgain("no answer", id="RC-forge-failing")
        return result

    def comments(self) -> Sequence[OurComment]:
        return list(self._asked(lambda: list(self.bodies.values()), reads=True))

    def has_run(self, run: tuple[int, int]) -> bool:
        return run[0] < 1_000_000  # those of the jobs here; a greater number is one that somebody made up

    def create(self, body: str) -> int:
        def effect() -> int:
            self.ids += 1
            self.bodies[self.ids] = OurComment(self.ids, body)
            return self.ids

        return int(self._asked(effect))

    def update(self, id: int, body: str) -> None:
        self._asked(lambda: self.bodies.update({id: replace(self.bodies[id], body=body)} if id in self.bodies else {}))

    def delete(self, id: int) -> None:
        self._asked(lambda: self.bodies.pop(id, None))

    def hide(self, id: int, hidden: bool) -> None:
        self._asked(lambda: self.bodies.update({id: replace(self.bodies[id], hidden=hidden)} if id in self.bodies else {}))

    def take(self) -> int | Busy | None:
        def effect() -> int | Busy:
            if self.holder is not None:
                return Busy(self.holder[0], self.schedule.now - self.holder[1])
            self.ids += 1
            self.holder = (self.ids, self.schedule.now)
            return self.ids

        return self._asked(effect)

    def free(self, id: int) -> None:
        def effect() -> None:
            if self.holder is not None and self.holder[0] == id:
                self.holder = None

        self._asked(effect)


def together(memory: Memory, jobs: Sequence[Sequence[CommentPart]], *, separate: bool = False) -> list[UpkeepResult | BaseException]:
    """Every job writes its parts, all of them at once."""
    mode = CommentMode(memory.dialect, separate, memory.hide is not None)
    return memory.schedule.run([lambda parts=parts: keep(memory, parts, mode, memory.schedule) for parts in jobs])  # type: ignore[misc]
