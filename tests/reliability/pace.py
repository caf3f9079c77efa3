"""The pace: a service that allows so many requests is used as far as it allows, and hardly refuses any.

Where the limit is told: in each run at most 2 % are answered with 429, and at least 95 % of what is allowed is used (where there is work
without a pause). Where it is not: at most 5 % after the first wave in each run, and at most 5 % of everything in all runs of a seed.
"""

from __future__ import annotations

import math
import random
import time as real

from tests.reliability.clock import Hang
from tests.reliability.databases import Database
from tests.reliability.pacing import Case, Driven, drive
from tests.reliability.result import Result, Violation
from tests.reliability.seen import plain

KINDS = ("fixed", "sliding", "bucket", "filling")
PERIODS = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
LIMITS = (10, 100)  # in a window; a blind client is granted at least one a second
LATENCIES = (0.02, 0.05, 0.2)
LONGEST = 0.1  # of a window that an answer takes
AT_ONCE = (4, 8, 16, 32)
WINDOWS, REQUESTS = 24, 1000  # a run lasts at least so many windows, and as long as so many requests take
TOLD, BLIND, USED = 0.02, 0.05, 0.95


def case(chance: random.Random, *, told: bool) -> Case:
    """A service by chance; so many requests may be under way that twice its pace could be sent."""
    period = chance.choice(PERIODS)
    low, high = (math.log(limit if told else max(limit, period)) for limit in LIMITS)
    limit, latency = round(math.exp(chance.uniform(low, high))), chance.choice([one for one in LATENCIES if one <= LONGEST * period])
    able = [number for number in AT_ONCE if number / latency >= 2 * limit / period] or [math.ceil(2 * latency * limit / period)]
    return Case(
        kind=chance.choice(KINDS),
        limit=limit,
        period=period,
        headers=told,
        retry_after=chance.random() < 0.5,
        concurrency=chance.choice(able),
        bursts=chance.choice((0.0, 0.0, 0.0, period / 2)),
        latency=latency,
        seconds=math.ceil(max(WINDOWS, REQUESTS / limit)) * period,
        began=chance.uniform(0.0, period),
    )


def run(name: str, database: Database, *, seed: int = 0, runs: int = 25, only: str | None = None) -> Result:
    """`name`: `told`, with rate headers, or `blind`, without; nothing is stored, so the database is not used."""
    began = real.perf_counter()
    label = f"pace:{name}:{seed}@{database.sort}"
    result = Result("pace", name, label)
    for number in range(runs):
        if only not in (None, str(number)):
            continue
        one = case(random.Random(f"pace:{name}:{seed}:{number}"), told=name == "told")
        try:
            driven = drive(one, f"pace:{name}:{seed}:{number}")
        except Hang as error:
            result.violations.append(Violation(label, str(number), plain(error)))
            continue
        result.runs += 1
        result.counted["requests"] += driven.requests
        result.counted["429s"] += driven.refused
        result.counted["of them in first waves"] += min(driven.refused, one.concurrency) if name == "blind" else 0
        if not one.bursts:
            result.counted[f"runs at {math.floor(min(driven.pace, 1.0) * 20) * 5} % of the pace or more"] += 1
        result.violations += [Violation(label, str(number), wrong) for wrong in judged(driven)]
    share = result.counted["429s"] / max(1, result.counted["requests"])
    if name == "blind" and only is None and share > BLIND:
        result.violations.append(Violation(label, "all", f"{share:.2%} of all were answered with 429"))
    result.seconds = real.perf_counter() - began
    return result


def judged(driven: Driven) -> list[str]:
    """What is wrong."""
    one, found = driven.case, []
    share, most = (driven.share, TOLD) if one.headers else (driven.later, BLIND)
    if share > most:
        found.append(f"{share:.2%} of {driven.requests} were answered with 429: {one}")
    if one.headers and not one.bursts and driven.pace < USED:
        found.append(f"{driven.pace:.1%} of the pace that is allowed: {one}")
    if driven.failed:
        found.append(f"{driven.failed} came to no end: {one}")
    return found
