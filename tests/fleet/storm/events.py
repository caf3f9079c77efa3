"""What happens in a storm, and when: a schedule that follows from a seed alone."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

WORKERS: Final = 3
PATIENCE: Final = 4  # seconds of silence after which a worker is taken for dead
QUIET: Final = 1.2  # seconds between two events, on average


@dataclass(frozen=True)
class Event:
    """`at`: seconds from the beginning of the storm. `what`: the name of an action; `how`: its arguments."""

    at: float
    what: str
    how: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.at:6.1f} s  {self.what:16} {', '.join(f'{key} {value}' for key, value in self.how.items())}"


def _worker(chance: random.Random) -> dict[str, Any]:
    return {"worker": chance.randrange(WORKERS)}


def _stopped(chance: random.Random) -> dict[str, Any]:
    """Longer than the patience, or shorter."""
    return {"seconds": round(chance.uniform(0.5, 4 * PATIENCE), 1)}


def _failure(chance: random.Random) -> dict[str, Any]:
    """Of any request that writes: without a kill, the run goes on and does not know what happened."""
    words = {"status": chance.choice([500, 503, 504]), "when": chance.choice(["before", "after"]), "times": 4}
    return words | {"method": chance.choice(["POST", "PATCH", "DELETE"])}


ACTIONS: Final[Mapping[str, tuple[int, Any]]] = {  # how often, and with which arguments
    "kill-worker": (5, lambda chance: _worker(chance) | {"seconds": round(chance.uniform(0, 5), 1)}),
    "stop-worker": (5, lambda chance: _worker(chance) | _stopped(chance)),
    "end-worker": (2, lambda chance: _worker(chance) | {"seconds": round(chance.uniform(0, 5), 1)}),
    "kill-up": (2, lambda chance: {"seconds": round(chance.uniform(0, 8), 1)}),
    "kill-run": (4, lambda chance: {"number": chance.randrange(100)}),
    "stop-run": (4, lambda chance: {"number": chance.randrange(100)} | _stopped(chance)),
    "kill-serve": (2, lambda chance: {"seconds": round(chance.uniform(0, 5), 1)}),
    "stop-serve": (1, _stopped),
    "crash-database": (3, lambda chance: {"seconds": round(chance.choice([0, chance.uniform(1, 8)]), 1)}),
    "kill-backend": (1, lambda chance: {"number": chance.randrange(100)}),
    "cut-connections": (2, lambda chance: {}),
    "move-clock": (4, lambda chance: _worker(chance) | {"offset": round(chance.choice([-1, 1]) * 10 ** chance.uniform(0, 4))}),
    "move-time": (2, lambda chance: {"offset": round(chance.choice([-1, 1]) * 10 ** chance.uniform(0, 2.1))}),
    "lose-answers": (4, lambda chance: {"when": chance.choice(["before", "during", "after"]), "times": chance.randint(1, 4)}),
    "fail": (4, lambda chance: _failure(chance)),
    "delay": (2, lambda chance: {"seconds": round(chance.uniform(0.2, 2), 1), "times": 6}),
    "commit": (16, lambda chance: {"number": chance.randrange(1, 4)}),
    "sync": (6, lambda chance: {"number": chance.randrange(1, 6)}),
    "pause": (1, lambda chance: {"number": 1, "seconds": round(chance.uniform(1, 10), 1)}),
}


def schedule(seed: int, seconds: float, only: Collection[str] = ()) -> list[Event]:
    """The events of a storm. `only`: the names of those that happen beside commits and wishes, to find out which of them matters; the
    others happen neither, and the rest happens when it did."""
    chance, events, at = random.Random(seed), [], 0.0
    names = list(ACTIONS)
    weights = [ACTIONS[name][0] for name in names]
    while True:
        at += chance.expovariate(1 / QUIET)
        if at > seconds:
            return events
        (what,) = chance.choices(names, weights)
        how = ACTIONS[what][1](random.Random(chance.random()))
        if not only or what in only or what in ("commit", "sync"):
            events.append(Event(at, what, how))
