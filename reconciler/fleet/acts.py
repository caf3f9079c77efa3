"""The actions of people: run now, pause, resume, approve, reject, revert or ignore drift. Used by the commands, the dashboard and the API.

Each checks the role of the person in the tenant of each project, and writes the decision and a line of the audit log in one transaction.
For people who may not see a tenant, its projects do not exist.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from shlex import quote
from typing import Any, Final

from sqlalchemy import Connection, func, or_, select, update

from reconciler.errors import Refused, StalePlan, UsageError
from reconciler.fleet import drift
from reconciler.fleet.approvals import LACKING, NEEDED, REJECTED, ApprovalVerdict, Decision
from reconciler.fleet.drift_groups import FleetDriftGroup, differences
from reconciler.fleet.facts import Judged, NotApplied, decided_drift, facts_of, judged_plan, not_applied, refused
from reconciler.fleet.model import Approval, ChangeClass, Mode, RehearsalRule
from reconciler.fleet.people import Person, Role
from reconciler.fleet.rehearsals import document_of
from reconciler.fleet.store import approvals, audit, projects, proposals, quarantines, rehearsals
from reconciler.fleet.store.projects import ProjectRow
from reconciler.fleet.store.schema import projects as table
from reconciler.text.names import did_you_mean, utc_text

PAUSE_MAX: Final = timedelta(days=30)
IGNORED_MAX: Final = timedelta(days=90)
REASON_MAX: Final = 1_000
APPROVED: Final = "the plan is approved, and the next run applies it"


@dataclass(frozen=True)
class Decided:
    """The result of a decision. `changes`: the classes that this person approved; `judged`: the plan, this decision included."""

    judged: Judged
    changes: frozenset[ChangeClass] = frozenset()

    @property
    def verdict(self) -> ApprovalVerdict:
        return self.judged.verdict


def sync(connection: Connection, person: Person, names: Sequence[str]) -> None:
    """Run projects now, before others of the same tenant. Raises `Refused` if one of them is paused or orphaned, so that it is not run."""
    rows = _rows(connection, person, names, Role.APPROVER)
    for row in rows:
        refuse_idle(row)
    projects.make_due_now(connection, [row.project.name for row in rows])
    _log(connection, person, "sync", rows)


def refuse_idle(row: ProjectRow) -> None:
    """Raise `Refused` for a project that no worker runs."""
    _refuse_orphaned(row)
    name = row.project.name
    if row.is_paused:
        until = f" until {utc_text(row.paused_until)}" if row.paused_until is not None else ""
        wrong = f"{name} is paused{until} by {row.paused_by}, so it is not run: {row.paused_reason}"
        raise Refused(wrong, id="RC-fleet-not-run", hint=f"End the pause: reconciler fleet resume {quote(name)}")


def _refuse_orphaned(row: ProjectRow) -> None:
    if row.orphaned:
        wrong = f"{row.project.name} is orphaned, so it is not run: the fleet file no longer contains it"
        raise Refused(wrong, id="RC-fleet-not-run", hint="Write it into the fleet file again, then: reconciler fleet apply.")


def pause(connection: Connection, person: Person, names: Sequence[str], *, until: datetime, reason: str) -> None:
    """Stop running projects until a time, at most 30 days from now."""
    rows = _rows(connection, person, names, Role.ADMIN)
    now = connection.execute(select(func.now())).scalar_one()
    if until <= now:
        raise UsageError("the end of the pause is in the past", id="RC-option-value", hint="Write a later time, or a duration such as 2h.")
    if until > now + PAUSE_MAX:
        wrong = f"a pause ends after {PAUSE_MAX.days} days at most"
        raise UsageError(wrong, id="RC-option-value", hint="To stop for longer, use mode: watch in the fleet file.")
    reason = _reason(reason)
    projects.pause(connection, [row.project.name for row in rows], until=until, by=person.name, reason=reason)
    _log(connection, person, "pause", rows, {"until": until.isoformat(), "reason": reason})


def resume(connection: Connection, person: Person, names: Sequence[str]) -> list[tuple[str, bool, tuple[str, ...]]]:
    """End the pauses and the quarantines of projects; they are due at once.

    Returns each project, whether it was paused, and the runs of `undo` whose quarantines were lifted.
    """
    rows = _rows(connection, person, names, Role.ADMIN)
    held = quarantines.opened(connection, [row.id for row in rows])
    quarantines.lift(connection, [quarantine.id for mine in held.values() for quarantine in mine], by=person.name)
    projects.resume(connection, [row.project.name for row in rows])
    lifted = [(row.project.name, row.is_paused, tuple(quarantine.undone_by for quarantine in held.get(row.id, ()))) for row in rows]
    for row, (_, paused, undone_by) in zip(rows, lifted, strict=True):
        _log(connection, person, "resume", [row], {"paused": paused, "quarantined": list(undone_by)})
    return lifted


def plan(connection: Connection, person: Person, name: str) -> Judged:
    """The plan of a project for a person who may see it. Raises `UsageError` if there is none to decide on."""
    (row,) = _rows(connection, person, [name], Role.VIEWER)
    return _judged(connection, row)


def why_not_applied(connection: Connection, person: Person, name: str) -> NotApplied | None:
    """Why nothing of the plan of a project is applied, whoever approves it; None if approvals decide on it."""
    (row,) = _rows(connection, person, [name], Role.VIEWER)
    current = _judged(connection, row)
    return not_applied(row, current, reverts=_is_reverted(connection, row)) or refused(row, current)


def rehearse(connection: Connection, person: Person, name: str, *, digest: str) -> bool:
    """Let the next run rehearse the plan with a digest, and run the project at once. False if it is rehearsed, or somebody asked for it.

    Raises `StalePlan` if the project has another plan by now.
    """
    row = _held(connection, person, name)
    refuse_idle(row)
    current = _current(connection, row, digest)
    if current.rehearsed or not rehearsals.ask(connection, row.id, digest, person.name):
        return False
    projects.make_due_now(connection, [name])
    _log(connection, person, "rehearse", [row], {"digest": digest, "commit": current.plan.commit})
    return True


def rehearsal_document(connection: Connection, person: Person, name: str) -> Mapping[str, Any] | None:
    """What the last rehearsal of the plan of a project showed, for a person who may see it; None without one."""
    (row,) = _rows(connection, person, [name], Role.VIEWER)
    stored = rehearsals.stored(connection, row.id, _judged(connection, row).plan.digest or "")
    return document_of(stored) if stored is not None else None


def proposal_document(connection: Connection, person: Person, name: str) -> Mapping[str, Any] | None:
    """What was changed outside Reconciler in a project, as files, for a person who may see it; None if no file can take anything in."""
    (row,) = _rows(connection, person, [name], Role.VIEWER)
    stored = proposals.stored(connection, row.id)
    return document_of(stored) if stored is not None else None


def approve(
    connection: Connection,
    person: Person,
    name: str,
    *,
    digest: str,
    changes: Collection[ChangeClass] | None = None,
    rehearsal: str = "",
    allow_unplanned: bool = False,
) -> Decided:
    """Approve classes of the plan with a digest, by default all that need approval. If no approval is missing then, the project is due at
    once. `rehearsal`: the digest of the rehearsal that the person saw. `allow_unplanned`: also if it did not go as planned.

    Raises `StalePlan` if the project has another plan or rehearsal by now, and `Refused` if the approval would not count.
    """
    row = _held(connection, person, name)
    current = _current(connection, row, digest)
    _refuse(row, refused(row, current))
    counted = frozenset(_counted(current, person, row, changes))
    seen = _seen_rehearsal(current, row, rehearsal, allow_unplanned=allow_unplanned)
    approvals.decide(connection, row.id, Decision(person.name, digest, counted, identity=person.login, rehearsal=seen))
    about = {"rehearsal": seen, "allowUnplanned": allow_unplanned and current.rehearsal is not None and not current.rehearsal.as_planned}
    return _decided(connection, person, row, "approve", counted, about if seen is not None else {})


def reject(connection: Connection, person: Person, name: str, *, digest: str, reason: str) -> Decided:
    """Reject the plan with a digest: it is not applied until this person approves it, even if others do."""
    row = _held(connection, person, name)
    _current(connection, row, digest)
    approvals.decide(connection, row.id, Decision(person.name, digest, approves=False, reason=_reason(reason), identity=person.login))
    return _decided(connection, person, row, "reject", frozenset(), {"reason": reason})


def outside(connection: Connection, person: Person, name: str) -> tuple[ProjectRow, tuple[FleetDriftGroup, ...], dict[str, Decision]]:
    """What was changed outside Reconciler in a project that a person may see, and the decisions in effect, by address."""
    (row,) = _rows(connection, person, [name], Role.VIEWER)
    reading = facts_of(row).reading
    groups = reading.groups if reading is not None else ()
    return row, groups, decided_drift(connection, row, groups, continues=approvals.continued(connection, row.id))


def revert(connection: Connection, person: Person, name: str, *, digest: str, addresses: Collection[str] = ()) -> list[str]:
    """Let the next run take back what was changed outside Reconciler. What it sends needs the approvals of any plan.

    `digest`: of all drift that the person read; `addresses`: those to revert, by default all. Returns them. Raises `StalePlan` if something
    else is changed by now.
    """
    return _decide_drift(connection, person, name, digest, addresses, Decision(person.name, "", identity=person.login))


def ignore(
    connection: Connection, person: Person, name: str, *, digest: str, until: datetime, reason: str, addresses: Collection[str] = ()
) -> list[str]:
    """Ignore what was changed outside Reconciler until a time: it does not count for the status, and is not reverted. Then it alarms again;
    at once if it is changed again. Returns the addresses."""
    now = connection.execute(select(func.now())).scalar_one()
    if not now < until <= now + IGNORED_MAX:
        wrong = f"drift is ignored until a time of the next {IGNORED_MAX.days} days"
        hint = "To leave a field alone for good, write ignoreChanges in the files of the project."
        raise UsageError(wrong, id="RC-option-value", hint=hint)
    decision = Decision(person.name, "", approves=False, reason=_reason(reason), identity=person.login, until=until)
    return _decide_drift(connection, person, name, digest, addresses, decision)


def _decide_drift(
    connection: Connection, person: Person, name: str, digest: str, addresses: Collection[str], decision: Decision
) -> list[str]:
    """Store a decision on each address, with the digest of what was changed there."""
    until = decision.until
    row = _held(connection, person, name)
    _, groups, _ = outside(connection, person, name)
    by_address = {difference.address: difference for difference in differences(groups)}
    if not by_address:
        hint = f"Read it again: reconciler fleet sync {name} --wait"
        raise UsageError(f"nothing of {name} was changed outside Reconciler", id="RC-fleet-no-drift", hint=hint)
    if digest != drift.digest(groups):
        raise StalePlan(
            f"something else of {name} was changed outside Reconciler since you read it",
            id="RC-fleet-plan-moved",
            hint=f"Read it again: reconciler fleet drift {name}",
        )
    for address in addresses:
        if address not in by_address:
            wrong = f"{address} was not changed outside Reconciler{did_you_mean(address, list(by_address))}"
            raise UsageError(wrong, id="RC-fleet-no-drift", hint=f"See what was: reconciler fleet drift {name}")
    if until is None and row.project.mode is not Mode.APPLY:
        wrong = f"the fleet reverts nothing of {name}: its mode is {row.project.mode.value}"
        raise UsageError(
            wrong, id="RC-fleet-approval", hint="Revert it in its directory: reconciler apply. Or write mode: apply in the fleet file."
        )
    chosen = sorted(set(addresses) or by_address)
    for address in chosen:
        approvals.decide(connection, row.id, replace(decision, digest=by_address[address].digest))
    projects.make_due_now(connection, [name])
    details = {"addresses": chosen} | ({"until": until.isoformat(), "reason": decision.reason} if until is not None else {})
    _log(connection, person, "revert-drift" if until is None else "ignore-drift", [row], details)
    return chosen


def _rows(connection: Connection, person: Person, names: Sequence[str], role: Role) -> list[ProjectRow]:
    """The projects with these names; raises unless this person may act on all of them."""
    by_name = {row.project.name: row for row in projects.read(connection, names) if person.may(Role.VIEWER, row.project.tenant)}
    for name in names:
        if name not in by_name:
            query = select(table.c.name)
            if person.tenants is not None:
                query = query.where(table.c.tenant.in_(person.tenants))
            seen = list(connection.execute(query.order_by(table.c.name)).scalars())
            raise UsageError(
                f'the project "{name}" does not exist in this fleet{did_you_mean(name, seen)}',
                id="RC-no-fleet-project",
                hint="reconciler fleet status lists them.",
            )
        tenant = by_name[name].project.tenant
        if not person.may(role, tenant):
            raise Refused(
                f"{person.name} is not {_article(role)} of tenant {tenant}",
                id="RC-fleet-role",
                hint="The fleet file says who is. Ask an admin of the fleet to change it, or an approver of the tenant to act.",
            )
    return [by_name[name] for name in dict.fromkeys(names)]


def _held(connection: Connection, person: Person, name: str) -> ProjectRow:
    """A project on which an approver decides: no run writes its plan, or begins to apply it, before the end of this transaction. Raises
    `Refused` if it is orphaned, so that nothing comes of a decision."""
    (row,) = _rows(connection, person, [name], Role.APPROVER)
    projects.hold(connection, row.id)
    (row,) = _rows(connection, person, [name], Role.APPROVER)
    _refuse_orphaned(row)
    return row


def _article(role: Role) -> str:
    return f"{'an' if role.value[0] in 'aeiou' else 'a'} {role.value}"


def _judged(connection: Connection, row: ProjectRow) -> Judged:
    current = approvals.plan_of(connection, row.id)
    if current is None or current.digest is None:
        watched = row.project.mode is Mode.WATCH
        why = "its mode is watch" if watched else "no run has made one yet"
        hint = "Write mode: apply in the fleet file." if watched else f"Make one: reconciler fleet sync {row.project.name} --wait"
        raise UsageError(f"{row.project.name} has no plan: {why}", id="RC-fleet-no-plan", hint=hint)
    return judged_plan(connection, row, current)


def _current(connection: Connection, row: ProjectRow, digest: str) -> Judged:
    """The plan with a digest, of a project that is held."""
    current = _judged(connection, row)
    if row.project.mode is not Mode.APPLY:
        wrong = f"the plan of {row.project.name} is not applied: its mode is {row.project.mode.value}"
        raise UsageError(wrong, id="RC-fleet-approval", hint="Write mode: apply in the fleet file.")
    _refuse(row, not_applied(row, current, reverts=_is_reverted(connection, row)))
    if digest != current.plan.digest:
        raise StalePlan(
            f"the plan of {row.project.name} moved: it is {current.plan.digest}, not {digest}",
            id="RC-fleet-plan-moved",
            hint=f"Read the new plan: reconciler fleet approve {row.project.name}",
        )
    return current


def _refuse(row: ProjectRow, held: NotApplied | None) -> None:
    """Raise `Refused` for a plan of which nothing is applied."""
    if held is not None:
        raise Refused(f"the plan of {row.project.name} is not applied: {held.why}", id="RC-fleet-approval", hint=held.way)


def _is_reverted(connection: Connection, row: ProjectRow) -> bool:
    """Whether somebody decided to revert drift of the last reading."""
    reading = facts_of(row).reading
    continues = approvals.continued(connection, row.id)
    return reading is not None and bool(drift.reverts(decided_drift(connection, row, reading.groups, continues=continues)))


def _counted(current: Judged, person: Person, row: ProjectRow, asked: Collection[ChangeClass] | None) -> Iterable[ChangeClass]:
    """The classes for which an approval of this person counts. Raises if there are none, or if a requested class is not among them."""
    name, rules = row.project.name, current.rules
    needing = {change for change in current.plan.changes if NEEDED[rules.get(change, Approval.TWO)]}
    foreign = sorted(set(asked or ()) - current.plan.changes)
    if foreign:
        hint = f"It contains: {', '.join(sorted(current.plan.changes)) or 'no changes'}."
        raise UsageError(f"the plan of {name} contains no {foreign[0]}", id="RC-fleet-approval", hint=hint)
    wanted = needing & set(asked) if asked is not None else needing
    if not wanted:
        raise Refused(f"the plan of {name} needs no approval of that", id="RC-fleet-approval", hint="The next run applies it without one.")
    writes = current.is_author(person.identity)
    counted = {change for change in wanted if not (writes and rules.get(change, Approval.TWO) is Approval.TWO)}
    if not counted:
        raise Refused(
            f"{person.name} is an author of commit {current.plan.commit[:12]}, and {', '.join(sorted(wanted))} needs two others",
            id="RC-fleet-approval",
            hint="Ask somebody who did not write it.",
        )
    return counted


def _seen_rehearsal(current: Judged, row: ProjectRow, seen: str, *, allow_unplanned: bool) -> str | None:
    """The digest of the rehearsal that an approval is about; None if it is about none, where none is required."""
    name, valid = row.project.name, current.rehearsed
    if row.project.rehearse is not RehearsalRule.REQUIRED:
        return seen if seen and seen == valid else None
    if not valid:
        last = current.rehearsal
        why = "this project requires a rehearsal first"
        if last is not None and last.is_pending:
            why = "its rehearsal has not ended yet"
        elif last is not None:
            why = f"it was not rehearsed: {last.error}" if last.error else "the service contains something else since its rehearsal"
        raise Refused(
            f"the plan of {name} cannot be approved yet: {why}",
            id="RC-fleet-rehearsal",
            hint=f"Rehearse it: reconciler fleet rehearse {name} --wait, or the button on its page. Then read what it shows.",
        )
    if seen != valid:
        wrong = f"the plan of {name} was rehearsed again" if seen else f"the approval of {name} does not name the rehearsal"
        raise StalePlan(
            f"{wrong}: it is {valid}",
            id="RC-fleet-plan-moved",
            hint=f"Read it: reconciler fleet approve {name}. A script passes --rehearsal DIGEST, a program `rehearsal`.",
        )
    if current.rehearsal is not None and not current.rehearsal.as_planned and not allow_unplanned:
        raise Refused(
            f"the rehearsal of {name} did not go as planned",
            id="RC-fleet-rehearsal",
            hint="Read what differs. To approve it nevertheless, pass --allow-unplanned, or choose that on the page.",
        )
    return valid


def _decided(
    connection: Connection,
    person: Person,
    row: ProjectRow,
    action: str,
    changes: frozenset[ChangeClass],
    more: Mapping[str, Any],
) -> Decided:
    """Store a decision and its audit line, and make the project due if no approval is missing."""
    current = _judged(connection, row)
    waits = current.verdict.sentence or APPROVED
    about = or_(*(table.c.waits.startswith(begin, autoescape=True) for begin in (LACKING, REJECTED, APPROVED)), table.c.waits.is_(None))
    connection.execute(update(table).where(table.c.id == row.id, about).values(waits=waits))
    if current.verdict.allows:
        projects.make_due_now(connection, [row.project.name])
    details = {"digest": current.plan.digest, "commit": current.plan.commit, "classes": sorted(changes), **more}
    _log(connection, person, action, [row], {key: value for key, value in details.items() if value})
    return Decided(current, changes)


def _reason(text: str) -> str:
    if not text.strip():
        raise UsageError("the reason is empty", id="RC-option-value", hint="Write why, for whoever reads it later.")
    return text.strip()[:REASON_MAX]


def _log(connection: Connection, person: Person, action: str, rows: Iterable[ProjectRow], details: Mapping[str, Any] | None = None) -> None:
    about = {**(details or {}), **person.about}
    audit.write(connection, *(audit.AuditRecord(person.name, action, row.project.name, row.project.tenant, about) for row in rows))
