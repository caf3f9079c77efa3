"""The facts about a project after a run, and how the run ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from reconciler.dataclass import dataclass
from reconciler.fleet import status
from reconciler.fleet.health import HealthReading
from reconciler.fleet.store.approvals import StoredPlan


@dataclass
class RunResult:
    """The result of a run for its project. `waits`: why changes are not applied, None if none wait. `began`: applying began, so something
    may have been sent; `applied`: all of it was; `stopped`: it was stopped in the middle; `approvers`: the people whose approvals
    counted when it began, by class of change."""

    commit: str | None = None
    reading: status.Reading | None = None
    health: HealthReading | None = None
    plan: StoredPlan | None = None
    waits: str | None = None
    began: bool = False
    applied: bool = False
    stopped: bool = False
    approvers: Mapping[str, list[str]] = field(default_factory=dict)
    code: int = 0
    late: bool = False
    requests: int = 0
    error: str | None = None

    @property
    def ended(self) -> str:
        """How the run ended, as stored in its row."""
        return "late" if self.late else "failed" if self.error is not None else "done"
