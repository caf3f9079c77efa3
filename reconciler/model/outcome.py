"""What an apply did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from reconciler.address import Address
from reconciler.model.plan import Plan, Step


class StepStatus(StrEnum):
    """How a step ended; `stale`: it was not sent, because somebody changed its object meanwhile."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    STALE = "stale"
    IN_DOUBT = "in-doubt"


@dataclass(frozen=True)
class StepResult:
    """One step's end; `error` is a sentence, None where it is done. `id`: of the cause, where that is not the status alone."""

    step: Step
    status: StepStatus
    error: str | None = None
    id: str | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Edited:
    """What somebody else changed during the run: one field of one object (shown form), or the whole of it (`field` None).

    `before`: what was seen after this run's write, or for the plan where the run wrote nothing; `after`: the value at the end. `says`: what
    happened to the whole object, "" for a field. `sensitive` values are never shown.
    """

    address: Address
    field: str | None
    before: Any = None
    after: Any = None
    says: str = ""
    sensitive: bool = False


@dataclass(frozen=True)
class Withheld:
    """What a saved plan did not bring about. `refused`: addresses it shows, with the reason; `new`: addresses it does not show.

    `origin`: who created the file, from which commit, as it says. `same`: whether it was created from the same evaluated configuration.
    """

    refused: Mapping[str, str]
    new: tuple[str, ...] = ()
    origin: Mapping[str, Any] | None = None
    same: bool | None = None


@dataclass(frozen=True)
class Outcome:
    """What an apply did: results in the order of the steps' ids, and what the reading afterwards found.

    `leftover`: what is still not as declared although nobody else is known to have changed it. `edited`: the drift of this run.
    `unverified`: what was written and could not be read again. `not_visible`: what was written and is still shown in its previous state.
    `withheld`: None where no saved plan was applied. `onward`: a sentence about what to do next, where that does not follow from the rest.
    """

    run: str
    plan: Plan
    results: tuple[StepResult, ...] = ()
    requests: int = 0
    leftover: tuple[Address, ...] = ()
    notes: tuple[str, ...] = ()
    stopped: str | None = None
    edited: tuple[Edited, ...] = ()
    unverified: tuple[Address, ...] = ()
    not_visible: tuple[Address, ...] = ()
    onward: str | None = None
    withheld: Withheld | None = None

    @property
    def went_through(self) -> bool:
        """Whether every step was done and nothing stopped the run."""
        return self.stopped is None and all(result.status is StepStatus.DONE for result in self.results)

    def count(self, status: StepStatus) -> int:
        return sum(1 for result in self.results if result.status is status)
