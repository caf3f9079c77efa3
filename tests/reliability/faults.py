"""Every fault of the sandbox on every verb: an apply goes wrong once or twice, then the service is calm, and all comes right.

Never something twice, never somebody else's thing taken for ours, never a wait without end.
"""

from __future__ import annotations

import json
import random
import signal
import time as real
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from reconciler.errors import ReconcilerError
from reconciler.sandbox.faults import book
from reconciler.sandbox.faults.rules import parse
from tests.reliability.clock import Hang
from tests.reliability.databases import Database
from tests.reliability.result import Result, Violation
from tests.reliability.scenarios import FOREIGN, of
from tests.reliability.seen import difference, plain, shortened
from tests.reliability.world import SETTLE, TIMEOUT, Image, World, folder

VERBS = ("GET", "POST", "PUT", "PATCH", "DELETE")
RATES = (0.01, 0.05, 0.2)
CALM = 3  # runs in peace in which it must come right
REAL = 120  # seconds of a real clock that one run may take
WRITES = ("late", "delete-205", "checkout", "conflicts", "position-ignored")
READS = ("list-lag", "unstable-pages")


def faults(chance: random.Random) -> dict[str, dict[str, Any]]:
    """One of each fault, by name; what can vary does."""
    late = chance.uniform(0.0, TIMEOUT + SETTLE - 10.0)
    return {
        "latency": {"fault": "latency", "seconds": chance.uniform(0.1, 25.0)},
        "latency beyond the deadline": {"fault": "latency", "seconds": chance.uniform(31.0, 70.0)},
        "rate-limit": {
            "fault": "rate-limit", "limit": chance.randint(5, 40), "window": chance.choice([5.0, 20.0]),
            "kind": chance.choice(["window", "bucket"]), "retryAfter": chance.random() < 0.5,
        },
        "error before": {"fault": "error", "status": chance.choice([500, 502, 503, 504]), "when": "before"},
        "error after": {"fault": "error", "status": chance.choice([500, 502, 503, 504]), "when": "after"},
        "cut, not done": {"fault": "cut", "when": "before", "effect": False},
        "cut before the answer": {"fault": "cut", "when": "before"},
        "cut during the answer": {"fault": "cut", "when": "during"},
        "cut after the answer": {"fault": "cut", "when": "after"},
        "truncated": {"fault": "truncated"},
        "not-json": {"fault": "not-json"},
        "late": {"fault": "late", "seconds": late, "status": chance.choice([None, 503, 504])},
        "list-lag": {"fault": "list-lag", "seconds": chance.uniform(1.0, 40.0)},
        "unstable-pages": {"fault": "unstable-pages", "how": chance.choice(["repeat", "omit"])},
        "delete-205": {"fault": "delete-205"},
        "forbidden": {"fault": "forbidden"},
        "checkout": {"fault": "checkout"},
        "conflicts": {"fault": "conflicts"},
        "position-ignored": {"fault": "position-ignored"},
    }  # fmt: skip


def cases() -> list[tuple[str, str, float]]:
    """Fault, verb and rate, where the fault can happen on the verb."""
    found = []
    for fault in faults(random.Random(0)):
        for verb in VERBS:
            if (fault in WRITES and verb == "GET") or (fault in READS and verb != "GET"):
                continue
            if (fault in ("checkout", "conflicts") and verb != "POST") or (fault == "delete-205" and verb != "DELETE"):
                continue
            found += [(fault, verb, rate) for rate in RATES]
    return found


def run(name: str, database: Database, *, seed: int = 0, runs: int | None = None, only: str | None = None) -> Result:
    """Every case of fault, verb and rate once with this seed, or `runs` of them by chance."""
    began = real.perf_counter()
    label = f"faults:{name}:{seed}@{database.sort}"
    result = Result("faults", database.name, label)
    world, start, expected = ready(name, database)
    chosen = cases()
    if runs is not None and runs < len(chosen):
        chosen = random.Random(label).sample(chosen, runs)
    for fault, verb, rate in chosen:
        case = f"{fault} {verb} {rate}"
        if only is not None and case != only:
            continue
        world.put(start)
        with _real_limit():
            wrong = one(world, random.Random(f"{label} {case}"), fault, verb, rate, expected, result)
        result.runs += 1
        result.violations += [Violation(label, case, wrong)] if wrong else []
    world.close()
    result.seconds = real.perf_counter() - began
    return result


def ready(name: str, database: Database) -> tuple[World, Image, Counter[str]]:
    scenario = of(name)
    world = World(folder("faults"), seed=scenario.seed, database=database, foreign=FOREIGN)
    if scenario.before is not None:
        scenario.before(world)
        world.apply()
    else:
        world.store().close()
    scenario.after(world)
    start = world.take()
    world.apply()
    assert world.plan().empty
    return world, start, world.seen()


def one(world: World, chance: random.Random, fault: str, verb: str, rate: float, expected: Counter[str], result: Result) -> str | None:
    """What went wrong, or None."""
    world.chance = chance
    rule = {**faults(chance)[fault], "operation": f"{verb} *", "rate": rate, "seed": chance.randrange(2**31)}
    if fault == "rate-limit":
        rule["rate"] = 1.0
    store = world.service
    book.set_rules(store, [parse(json.dumps({key: value for key, value in rule.items() if value is not None}))])
    try:
        for _ in range(chance.choice((1, 1, 2))):
            try:
                world.apply()
            except ReconcilerError as error:
                result.counted[f"ended with {type(error).__name__}"] += 1
        injected = sum(entry.injected for entry in book.read(store))
        result.counted["requests went wrong"] += injected
        result.counted["runs in which one did"] += injected > 0
        book.set_rules(store, [])
        if not injected:  # as in peace
            odd = difference(expected, world.seen())
            return f"nothing was wrong, and yet: {shortened(odd)}" if odd else None
        outcome, refusal = None, ""
        for number in range(1, CALM + 1):
            try:
                outcome, refusal = world.apply(), ""
            except ReconcilerError as error:
                outcome, refusal = None, plain(error)
                continue
            if number == CALM or world.plan().empty:
                result.counted[f"calm after {number}"] += 1
                break
        world.later()
        wrong = world.unlike(expected, outcome, ranked=fault != "position-ignored")
        return f"{wrong} | {refusal}" if wrong and refusal else wrong
    except (Hang, Exception) as error:
        return plain(error)


@contextmanager
def _real_limit() -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang(f"more than {REAL} real seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(REAL)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
