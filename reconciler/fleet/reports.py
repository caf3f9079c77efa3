"""Reports on a fleet, for people and for programs. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from reconciler.features.health.model import Concern
from reconciler.fleet import drift
from reconciler.fleet.acts import Decided
from reconciler.fleet.approvals import Decision
from reconciler.fleet.changes import Changes
from reconciler.fleet.declared.values import in_words
from reconciler.fleet.documents import (
    FleetApprovalDocument,
    FleetAuditLine,
    FleetConcernData,
    FleetPlanDocument,
    FleetProjectData,
    FleetRehearsalData,
    FleetStatusDocument,
    FleetVerdictData,
)
from reconciler.fleet.drift_groups import FleetDriftGroup, differences
from reconciler.fleet.facts import Judged, NotApplied, facts_of, health_of, is_unverified
from reconciler.fleet.health import HealthWord, ProjectHealth, shortened
from reconciler.fleet.model import Approval, Mode
from reconciler.fleet.status import ProjectStatus, StatusWord, lasting, status, unsaid
from reconciler.fleet.store.audit import AuditRecord
from reconciler.fleet.store.projects import ProjectRow
from reconciler.report.layout import Style, table
from reconciler.report.sheet import Sheet, SheetEntry, SheetLine
from reconciler.report.words import count
from reconciler.text.escape import as_json, terminal
from reconciler.text.names import utc_text

MOST_PROJECTS = 20
APPLIED = "it was applied, and the next run verifies it"
FIRST_APPLY = "Apply once, in the directory of the project, with its token in RECONCILER_TOKEN (or copy the state: state pull, state push):"
NO_WORKER = " Nothing is run until there is one: reconciler fleet worker."


def plan_document(changes: Changes) -> FleetPlanDocument:
    """The changes of `fleet plan`, as JSON."""
    return {
        "format": "reconciler.fleet-plan/1",
        "projects": changes.total,
        "appearing": [project.name for project in changes.appearing],
        "changing": [
            {
                "name": name,
                "keys": list(different),
            }
            for name, different in changes.changing.items()
        ],
        "returning": list(changes.returning),
        "vanishing": list(changes.vanishing),
        "orphaned": list(changes.orphaned),
        "refused": "; ".join(changes.shrinking) or None,
    }


def plan_sheet(changes: Changes) -> Sheet:
    """The same for people: a line for each project, and below it the keys that change."""
    lines = []
    for project in changes.appearing:
        where = project.source.git + (f" {project.source.path}" if project.source.path != "." else "")
        lines.append(SheetLine(Style.CREATE, "+", project.name, f"{project.mode.value} every {in_words(project.every)}, {where}"))
    for name, different in changes.changing.items():
        lines.append(SheetLine(Style.UPDATE, "~", name, ""))
        lines += [
            SheetLine(Style.DIM, " ", f"  {difference['key']}", f"{_value(difference['before'])} -> {_value(difference['after'])}")
            for difference in different
        ]
    lines += [SheetLine(Style.CREATE, "+", name, "declared again") for name in changes.returning]
    orphaned = "becomes orphaned: it is not run again, and nothing of it is deleted"
    lines += [SheetLine(Style.DELETE, "-", name, orphaned) for name in changes.vanishing]
    verbs = {"add": changes.appearing, "change": changes.changing, "run again": changes.returning, "orphan": changes.vanishing}
    parts = [f"{len(projects)} to {verb}" for verb, projects in verbs.items() if projects]
    number = count(changes.total, "project")
    summary = f"Fleet: {', '.join(parts)}; {number}." if parts else f"No changes. {number}."
    return Sheet("fleet plan", "", None, summary, [SheetEntry("", "", lines)] if lines else ())


def _value(value: Any) -> str:
    return "none" if value is None else value if isinstance(value, str) else as_json(value, indent=None)


def status_of(row: ProjectRow) -> ProjectStatus:
    """The status of a project at the database's time."""
    return status(facts_of(row), row.now)


