"""What the rows of the database say about projects: the facts for their status, their health, plans with the decisions on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from reconciler.dataclass import dataclass
from reconciler.fleet import health as healths
from reconciler.fleet.approvals import ApprovalVerdict, Decision, judged
from reconciler.fleet.health import ProjectHealth
from reconciler.fleet.model import Approval, ChangeClass, Mode
from reconciler.fleet.status import Follower, ProjectFacts, of_data, status
from reconciler.fleet.store import approvals
from reconciler.fleet.store.projects import ProjectRow


def follower(row: ProjectRow) -> Follower:
    """A project as the waves compare it."""
    facts = facts_of(row)
    commit = facts.reading.commit if facts.reading is not None else None
    return Follower(row.project.name, row.project.wave, status(facts, row.now).word, health_of(row), commit, row.well_since)


def health_of(row: ProjectRow) -> ProjectHealth:
    """The health of a project at the database's time."""
    checked = healths.of_data(row.health) if row.health is not None else None
    return healths.health(checked, row.health_at, row.now, every=row.project.every, soon=row.soon)


def facts_of(row: ProjectRow) -> ProjectFacts:
    reading = of_data(row.reading) if row.reading is not None else None
    return ProjectFacts(row.project.every, reading, row.read_at, row.error)


def is_unverified(row: ProjectRow) -> bool:
    """Whether the last run applied everything it had read, so that the status is known only after the next one, which is due at once."""
    reading = facts_of(row).reading
    applies = row.project.mode is Mode.APPLY and not row.orphaned and not row.is_paused
    done = applies and row.waits is None and row.error is None
    return done and reading is not None and bool(reading.ahead) and row.applied == reading.commit


@dataclass(frozen=True)
class Judged:
    """A plan, the rules of its project, and the decisions so far, oldest first."""

    plan: approvals.StoredPlan
    verdict: ApprovalVerdict
    rules: Mapping[ChangeClass, Approval]
    decisions: tuple[Decision, ...]


def judged_plan(connection: Connection, row: ProjectRow, plan: approvals.StoredPlan) -> Judged:
    """A plan of a project with its decisions."""
    decisions = approvals.decisions(connection, [(row.id, plan.digest or "")]).get(row.id, [])
    return _judged(row, plan, decisions)


def judged_plans(connection: Connection, rows: Sequence[ProjectRow]) -> dict[int, Judged]:
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
