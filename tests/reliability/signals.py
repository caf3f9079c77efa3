"""SIGINT and SIGTERM at a random moment: it leaves within seconds, frees the lock, and the next run ends what it began."""

from __future__ import annotations

import random
import signal
import time

from tests.reliability.databases import Database
from tests.reliability.process import APPLY, NEVER, live
from tests.reliability.result import Result, Violation
from tests.reliability.scenarios import of
from tests.reliability.sigkill import calm, judged

LEAVES = 6.0  # seconds after the signal
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


def run(name: str, database: Database, *, seed: int = 0, runs: int = 10, only: str | None = None) -> Result:
    """Signal it `runs` times; a tenth gets a second one soon after."""
    label = f"signals:{name}:{seed}@{database.sort}"
    result = Result("signals", database.name, label)
    began = time.perf_counter()
    with live(of(name), database) as world:
        seconds, expected = calm(world)
        for number in range(runs) if only is None else [int(only)]:
            chance = random.Random(f"{label}:{number}")
            world.reset()
            result.runs += 1
            which = chance.choice((signal.SIGINT, signal.SIGTERM))
            running = world.start(*APPLY)
            time.sleep(chance.uniform(0.05, 1.05 * seconds))
            running.send(which)
            if twice := chance.random() < 0.1:
                time.sleep(chance.uniform(0.0, 0.05))
                running.send(which)
            ended = running.wait(LEAVES)
            result.counted[f"exit code {ended.code}"] += 1
            wrong = None
            if ended.code == NEVER:
                wrong = f"{which.name}: it had not left after {LEAVES:g} s"
            elif ended.code == -which and not ended.out and not ended.err:
                result.counted["ended before it began"] += 1  # no handler yet: Python itself was starting, as it may on a busy machine
            elif ended.err.startswith("Exception ignored in") and ended.code in (CODES[which], 0):
                result.counted["lost before it began"] += 1  # the same, amid the collection of what the forked process had imported
            elif ended.code not in (CODES[which], 0) and not (twice and ended.code < 0):
                wrong = f"{which.name}: it left with {ended.code}: {ended.out[-400:]}{ended.err[-800:]}"
            elif "Traceback" in ended.err:
                wrong = f"{which.name}: {ended.err[-1500:]}"
            elif not twice and world.database.held():
                wrong = f"{which.name}: the lock was not freed"
            if wrong is None:
                world.later()
                wrong = judged(world, expected)
            result.violations += [Violation(label, str(number), wrong)] if wrong else []
    result.seconds = time.perf_counter() - began
    return result
