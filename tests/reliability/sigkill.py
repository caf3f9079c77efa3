"""The command, killed for real at a random moment, over HTTP against a service in another process; then once more."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter

from tests.reliability.databases import Database
from tests.reliability.process import APPLY, NEVER, Ended, Live, live
from tests.reliability.result import Result, Violation
from tests.reliability.scenarios import of
from tests.reliability.seen import difference, shortened


def run(name: str, database: Database, *, seed: int = 0, runs: int = 10, twice: float = 0.2, only: str | None = None) -> Result:
    """Kill it `runs` times, each at another moment; a part `twice` is killed again while it recovers."""
    label = f"sigkill:{name}:{seed}@{database.sort}"
    result = Result("sigkill", database.name, label)
    began = time.perf_counter()
    with live(of(name), database) as world:
        seconds, expected = calm(world)
        for number in range(runs) if only is None else [int(only)]:
            chance = random.Random(f"{label}:{number}")
            world.reset()
            result.runs += 1
            for _ in range(2 if chance.random() < twice else 1):
                running = world.start(*APPLY)
                time.sleep(chance.uniform(0.0, 1.05 * seconds))
                running.send(signal.SIGKILL)
                code = running.wait().code
                result.counted["killed" if code == -signal.SIGKILL else "done before it was killed"] += 1
                world.later()
            wrong = judged(world, expected)
            result.violations += [Violation(label, str(number), wrong)] if wrong else []
    result.seconds = time.perf_counter() - began
    return result


def calm(world: Live) -> tuple[float, Counter[str]]:
    """How long the command takes in peace, in seconds, and what it comes to."""
    world.reset()
    began = time.monotonic()
    ended = world.apply()
    seconds = time.monotonic() - began
    assert ended.code == 0, ended.out + ended.err
    assert world.plan().code == 0
    return seconds, world.seen()


def judged(world: Live, expected: Counter[str]) -> str | None:
    """One more run; then all is as in peace. What is wrong, or None."""
    again = world.apply()
    wrong = [f"the next run ended with {_code(again)}: {again.out[-600:]}{again.err[-900:]}"] if again.code != 0 else []
    world.later()
    left = world.plan()
    if left.code != 0:
        wrong.append(f"the plan after it is not empty ({_code(left)}): {left.out[-600:]}{left.err[-600:]}")
    found = difference(expected, world.seen())
    if found:
        wrong.append(shortened(found))
    return " | ".join(wrong) or None


def _code(ended: Ended) -> str:
    return "no end" if ended.code == NEVER else f"exit code {ended.code}"
