"""What an apply did."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from reconciler.address import Address
from reconciler.model.plan import Plan, Step


class Status(StrEnum):
    """How a step ended."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    IN_DOUBT = "in-doubt"


@dataclass(frozen=True)
class Result:
    """One step's end; `error` is a sentence, None where it is done."""

    step: Step
    status: Status
    error: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What an apply did: results in the order of the steps' ids, and what the readings afterwards still found different.

    `onward`: a sentence on what to do next, where that does not follow from the rest.
    """

    run: str
    plan: Plan
    results: tuple[Result, ...] = ()
    requests: int = 0
    leftover: tuple[Address, ...] = ()
    notes: tuple[str, ...] = ()
    stopped: str | None = None
    onward: str | None = None

    def count(self, status: Status) -> int:
        return sum(1 for result in self.results if result.status is status)
