"""Two applies at once, and a holder of the lease that stood still for too long and goes on: only one of them writes.

In one process the second apply runs in a thread of its own while the first one stands at a boundary; seeds from `PROCESSES` on race real
commands over HTTP, where standing still is SIGSTOP.
"""

from __future__ import annotations

import copy
import random
import signal
import threading
import time as real
from collections import Counter
from collections.abc import Iterable
from typing import Any

from reconciler.errors import Locked, StateError
from tests.reliability.clock import Hang
from tests.reliability.databases import Database
from tests.reliability.faults import ready
from tests.reliability.plan import PROCESSES
from tests.reliability.process import APPLY, NEVER, Live, live
from tests.reliability.result import Result, Violation
from tests.reliability.scenarios import of
from tests.reliability.seen import difference, plain, shortened
from tests.reliability.sigkill import calm, judged
from tests.reliability.world import SETTLE, TIMEOUT, World, commits

# Where it may stand still: not inside a transaction, which the server ends, nor between the last look at the clock and the first byte.
STOPS = ("during ", "after ")
LATER = 1000.0  # seconds a holder stands still; its lease is over, and so is whatever it had sent


def run(name: str, database: Database, *, seed: int = 0, runs: int = 20, only: str | None = None, first: bool = False) -> Result:
    """`runs` races; where a lease can run out, the half of them with a holder that stands still. `first`: one violation is enough."""
    began = real.perf_counter()
    label = f"races:{name}:{seed}@{database.sort}"
    result = Result("races", database.name, label)
    numbers = range(runs) if only is None else [int(only)]
    if seed >= PROCESSES:
        _real(name, database, label, numbers, result)
    else:
        _virtual(name, database, label, numbers, result, first)
    result.seconds = real.perf_counter() - began
    return result


# -- in one process ------------------------------------------------------------------------------------------------------------------


def _virtual(name: str, database: Database, label: str, numbers: Iterable[int], result: Result, first: bool) -> None:
    world, start, expected = ready(name, database)
    with commits(world):
        world.put(start)
        passed: list[str] = []
        world.watch = passed.append
        world.chance = random.Random(0)  # as in each race: which boundaries there are depends on when answers come
        world.apply()
        world.watch = None
        for number in numbers:
            if first and result.violations:
                break
            chance = random.Random(f"{label}:{number}")
            world.put(start)
            world.chance = random.Random(0)
            result.runs += 1
            stopped = database.sort != "sqlite" and chance.random() < 0.5
            moments = [index for index, boundary in enumerate(passed) if not stopped or boundary.startswith(STOPS)]
            wrong = Race(world, chance.choice(moments), stopped, chance).run(expected, result)
            result.violations += [Violation(label, str(number), wrong)] if wrong else []
    world.close()


