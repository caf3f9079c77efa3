"""Plans of projects with the decisions on them, read from their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from reconciler.dataclass import dataclass
from reconciler.fleet.approvals import ApprovalVerdict, Decision, judged
from reconciler.fleet.model import Approval, ChangeClass, Mode
from reconciler.fleet.store import approvals
from reconciler.fleet.store.projects import ProjectRow


@dataclass(frozen=True)
class Judged:
    """A plan, the rules of its project, and the decisions so far, oldest first."""

    plan: approvals.StoredPlan
    verdict: ApprovalVerdict
    rules: Mapping[ChangeClass, Approval]
    decisions: tuple[Decision, ...]


def of_plan(connection: Connection, row: ProjectRow, plan: approvals.StoredPlan) -> Judged:
    """A plan of a project with its decisions."""
    decisions = approvals.decisions(connection, [(row.id, plan.digest or "")]).get(row.id, [])
    return _judged(row, plan, decisions)


def of_projects(connection: Connection, rows: Sequence[ProjectRow]) -> dict[int, Judged]:
    """The plans of projects that wait for people or were decided on, by the ids of the projects, without their documents."""
    applied = {row.id: row for row in rows if row.project.mode is Mode.APPLY and not row.orphaned}
    plans = approvals.heads(connection, list(applied))
    made = approvals.decisions(connection, [(id, plan.digest) for id, plan in plans.items() if plan.digest is not None])
    judged = {id: _judged(applied[id], plan, made.get(id, [])) for id, plan in plans.items()}
    return {id: one for id, one in judged.items() if any(decision.person for decision in one.decisions) or not one.verdict.allows}


def _judged(row: ProjectRow, plan: approvals.StoredPlan, made: Sequence[Decision]) -> Judged:
    rules = row.project.approvals
    verdict = judged(plan.changes, rules, made, digest=plan.digest or "", authors=plan.authors)
    return Judged(plan, verdict, rules, tuple(made))
