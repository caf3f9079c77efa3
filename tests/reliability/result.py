"""What experiments come to: numbers, and what must not have happened with the seed that shows it again."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

FORMAT = "reconciler.reliability/1"


@dataclass(frozen=True)
class Violation:
    """Something that must never happen. `case`: which run of that seed."""

    seed: str
    case: str
    what: str


@dataclass
class Result:
    """One experiment on one database. `counted`: what happened how often; `seeds`: the first and the last."""

    experiment: str
    database: str
    runs: int = 0
    seeds: list[str] = field(default_factory=list)
    seconds: float = 0.0
    counted: Counter[str] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)

    def add(self, other: Result) -> None:
        self.runs += other.runs
        self.seeds += other.seeds
        self.seconds += other.seconds
        self.counted.update(other.counted)
        self.violations += other.violations

    def document(self, length: str) -> dict[str, Any]:
        return {
            "experiment": self.experiment,
            "database": self.database,
            "length": length,
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "runs": self.runs,
            "seeds": self.seeds if len(self.seeds) <= 40 else {"number": len(self.seeds), "first": self.seeds[0], "last": self.seeds[-1]},
            "seconds": round(self.seconds, 1),
            "counted": dict(sorted(self.counted.items())),
            "violations": [one.__dict__ for one in self.violations],
        }


def document(results: Sequence[Result], length: str, old: Sequence[dict[str, Any]], key: Callable[[dict[str, Any]], int]) -> dict[str, Any]:
    """reliability.json. `old`: its experiments so far, of which those that were run again go; `key`: how they stand."""
    new = [one.document(length) for one in results]
    again = {(one["experiment"], one["database"]) for one in new}
    experiments = sorted([*(one for one in old if (one["experiment"], one["database"]) not in again), *new], key=key)
    return {
        "format": FORMAT,
        "python": platform.python_version(),
        "violations": sum(len(one["violations"]) for one in experiments),
        "experiments": experiments,
    }


def table(results: Sequence[Result]) -> str:
    """The same for docs/proof.md."""
    lines = ["| experiment | database | runs | what was counted | violations |", "|---|---|---:|---|---:|"]
    for one in results:
        counted = ", ".join(f"{number:,} {name}" for name, number in sorted(one.counted.items()))
        lines.append(f"| {one.experiment} | {one.database} | {one.runs:,} | {counted} | {len(one.violations)} |")
    return "\n".join(lines) + "\n"
