"""Views of the pages, filled from rows. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from reconciler.features.health.model import Sort
from reconciler.features.rehearsal.documents import RehearsalDocument
from reconciler.fleet import budget as budgets, drift
from reconciler.fleet.acts import APPROVED
from reconciler.fleet.approvals import Decision, changes_of, same_changes
from reconciler.fleet.drift import NOT_REVERTED
from reconciler.fleet.drift_groups import FleetDriftGroup, differences
from reconciler.fleet.facts import Judged, facts_of, health_of, not_applied, refused
from reconciler.fleet.health import shortened
from reconciler.fleet.model import Approval, ChangeClass, Mode, RehearsalRule, Window
from reconciler.fleet.pages import readers, views, words
from reconciler.fleet.people import Person, Role
from reconciler.fleet.refresh.generation import GeneratorReading
from reconciler.fleet.reports import decision_text, status_of
from reconciler.fleet.status import unsaid
from reconciler.fleet.store.approvals import decision_of
from reconciler.fleet.store.projects import ProjectRow
from reconciler.report.reading import sheet_of
from reconciler.report.schemas.documents import problem

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def row_view(row: ProjectRow, *, whole: bool = False) -> views.RowView:
    """A project in a list. `whole`: with every sentence about its health."""
    status, well, project = status_of(row), health_of(row), row.project
    return views.RowView(
        name=project.name,
        tenant=project.tenant,
        mode=project.mode,
        status=status.word,
        causes=status.causes,
        age=status.age,
        coverage=status.coverage,
        health=well if whole else replace(well, sentences=shortened(well.sentences)),
        waits=unsaid(row.waits, status.causes),
        wave=project.wave,
        running=row.running,
        recovering=row.recovering,
        orphaned=row.orphaned,
        paused=views.PauseView(row.paused_by or "", row.paused_reason or "", row.paused_until) if row.is_paused else None,
        origin=project.origin,
    )


def generators_view(reading: GeneratorReading) -> views.GeneratorsView | None:
    """The problems of the generators; None without any."""
    says = reading.error or reading.held
    return views.GeneratorsView(says, reading.read_at) if says else None


def source_view(row: ProjectRow) -> views.SourceView:
    project = row.project
    return views.SourceView(
        git=project.source.git,
        ref=project.source.ref,
        path=project.source.path,
        base_url=project.base_url,
        every=timedelta(seconds=project.every),
        environment=project.environment,
        commit=row.reading["commit"] if row.reading is not None else None,
        applied=row.applied,
        windows=tuple(_window(window) for window in project.windows),
        revert_drift=project.revert_drift,
    )


def _window(window: Window) -> str:
    days = "every day" if len(window.days) == 7 else ", ".join(DAYS[day] for day in window.days)
    return f"{days} from {window.opens:%H:%M} to {window.closes:%H:%M} ({window.zone})"


def may(person: Person, tenant: str) -> views.ViewerPermissions:
    approver = person.may(Role.APPROVER, tenant)
    return views.ViewerPermissions(approve=approver, sync=approver, pause=person.may(Role.ADMIN, tenant))


def first_apply(row: ProjectRow) -> str:
    """The command that creates a state which has never seen the project; "" for none."""
    reading = facts_of(row).reading
    return reading.first_apply if reading is not None else ""


def drift_view(row: ProjectRow, decided: Mapping[str, Decision]) -> views.DriftView | None:
    """What was changed outside Reconciler; None if nothing was."""
    reading, project = facts_of(row).reading, row.project
    if reading is None or not reading.groups or row.orphaned:
        return None
    number = len([*differences(reading.groups)])
    return views.DriftView(
        digest=drift.digest(reading.groups),
        groups=tuple(_group_view(group, decided) for group in reading.groups),
        more=max(0, reading.drift + reading.both + reading.ignored - number),
        revert="command" if project.mode is not Mode.APPLY else "itself" if project.revert_drift else "button",
        state=drift.state_of(project),
    )


def _group_view(group: FleetDriftGroup, decided: Mapping[str, Decision]) -> views.DriftGroupView:
    resources = [
        views.DriftedView(difference.address, difference.word, "; ".join(decision_text(decided.get(difference.address), words.moment)))
        for difference in group.differences
    ]
    return views.DriftGroupView(
        group.drift_class, group.says, group.since(), group.means, group.exposes, tuple(resources), group.revert, group.accept
    )


def plan_view(plan: Mapping[str, Any] | None) -> views.PlanView | None:
    """The view of a plan of this version."""
    if plan is None or plan["digest"] is None:
        return None
    document = plan["document"]
    return views.PlanView(
        digest=plan["digest"],
        commit=plan["commit"],
        made_at=plan["made_at"],
        text=plan["text"] or "",
        authors=tuple(plan["authors"] or ()),
        gained=readers.gained(document),
        lost=readers.lost(document),
        requests=document.get("summary", {}).get("requests"),
        summary=tuple(sentence.text for sentence in sheet_of(document).consequences),
    )


def approvals_view(
    judged: Judged, decisions: Iterable[Mapping[str, Any]], person: Person, row: ProjectRow, *, reverts: bool
) -> views.ApprovalsView:
    """The approvals that the plan needs, the decisions, and whether this person can add one. `reverts`: whether somebody reverts drift."""
    verdict, plan = judged.verdict, judged.plan
    rules = tuple(
        views.RuleView(change, judged.rules.get(change, Approval.TWO), verdict.lacking.get(change, 0), verdict.people.get(change, ()))
        for change in sorted(plan.changes)
        if judged.rules.get(change, Approval.TWO) is not Approval.AUTO
    )
    applied: set[str] = set()  # digests; the apply uses up earlier decisions
    shown: tuple[views.DecisionView, ...] = ()
    for decision in decisions:  # the newest first
        if not decision["person"]:
            if plan.continues is None or not plan.continues.used(decision_of(decision)):
                applied.add(changes_of(decision["digest"]))
        else:
            shown += (_decision(decision, judged, used=changes_of(decision["digest"]) in applied),)
    standing = {(rejection.person, rejection.at) for rejection in verdict.rejected}
    rejected = next((item for item in shown if not item.approves and (item.person, item.at) in standing), None)
    own = [decision for decision in judged.decisions if decision.approves and _is_same(judged, decision, person)]
    mine = {change for decision in own for change in decision.changes} & {rule.change for rule in rules if rule.by}
    lacking = {rule.change for rule in rules if rule.missing}
    cannot = ""
    if lacking and judged.is_author(person.identity) and all(judged.rules.get(change, Approval.TWO) is Approval.TWO for change in lacking):
        cannot = "You are an author of this commit, so others must approve it."
    elif lacking and lacking <= mine:
        cannot = "You have approved it. Somebody else must approve it too."
    applies, is_decided = _applies(judged, row, reverts=reverts)
    return views.ApprovalsView(rules, shown, rejected, cannot, applies, is_decided)


def rehearsal_view(judged: Judged, document: Mapping[str, Any] | None) -> views.RehearsalView:
    """The rehearsal of a plan; without a state if nobody asked for one. `document`: of its last result."""
    required, last = judged.rule is RehearsalRule.REQUIRED, judged.rehearsal
    if last is None:
        return views.RehearsalView(required)
    return views.RehearsalView(
        required,
        last.state,
        last.asked_by,
        last.asked_at,
        last.ended_at,
        error=last.error or "",
        digest=last.digest or "",
        as_planned=last.as_planned is not False,
        valid=judged.rehearsed != "",
        text=last.text,
        document=document if document is not None and problem(RehearsalDocument, document) is None else None,
    )


def _applies(judged: Judged, row: ProjectRow, *, reverts: bool) -> tuple[str, bool]:
    """What happens to a plan that lacks no approval, and whether approvals decide on it at all."""
    if row.project.mode is not Mode.APPLY:
        return f"The fleet does not apply this plan: its mode is {row.project.mode.value}.", False
    held = not_applied(row, judged, reverts=reverts) or refused(row, judged)
    if held is not None:
        return f"The fleet does not apply this plan: {held.why}.{' Decide above.' if held.why == NOT_REVERTED else ''}", False
    if not judged.plan.changes:
        return "This plan changes nothing.", False
    if row.waits and row.waits not in (APPROVED, NOT_REVERTED):
        return f"Nobody has to approve anything more. The plan waits: {row.waits}.", True
    return "Nobody has to approve anything more: the next run applies this plan.", True


def _is_same(judged: Judged, decision: Decision, person: Person) -> bool:
    """Whether a person of today made a decision, and it still counts."""
    people = judged.terms.directory.people([person.identity, *(other.who for other in judged.decisions)])
    return people.of(decision.who) == people.of(person.identity) and not _why_not(decision, judged)


def _why_not(decision: Decision, judged: Judged) -> str:
    """Why a decision does not count; "" if it does."""
    terms, digests = judged.terms, judged.plan.digests
    if not any(same_changes(decision.digest, digest) for digest in digests):
        return "it is about another plan"
    if not terms.directory.may_approve(decision.who, terms.tenant):
        return "its person may no longer approve"
    if not decision.approves:
        return ""
    if decision.digest not in digests:
        return "it is about another commit"
    if terms.is_over(decision):
        return "it has expired"
    if not terms.is_about(decision):
        return "it is about another rehearsal" if decision.rehearsal else "it is about no rehearsal"
    two = all(judged.rules.get(change, Approval.TWO) is Approval.TWO for change in decision.changes)
    return "its person is an author of the commit" if two and judged.is_author(decision.who) else ""


def _decision(row: Mapping[str, Any], judged: Judged, *, used: bool) -> views.DecisionView:
    decision = decision_of(row)
    why_not = "an apply of the plan used it up" if used else _why_not(decision, judged)
    return views.DecisionView(
        person=decision.person,
        approves=decision.approves,
        changes=tuple(ChangeClass(name) for name in row["classes"]),
        digest=decision.digest,
        at=row["at"],
        reason=decision.reason,
        counts=not why_not,
        why_not=why_not,
        rehearsal=decision.rehearsal or "",
    )


def run_view(run: Mapping[str, Any]) -> views.RunView:
    return views.RunView(
        id=run["id"],
        number=run["number"],
        admitted_at=run["admitted_at"],
        started_at=run["started_at"],
        ended_at=run["ended_at"],
        ended=run["ended"],
        says=run["says"] or "",
        commit=run["commit"],
        requests=run["requests"],
        worker=run["host"] or "",
    )


def worker_view(worker: Mapping[str, Any]) -> views.WorkerView:
    keys = ("host", "process", "concurrency", "running", "version", "started_at", "seen_at", "alive")
    return views.WorkerView(**{key: worker[key] for key in keys})


def budget_view(row: Mapping[str, Any]) -> views.BudgetView:
    known = budgets.of_data(row["left"])
    limits = tuple(
        views.LimitView(size, limit.left, datetime.fromtimestamp(limit.resets_at, UTC) if limit.resets_at else None)
        for size, limit in sorted(known.limits.items())
    )
    return views.BudgetView(row["token"], limits, len(known.way), row["projects"], row["held_until"])


def pause_expiry(row: Mapping[str, Any]) -> views.ExpiryView:
    note = f"paused by {row['paused_by']}: {row['paused_reason']}"
    return views.ExpiryView(row["paused_until"], "pause", row["name"], row["name"], row["tenant"], note)


def expiry(row: Mapping[str, Any]) -> views.ExpiryView:
    """An object that expires at the end of a day."""
    concern, until = row["concern"], row["until"]
    at = datetime(until.year, until.month, until.day, 23, 59, 59, tzinfo=UTC)
    sort: views.Sort = "exception" if concern["sort"] == Sort.EXPOSURE else "end"
    return views.ExpiryView(at, sort, concern["address"] or row["name"], row["name"], row["tenant"], concern["sentence"])


def calendar_view(frame: views.Frame, month: date, expiries: Sequence[views.ExpiryView]) -> views.CalendarView:
    """The expiries of one month."""
    by_month = Counter(_month(expiry.at) for expiry in expiries)
    items = [expiry for expiry in expiries if _month(expiry.at) == month]
    expired = [expiry for expiry in expiries if expiry.at <= frame.now]
    return views.CalendarView(frame, month, items, expired, dict(by_month))


def _month(at: datetime) -> date:
    return at.astimezone(UTC).date().replace(day=1)
