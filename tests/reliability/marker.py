"""`createStrategy: marker`: creates that take effect later than any settle time; one more run, and nothing is there twice."""

from __future__ import annotations

import json
import random
import re
import time as real
from collections import Counter
from itertools import product

from reconciler.errors import ReconcilerError
from reconciler.kinds import load as kinds
from reconciler.sandbox.faults import book, late
from reconciler.sandbox.faults.rules import parse
from tests.reliability.clock import Hang
from tests.reliability.databases import Database
from tests.reliability.faults import ready
from tests.reliability.result import Result, Violation
from tests.reliability.seen import plain
from tests.reliability.world import SETTLE, TIMEOUT, Image, World

LATE = (TIMEOUT + SETTLE + 1.0, 3000.0)  # seconds after the request
RATES = (0.3, 0.6, 1.0)
MARKED = sorted(name for name, kind in kinds().items() if "create" in kind.api and kind.api["create"].marker)


def operation(name: str) -> str:
    """The creates of a kind, as a rule of the sandbox names them."""
    create = kinds()[name].api["create"]
    return f"{create.method} /v1{re.sub('{[a-z]+}', '*', create.path)}"


def run(name: str, database: Database, *, seed: int = 0, runs: int = 60, only: str | None = None) -> Result:
    """Creates of one kind that can be marked, or of all, lost at a rate: as many cases as `runs` says in which one was."""
    began = real.perf_counter()
    label = f"marker:{name}:{seed}@{database.sort}"
    result = Result("marker", database.name, label)
    world, start, expected = ready(name, database)
    for case in [f"{kind} {rate} {number}" for number, kind, rate in product(range(runs), [*MARKED, "all"], RATES)]:
        if case == only or (only is None and result.runs < runs):
            wrong = one(world, start, random.Random(f"{label} {case}"), case, expected, result)
            result.violations += [Violation(label, case, wrong)] if wrong else []
    world.close()
    result.seconds = real.perf_counter() - began
    return result


def one(world: World, start: Image, chance: random.Random, case: str, expected: Counter[str], result: Result) -> str | None:
    """What went wrong, or None."""
    kind, rate, _ = case.split()
    world.put(start)
    world.chance, world.nonce = chance, lambda: f"{chance.getrandbits(32):08x}"
    book.set_rules(
        world.service,
        [
            parse(json.dumps({"fault": "late", "operation": operation(name), "rate": float(rate), "seed": chance.randrange(2**31), **how}))
            for name in (MARKED if kind == "all" else [kind])
            for how in [{"seconds": chance.uniform(*LATE), **chance.choice(({}, {"status": 503}, {"status": 504}))}]
        ],
    )
    try:
        for _ in range(chance.choice((1, 1, 2))):
            _apply(world, result)
        lost = sum(entry.injected for entry in book.read(world.service))
        if not lost:
            return None
        result.runs += 1
        result.counted["creates that came late, beyond settle"] += lost
        book.set_rules(world.service, [])
        if chance.random() < 0.7:  # the next run may come before the late ones, after them, or between them
            world.time.pass_(chance.uniform(0.0, LATE[1]))
            _apply(world, result)
        result.counted["of them after the next run"] += len(late.waiting(world.service))
        world.later()
        result.counted["there twice until the last run"] += sum((world.seen() - expected).values()) > 0
        return world.unlike(expected, world.apply())
    except (Hang, Exception) as error:
        return plain(error)


def _apply(world: World, result: Result) -> None:
    try:
        world.apply()
    except ReconcilerError as error:
        result.counted[f"ended with {type(error).__name__}"] += 1
