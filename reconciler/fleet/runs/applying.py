"""An apply of a run as the database sees it: whether it may begin, the record that it did, and whether it may go on.

    a plan, what of it reverts drift -> why it is held, or: lines of the audit log, decisions that are used up

What people decide meanwhile comes before or after, never in between: both lock the project.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import Connection

from reconciler.fleet import drift
from reconciler.fleet.approvals import Continuation
from reconciler.fleet.continuation import BegunApply
from reconciler.fleet.drift_groups import FleetDriftGroup, differences
from reconciler.fleet.facts import decided_drift
from reconciler.fleet.runs import end, holds
from reconciler.fleet.runs.end import RunResult
from reconciler.fleet.store import approvals as kept, audit, projects, runs
from reconciler.fleet.store.approvals import StoredPlan

TAKEN_OVER: Final = "another worker took over"
DECIDED_OTHERWISE: Final = "somebody decided otherwise on what was changed outside Reconciler"


@dataclass
class RunApply:
    """An apply of the plan in `result`. `saved`: the digest of the saved plan; `parts`: digests of what it sends, by address; `drift`:
    what was changed outside Reconciler; `reverts`: the addresses of it whose changes the plan takes back."""

    run: runs.BegunRun
    result: RunResult
    saved: str
    parts: Mapping[str, str]
    drift: tuple[FleetDriftGroup, ...]
    reverts: frozenset[str]
    plan: StoredPlan

    def begin(self, connection: Connection) -> str | None:
        """Store that applying begins, and use up the approvals: the first request is recorded after that, so whatever dies in between, they
        are not used twice. Returns why it may not begin; None if it may."""
        plan, run, name = self.plan, self.run.id, self.run.project.name
        if not holds.is_running(connection, run, lock=True):  # else the line would have no end
            return TAKEN_OVER
        projects.hold(connection, self.run.project_id)
        if (reason := self._held(connection)) is not None:
            return reason
        continues = plan.continues or Continuation(plan.digest or "", ())
        reverts = {address: digest for address, _, digest in differences(self.drift) if address in self.result.reverted}
        begun = BegunApply(continues.digest, plan.commit, self.saved, self.parts, reverts, (*continues.runs, run))
        self.result.approvers = holds.approvers(connection, name, plan)
        kept.begin(connection, self.run.project_id, plan, begun)
        audit.write(connection, end.line(self.run, "begin-apply", self.result))
        self.plan = replace(plan, continues=begun.as_continuation)  # what this run used up counts until it ends
        return None

    def stop_reason(self, connection: Connection) -> str | None:
        """Why an apply in progress must stop; None if it may continue."""
        return self._held(connection) if holds.is_running(connection, self.run.id) else TAKEN_OVER

    def _held(self, connection: Connection) -> str | None:
        return holds.hold_reason(connection, self.run.project.name, self.plan) or self._decided_otherwise(connection)

    def _decided_otherwise(self, connection: Connection) -> str | None:
        """Whether the last decisions on drift are still those that the plan was made with."""
        if not self.reverts:
            return None
        row = projects.read(connection, [self.run.project.name])[0]
        decided = decided_drift(connection, row, self.drift, continues=self.plan.continues)
        same = self.reverts.isdisjoint(drift.ignores(decided)) and self.result.reverted.keys() <= drift.reverts(decided)
        return None if same else DECIDED_OTHERWISE