def status_document(
    rows: Sequence[ProjectRow], workers: int, now: datetime, judged: Mapping[int, Judged] | None = None
) -> FleetStatusDocument:
    """The status of `fleet status`, as JSON. `judged`: the plans to decide on, by the ids of their projects."""
    projects = [_project(row, (judged or {}).get(row.id)) for row in rows]
    return {"format": "reconciler.fleet-status/1", "at": utc_text(now), "workers": workers, "projects": projects}


def approval_document(name: str, person: str, decided: Decided, *, rejects: bool) -> FleetApprovalDocument:
    """The result of `fleet approve` and `fleet reject`, as JSON."""
    return {
        "format": "reconciler.fleet-approval/1",
        "project": name,
        "decision": "reject" if rejects else "approve",
        "person": person,
        "classes": sorted(decided.changes),
        "approvals": _verdict(decided.judged),
    }


def _verdict(judged: Judged) -> FleetVerdictData:
    verdict = judged.verdict
    return {
        "commit": judged.plan.commit,
        "digest": judged.plan.digest or "",
        "needs": [
            {
                "change": change.value,
                "rule": judged.rules.get(change, Approval.TWO).value,
                "missing": verdict.lacking.get(change, 0),
                "people": list(verdict.people.get(change, ())),
            }
            for change in sorted(judged.plan.changes)
        ],
        "rejected": [{"person": rejection.person, "reason": rejection.reason} for rejection in verdict.rejected],
        "rehearse": judged.rule.value,
        "rehearsal": rehearsal_data(judged),
        "allowed": verdict.allows,
    }


def rehearsal_data(judged: Judged) -> FleetRehearsalData | None:
    """The rehearsal of a plan, as JSON; None if nobody asked for one."""
    rehearsal = judged.rehearsal
    if rehearsal is None:
        return None
    return {
        "state": rehearsal.state,
        "askedBy": rehearsal.asked_by,
        "askedAt": utc_text(rehearsal.asked_at),
        "error": rehearsal.error,
        "digest": rehearsal.digest,
        "asPlanned": rehearsal.as_planned,
        "valid": judged.rehearsed != "",
    }


def needs_text(judged: Judged, held: NotApplied | None = None) -> str:
    """The approvals that a plan needs before it is applied, for a screen. `held`: why it is not applied, whoever approves it."""
    lines, plan = [], f"The plan of commit {judged.plan.commit[:12]}"
    if held is not None:
        return "".join(f"{terminal(line)}\n" for line in [f"{plan} is not applied: {held.why}.", held.way])
    if not judged.plan.changes:
        return f"{terminal(f'{plan} needs no approval: it changes nothing.')}\n"
    for need in _verdict(judged)["needs"]:
        rule = {"auto": "nobody", "one": "one person", "two": "two people, not the authors"}[need["rule"]]
        people = f"; approved by {', '.join(need['people'])}" if need["people"] else ""
        lines.append(f"  {need['change']:<9} {rule}{people}")
    authors = f" by {', '.join(judged.plan.authors)}" if judged.plan.authors else ""
    head = f"{plan}{authors} needs:"
    verdict = judged.verdict.sentence
    return "".join(f"{terminal(line)}\n" for line in [head, *lines, *([f"{verdict[:1].upper()}{verdict[1:]}."] if verdict else [])])


