"""The rows of the table: each measures one command, and says what it is compared with and what the goal is."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from benchmarks.measure import Cost, run
from benchmarks.prepare import Prepared

LATENCY = 50.0  # milliseconds


@dataclass(frozen=True)
class Row:
    """A row. `met`: whether the goal is reached, None where that was not measured. `bars`: seconds by what took them, for the chart."""

    work: str
    measured: str
    beside: str
    goal: str
    met: bool | None
    bars: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Extent:
    """How much is measured. `times`: runs, of which the best counts; `creates`: the size of the first apply; `sizes`: of the growth."""

    size: int
    times: int
    creates: int
    sizes: tuple[int, ...]
    terraform: int


QUICK = Extent(10_000, 1, 500, (2_500, 10_000), 0)
FULL = Extent(10_000, 3, 10_000, (2_500, 10_000), 1_000)
LARGE = Extent(10_000, 3, 10_000, (2_500, 10_000, 100_000), 1_000)


@dataclass(frozen=True)
class BenchmarkRun:
    """A command that was measured, with the requests that the service counted."""

    cost: Cost
    requests: dict[str, int]
    targets: tuple[str, ...] = ()

    @property
    def gets(self) -> int:
        return self.requests.get("GET", 0)

    @property
    def writes(self) -> int:
        return sum(self.requests.values()) - self.gets


def measure(case: Prepared, command: str, *more: str) -> BenchmarkRun:
    """BenchmarkRun a command once. Ends the program where it failed."""
    case.service.restart()
    cost = case.reconciler(command, *more)
    note(f"{command} {' '.join(more)}: {cost}")
    if cost.code not in (0, 5):
        sys.exit(f"{command} ended with {cost.code}: {cost.said}")
    return BenchmarkRun(cost, case.service.count(), tuple(case.service.seen()))


def best(runs: Iterable[BenchmarkRun]) -> BenchmarkRun:
    """The quickest: whatever else the machine does makes runs slower and never quicker."""
    return min(runs, key=lambda made: made.cost.wall)


class Floor(NamedTuple):
    """The seconds that the same GETs take with the client's transport library alone. `program`: with the start of the process."""

    gets: float
    program: float


def bare(case: Prepared, targets: Iterable[str], connections: int = 64) -> Floor:
    """The floor of a run that sent these GETs."""
    file, log = case.folder / "targets.json", case.folder / "bare.json"
    file.write_text(json.dumps(list(targets)), encoding="utf-8")
    cost = run([sys.executable, "-m", "benchmarks.bare", case.service.url, str(file), str(connections)], log=log)
    return Floor(float(json.loads(cost.said)["wall"]), cost.wall)


def exponent(first: tuple[int, float], last: tuple[int, float]) -> float:
    """How something grows between two sizes: 1 is in proportion, 2 is quadratic."""
    return math.log(last[1] / first[1]) / math.log(last[0] / first[0])


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def shown(cost: Cost) -> str:
    return f"{cost.wall:.2f} s, {cost.cpu:.2f} s CPU, {cost.memory:.0f} MB"