class Race:
    """The second apply begins when the first one passes its nth boundary; `stopped`: that one stands still until its lease is over."""

    def __init__(self, world: World, nth: int, stopped: bool, chance: random.Random) -> None:
        self.world, self.nth, self.stopped, self.chance = world, nth, stopped, chance
        self.passed = -1
        self.came = -1
        self.rival: threading.Thread | None = None
        self.second: Any = None
        self.late = 0
        self.at = ""
        self.free = False  # nobody had the lease when the second came, as a bucket has it

    def __call__(self, boundary: str) -> None:
        if threading.current_thread() is self.rival:
            return
        self.passed += 1
        if self.second is not None and boundary.startswith("during "):
            self.late += 1
        if self.passed < self.nth or self.at or (self.stopped and not boundary.startswith(STOPS)):
            return
        self.at, self.came = boundary, self.passed
        database = self.world.database
        self.free = database is not None and database.sort in ("bucket", "s3", "azure") and not database.held()
        other = copy.copy(self.world)
        other.watch, other.requests, other.under_way = None, [], {}
        self.rival = threading.Thread(target=self._rival, args=(other,))
        self.rival.start()
        self.rival.join()

    def _rival(self, other: World) -> None:
        world = self.world
        try:
            if self.stopped:
                pending = [
                    (request, self.chance.choice(("lost", "done", "late")), self.chance.uniform(0.0, TIMEOUT + SETTLE - 10.0))
                    for request in world.under_way.values()
                ]
                world.taken |= set(world.under_way)
                other.time.run(other.arrive(pending))
                assert world.database is not None
                world.database.expire()
            self.second = other.apply()
            if self.stopped:
                other.time.pass_(LATER)
        except (Hang, Exception) as error:
            self.second = error
        self.writes = sum(method != "GET" for method, _ in other.requests)

    def run(self, expected: Counter[str], result: Result) -> str | None:
        """What is wrong, or None."""
        world, first = self.world, None
        world.watch = self
        try:
            first = world.apply()
        except (Hang, Exception) as error:
            first = error
        world.watch = None
        world.taken.clear()
        where = f"{'stood still' if self.stopped else 'raced'} at {self.nth} {self.at}"
        result.counted["a holder stood still" if self.stopped else "the second came in between"] += 1
        try:
            if self.stopped:
                if isinstance(self.second, Exception):
                    return f"{where}: the second broke: {plain(self.second)}"
                if self.late:
                    return f"{where}: {self.late} late writes by the one whose lease was over; it ended with {plain(first)}"
                if isinstance(first, Exception) and not isinstance(first, StateError):
                    return f"{where}: the first ended with {plain(first)}"
            elif self.free and not isinstance(self.second, Exception):
                if isinstance(first, Exception) and not isinstance(first, Locked):
                    return f"{where}: the first ended with {plain(first)}"
            elif self.came < self.passed:  # after the last boundary the lease is given back
                inside = self.at == "before a commit" and isinstance(
                    self.second, StateError
                )  # the database itself keeps the second one out
                if not (isinstance(self.second, Locked) or inside) or self.writes:
                    return f"{where}: the second was not locked out: {plain(self.second)}"
                if isinstance(first, Exception):
                    return f"{where}: the first ended with {plain(first)}"
            world.later()
            left = world.plan()
            wrong = [*difference(expected, world.seen()), *(f"sent twice: {path}" for path in world.twice)]
        except (Hang, Exception) as error:
            return f"{where}: {plain(error)}"
        if left.empty and not wrong:
            return None
        changes = [f"{change.address}: {' '.join(change.actions)}" for change in left.changes]
        return f"{where}: not empty: {shortened(changes)} | {shortened(wrong)}"


# -- processes -----------------------------------------------------------------------------------------------------------------------


def _real(name: str, database: Database, label: str, numbers: Iterable[int], result: Result) -> None:
    with live(of(name), database) as world:
        seconds, expected = calm(world)
        for number in numbers:
            world.reset()
            result.runs += 1
            wrong = _processes(world, seconds, random.Random(f"{label}:{number}"), database.sort != "sqlite", result)
            world.later()
            wrong = wrong or judged(world, expected)
            result.violations += [Violation(label, str(number), wrong)] if wrong else []


def _processes(world: Live, seconds: float, chance: random.Random, expires: bool, result: Result) -> str | None:
    first = world.start(*APPLY)
    real.sleep(chance.uniform(0.0, seconds))
    if not (expires and chance.random() < 0.5):
        result.counted["two processes at once"] += 1
        second = world.start(*APPLY, name="second").wait()
        ended = first.wait()
        if {ended.code, second.code} <= {0, 6} and 0 in (ended.code, second.code):
            return None
        return f"two at once ended with {ended.code} and {second.code}: {ended.err[-500:]}{second.err[-500:]}"
    result.counted["a process stood still"] += 1
    first.send(signal.SIGSTOP)
    world.later()
    second = world.start(*APPLY, name="second").wait()
    world.later()
    first.send(signal.SIGCONT)
    ended = first.wait()
    if second.code == 1 and "locked by another program" in second.err:
        result.counted["the second was kept out by a transaction"] += 1
    elif second.code != 0:
        return f"the second ended with {second.code}: {second.err[-600:]}"
    if ended.code == NEVER:
        return "the one that stood still never ended"
    return None