def _project(row: ProjectRow, judged: Judged | None) -> FleetProjectData:
    project_status, facts, well = status_of(row), facts_of(row), health_of(row)
    reading = facts.reading
    return {
        "name": row.project.name,
        "tenant": row.project.tenant,
        "mode": row.project.mode.value,
        "status": project_status.word.value,
        "causes": list(project_status.causes),
        "age": int(project_status.age.total_seconds()) if project_status.age is not None else None,
        "reading": {
            "commit": reading.commit,
            "at": utc_text(row.read_at),
            "ahead": reading.ahead,
            "drift": reading.drift,
            "both": reading.both,
            "unmanaged": reading.unmanaged,
            "managed": reading.managed,
            "unreadable": list(reading.unreadable),
            "inDoubt": reading.in_doubt,
            "coverage": reading.coverage,
            "ignored": reading.ignored,
            "driftDigest": drift.digest(reading.groups) if any(differences(reading.groups)) else None,
            "drifted": [
                {"address": difference.address, "word": difference.word, "says": [group.says], "exposes": group.exposes}
                for group in reading.groups
                for difference in group.differences
            ],
            "firstApply": reading.first_apply or None,
        }
        if reading is not None and row.read_at is not None
        else None,
        "health": {
            "word": well.word.value,
            "at": utc_text(row.health_at) if row.health_at is not None else None,
            "sentences": list(well.sentences),
            "broken": [_concern(concern) for concern in well.broken],
            "ending": [_concern(concern) for concern in well.ending],
        },
        "nextDue": utc_text(row.next_due),
        "failures": row.failures,
        "running": row.running is not None,
        "recovering": row.recovering,
        "orphaned": row.orphaned,
        "waits": row.waits,
        "applied": row.applied,
        "paused": {
            "until": utc_text(row.paused_until) if row.paused_until is not None else None,
            "by": row.paused_by or "",
            "reason": row.paused_reason or "",
        }
        if row.is_paused
        else None,
        "approvals": _verdict(judged) if judged is not None else None,
    }


def _concern(concern: Concern) -> FleetConcernData:
    return {
        "sort": concern.sort.value,
        "address": concern.address,
        "sentence": concern.sentence,
        "until": concern.until.isoformat() if concern.until is not None else None,
    }


def status_text(rows: Sequence[ProjectRow], workers: int, *, width: int) -> str:
    """The same for a screen: a table and a summary."""
    if not rows:
        return "The fleet has no projects.\n"
    lines = [("project", "status", "health", "age", "coverage", "why")]
    for row in rows:
        project_status, well = status_of(row), health_of(row)
        age = lasting(project_status.age) if project_status.age is not None else "-"
        coverage = f"{int(project_status.coverage * 100)} %" if project_status.coverage is not None else "-"
        shown_words = ("orphaned", "-") if row.orphaned else (project_status.word.value, well.word.value)
        lines.append((row.project.name, *shown_words, age, coverage, "; ".join(_why(row, project_status, well)) or "-"))
    statuses = Counter(status_of(row).word for row in rows if not row.orphaned)
    parts = [f"{statuses[word]} {word.value}" for word in (StatusWord.SYNCED, StatusWord.OUT_OF_SYNC, StatusWord.UNKNOWN) if statuses[word]]
    orphaned = sum(row.orphaned for row in rows)
    parts += [f"{orphaned} orphaned"] if orphaned else []
    healths = Counter(health_of(row).word for row in rows if not row.orphaned)
    parts += [f"{healths[word]} {word.value}" for word in (HealthWord.BROKEN, HealthWord.WARNING) if healths[word]]
    summary = f"{', '.join(parts)}. {count(workers, 'worker')} alive.{'' if workers else NO_WORKER}\n"
    return f"{table(lines, width=width)}\n{summary}{''.join(_first_applies(rows))}"


def _first_applies(rows: Sequence[ProjectRow]) -> Iterator[str]:
    """What to do about states that have never seen their projects: on lines of their own, so that a command can be pasted."""
    known = [(row.project.name, reading) for row in rows if not row.orphaned and (reading := facts_of(row).reading) is not None]
    new = [(name, reading.first_apply) for name, reading in known if reading.first_apply]
    if new:
        yield f"\n{FIRST_APPLY}\n"
    yield from (f"{terminal(name)}:\n    {terminal(command)}\n" for name, command in new[:MOST_PROJECTS])


