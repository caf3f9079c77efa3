"""What the rows of the database say about projects: the facts for their status, their health, plans with the decisions on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import NamedTuple

from sqlalchemy import Connection

from reconciler.fleet import drift, health as healths
from reconciler.fleet.approvals import ApprovalTerms, ApprovalVerdict, Continuation, Decision, judged
from reconciler.fleet.drift_groups import FleetDriftGroup, differences
from reconciler.fleet.health import ProjectHealth
from reconciler.fleet.model import Approval, ChangeClass, Mode, RehearsalRule
from reconciler.fleet.people import Directory, Identity
from reconciler.fleet.rehearsals import PlanRehearsal
from reconciler.fleet.status import Follower, ProjectFacts, of_data, status
from reconciler.fleet.store import approvals, people, rehearsals
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
    """A plan, what it is judged by, and the decisions so far, oldest first. `rehearsal`: of this plan, on whichever reading; None if nobody
    asked for one; `rule`: whether approvals must name one."""

    plan: approvals.StoredPlan
    verdict: ApprovalVerdict
    terms: ApprovalTerms
    decisions: tuple[Decision, ...]
    rehearsal: PlanRehearsal | None = None
    rule: RehearsalRule = RehearsalRule.OPTIONAL

    @property
    def rehearsed(self) -> str:
        """The digest of the rehearsal of exactly this plan on its reading; "" without one."""
        return _rehearsed(self.plan, self.rehearsal)

    @property
    def rules(self) -> Mapping[ChangeClass, Approval]:
        return self.terms.rules

    def is_author(self, person: Identity) -> bool:
        """Whether somebody wrote a commit of the plan, under any of their addresses."""
        people = self.terms.directory.people([person, *(decision.who for decision in self.decisions)])
        return people.of(person) in {people.by_address(author) for author in self.plan.authors}


def judged_plan(connection: Connection, row: ProjectRow, plan: approvals.StoredPlan) -> Judged:
    """A plan of a project with its decisions."""
    digest = plan.digest or ""
    decisions = approvals.decisions(connection, [(row.id, digest) for digest in plan.digests]).get(row.id, [])
    rehearsal = rehearsals.of_plans(connection, [(row.id, digest)], texts=True).get(row.id)
    return _judged(row, plan, decisions, people.directory(connection), rehearsal)


def judged_plans(connection: Connection, rows: Sequence[ProjectRow]) -> dict[int, Judged]:
    """The plans of projects that wait for people or were decided on, by the ids of the projects, without their documents."""
    applied = {row.id: row for row in rows if row.project.mode is Mode.APPLY and not row.orphaned}
    plans = approvals.heads(connection, list(applied))
    digests = [(id, plan.digest) for id, plan in plans.items() if plan.digest is not None]
    decided = approvals.decisions(connection, [(id, digest) for id, plan in plans.items() for digest in plan.digests])
    rehearsed = rehearsals.of_plans(connection, digests)
    directory = people.directory(connection)
    judged = {id: _judged(applied[id], plan, decided.get(id, []), directory, rehearsed.get(id)) for id, plan in plans.items()}
    return {id: plan for id, plan in judged.items() if any(decision.person for decision in plan.decisions) or not plan.verdict.allows}


def decided_drift(
    connection: Connection, row: ProjectRow, groups: Sequence[FleetDriftGroup], *, continues: Continuation | None
) -> dict[str, Decision]:
    """The decisions in effect on what was changed outside Reconciler, by address. `continues`: the apply that is continued."""
    decisions = approvals.decisions_on_drift(connection, row.id, [difference.digest for difference in differences(groups)])
    if not decisions:
        return {}
    return drift.decided(groups, decisions, _terms(row, people.directory(connection)), continues=continues)


def is_only_drift(row: ProjectRow) -> bool:
    """Whether the plan of the last reading changes only what was changed outside Reconciler."""
    reading = facts_of(row).reading
    return reading is not None and bool(reading.drift or reading.both) and not reading.ahead


class NotApplied(NamedTuple):
    """Why a fleet applies nothing of a plan, whoever approves it; and the way past it."""

    why: str
    way: str


def not_applied(row: ProjectRow, judged: Judged, *, reverts: bool) -> NotApplied | None:
    """Why a plan has nothing to be applied; None if it has. `reverts`: whether somebody decided to revert drift."""
    reading, name = facts_of(row).reading, quote(row.project.name)
    if row.orphaned:
        return NotApplied("the fleet file no longer contains the project", "Write it into the file again, then: reconciler fleet apply.")
    if not judged.plan.changes and reading is not None and reading.blocked:
        return NotApplied("what it changes is blocked", f"See what is blocked, and the way past it: reconciler fleet status {name}")
    if is_only_drift(row) and not row.project.revert_drift and not reverts:
        return NotApplied(drift.NOT_REVERTED, f"Decide on the drift: reconciler fleet drift {name}")
    return None


def refused(row: ProjectRow, judged: Judged) -> NotApplied | None:
    """Why a plan is refused before its first request; None if it is not."""
    reading, project = facts_of(row).reading, row.project
    if reading is None or not reading.refused or reading.commit != judged.plan.commit:
        return None
    way = f"{drift.in_clone(project)}; this prints the option: {drift.apply_command(project)}"
    return NotApplied(f"it is refused: {reading.refused}", f"Change the files of the project. Or apply it yourself, {way}")


def _terms(row: ProjectRow, directory: Directory) -> ApprovalTerms:
    project = row.project
    return ApprovalTerms(project.approvals, project.valid_for, project.tenant, row.now, directory)


def _judged(
    row: ProjectRow, plan: approvals.StoredPlan, decided: Sequence[Decision], directory: Directory, rehearsal: PlanRehearsal | None
) -> Judged:
    required = _rehearsed(plan, rehearsal) if row.project.rehearse is RehearsalRule.REQUIRED else None
    terms = replace(_terms(row, directory), rehearsal=required)
    verdict = judged(plan.changes, terms, decided, digest=plan.digest or "", authors=plan.authors, continues=plan.continues)
    return Judged(plan, verdict, terms, tuple(decided), rehearsal, row.project.rehearse)


def _rehearsed(plan: approvals.StoredPlan, rehearsal: PlanRehearsal | None) -> str:
    """The digest of the rehearsal if it is of exactly this plan on its reading; "" otherwise."""
    return rehearsal.digest or "" if rehearsal is not None and rehearsal.is_of(plan.digest, plan.reading) else ""
