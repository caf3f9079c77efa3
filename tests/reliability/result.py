"""What a job comes to: numbers, and what must not have happened with the case that shows it again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Violation:
    """Something that must never happen. `case`: which run of that seed."""

    seed: str
    case: str
    what: str


@dataclass
class Result:
    """One job of an experiment on one database, or several together. `seed`: repeats it; `counted`: what happened how often."""

    experiment: str
    database: str
    seed: str
    runs: int = 0
    seconds: float = 0.0
    counted: Counter[str] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)

    def add(self, other: Result) -> None:
        self.runs += other.runs
        self.seconds += other.seconds
        self.counted.update(other.counted)
        self.violations += other.violations