def drift_text(row: ProjectRow, groups: Sequence[FleetDriftGroup], decided: Mapping[str, Decision]) -> str:
    """What was changed outside Reconciler, what was decided, and the commands of each decision, for a screen."""
    name, project, number = row.project.name, row.project, len([*differences(groups)])
    lines = [line for group in groups for line in _group_lines(group, decided)]
    if not number:
        lines.append(f"Nothing managed of {name} was changed outside Reconciler, as of the last reading.")
        return "".join(f"{terminal(line)}\n" for line in lines)
    lines += ["", f"{count(number, 'resource')} changed outside Reconciler. Decide:", ""]
    if project.mode is Mode.APPLY and not project.revert_drift:
        lines += ["revert all, as the files say:", f"    reconciler fleet drift {name} --revert"]
    elif project.mode is Mode.APPLY:
        lines += ["revert all, as the files say: the next run does, because of revertDrift: true"]
    lines += [
        "revert or accept one change, with its command above:",
        f"    {drift.in_clone(project)}",
        "    what was accepted: git commit --all && git push",
        "ignore until a time:",
        f'    reconciler fleet drift {name} --ignore-until 7d --reason "…"',
    ]
    return "".join(f"{terminal(line)}\n" for line in lines)


def _group_lines(group: FleetDriftGroup, decided: Mapping[str, Decision]) -> Iterator[str]:
    since = group.since()
    yield f"{group.drift_class}: {group.says}{f', {since}' if since else ''}"
    yield from (f"    {line}" for line in group.means)
    notes = [(difference.address, note) for difference in group.differences for note in decision_text(decided.get(difference.address))]
    yield from (f"    {address}: {note}" for address, note in notes)
    yield from (f"    {word}: {line}" for word, line in (("revert", group.revert), ("accept", group.accept)) if line)


def decision_text(decision: Decision | None, moment: Callable[[datetime], str] = utc_text) -> Iterator[str]:
    """What somebody decided on drift; nothing without a decision. `moment`: how a time is written."""
    if decision is not None:
        until, why = decision.until, f": {decision.reason}" if decision.reason else ""
        yield f"ignored until {moment(until)} by {decision.person}{why}" if until is not None else f"{decision.person} decided to revert it"


def _why(row: ProjectRow, state: ProjectStatus, well: ProjectHealth) -> Iterator[str]:
    if row.recovering and not row.orphaned:
        yield "recovering: the last run was lost with its worker"
    if row.is_paused:
        until = f" until {utc_text(row.paused_until)}" if row.paused_until is not None else ""
        yield f"paused{until} by {row.paused_by}: {row.paused_reason}"
    if not row.orphaned:
        if well.word is HealthWord.BROKEN:  # before what is only different
            yield from shortened(well.sentences)
        yield from state.causes
        if (waits := unsaid(row.waits, state.causes)) is not None:
            yield waits
        if is_unverified(row):
            yield APPLIED
        twice = state.word is StatusWord.UNKNOWN and well.word is HealthWord.UNKNOWN  # the same is reported by both
        if well.word is not HealthWord.BROKEN and not twice:
            yield from shortened(well.sentences)


def audit_document(line: AuditRecord) -> FleetAuditLine:
    """A line of the audit log, as JSON."""
    return {
        "format": "reconciler.fleet-audit/1",
        "id": line.id,
        "at": utc_text(line.at) if line.at is not None else "",
        "person": line.person,
        "action": line.action,
        "project": line.project,
        "tenant": line.tenant,
        "details": dict(line.details),
    }


def audit_text(line: AuditRecord) -> str:
    """The same for a screen."""
    about = ", ".join(f"{name}: {_value(value)}" for name, value in line.details.items() if value not in (None, "", []))
    parts = [utc_text(line.at) if line.at is not None else "", line.person, line.action, line.project or ""]
    return terminal("  ".join(word for word in parts if word) + (f"  ({about})" if about else "")) + "\n"
