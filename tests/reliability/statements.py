"""The state's database fails at the nth statement or commit, for every n: nothing is sent without a durable intent, and the next run
ends what this one began.

Four ways to fail: one statement, one commit that was not done, one commit that was done and never confirmed, and all from then on.
"""

from __future__ import annotations

import random
import sqlite3
import time as real
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from reconciler.errors import StateError
from tests.reliability.clock import Hang
from tests.reliability.databases import Database
from tests.reliability.faults import ready
from tests.reliability.result import Result, Violation
from tests.reliability.seen import plain
from tests.reliability.world import World
from tests.state.watched import watched

WAYS = ("a statement", "a commit", "a commit that was done", "all from a statement on")


class Failing:
    """Counts the statements and commits of the program, and lets one fail, or all from one on."""

    def __init__(self) -> None:
        self.way, self.nth = "", -1
        self.counted: Counter[str] = Counter()
        self.failed = 0

    def begin(self, way: str, nth: int) -> None:
        self.way, self.nth, self.failed = way, nth, 0
        self.counted.clear()

    def statement(self) -> None:
        self.counted["statement"] += 1
        number = self.counted["statement"]
        if (self.way == "a statement" and number == self.nth) or (self.way == "all from a statement on" and number >= self.nth):
            self._fail()

    def commit(self, *, done: bool) -> None:
        if not done:
            self.counted["commit"] += 1
            if self.way == "all from a statement on" and self.failed:
                self._fail()
        if self.counted["commit"] == self.nth and self.way == ("a commit that was done" if done else "a commit"):
            self._fail()

    def _fail(self) -> None:
        self.failed += 1
        cause = sqlite3.OperationalError("disk I/O error")
        cause.sqlite_errorcode = sqlite3.SQLITE_IOERR
        raise cause


@contextmanager
def failing() -> Iterator[Failing]:
    """Every statement and commit of the state passes here during this block."""
    found = Failing()
    with watched(lambda *_: found.statement(), commit=lambda _: found.commit(done=False), committed=lambda _: found.commit(done=True)):
        yield found


def run(name: str, database: Database, *, seed: int = 0, runs: int | None = None, only: str | None = None, first: bool = False) -> Result:
    """Every n in every way, or `runs` of them by chance; `first`: the first violation is enough."""
    began = real.perf_counter()
    label = f"statements:{name}:{seed}@{database.sort}"
    result = Result("statements", database.name, label)
    world, start, expected = ready(name, database)
    with failing() as trouble:
        world.put(start)
        trouble.begin("", -1)
        world.apply()
        counted = dict(trouble.counted)
        chosen = [(way, nth) for way in WAYS for nth in range(1, counted["commit" if "commit" in way else "statement"] + 1)]
        result.counted["statements and commits of a run"] += sum(counted.values())
        if runs is not None and runs < len(chosen):
            chosen = random.Random(label).sample(chosen, runs)
        for way, nth in chosen:
            case = f"{way} {nth}"
            if (only is None or only == case) and not (first and result.violations):
                trouble.begin("", -1)
                world.put(start)
                wrong = one(world, trouble, way, nth, expected, result)
                result.runs += 1
                result.violations += [Violation(label, case, wrong)] if wrong else []
    world.close()
    result.seconds = real.perf_counter() - began
    return result


def one(world: World, trouble: Failing, way: str, nth: int, expected: Counter[str], result: Result) -> str | None:
    """What is wrong, or None."""
    unjournalled: list[str] = []

    def watch(boundary: str) -> None:
        if boundary.startswith("before ") and (method_path := boundary.split()[1:])[0] != "a":
            result.counted["requests looked up in the journal"] += 1
            if not intended(world.database, method_path[0], method_path[1].removeprefix("/v1")):
                unjournalled.append(boundary)

    world.chance = random.Random(0)
    world.watch = watch
    trouble.begin(way, nth)
    try:
        world.apply()
        result.counted["went on to its end"] += 1
    except StateError:
        result.counted["stopped"] += 1
    except (Hang, Exception) as error:
        return f"the run ended with {plain(error)}"
    finally:
        trouble.begin("", -1)
        world.watch = None
    if unjournalled:
        return f"sent without an intent: {unjournalled}"
    try:
        assert world.database is not None
        world.database.expire()
        outcome = world.apply()
        world.later()
        return world.unlike(expected, outcome)
    except (Hang, Exception) as error:
        return f"the next run: {plain(error)}"


def intended(database: Any, method: str, path: str) -> bool:
    """Whether an open intent of exactly this request is durable, as another program sees it."""
    query = (
        "select count(*) from {}journal j join {}open_intents o on o.state = j.state and o.intent = j.id where method = {} and path = {}"
    )
    if database.sort in ("bucket", "s3", "azure"):
        return bool(database.intended(query.format("", "", "?", "?"), (method, path)))
    if database.sort == "sqlite":
        with closing(sqlite3.connect(database.file)) as connection:
            return bool(connection.execute(query.format("", "", "?", "?"), (method, path)).fetchone()[0])
    import psycopg

    with psycopg.connect(database.url) as connection:
        found = connection.execute(query.format("reconciler.", "reconciler.", "%s", "%s"), (method, path)).fetchone()
        return bool(found and found[0])
