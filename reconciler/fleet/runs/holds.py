"""The reasons that prevent an apply: a pause, a quarantine, a decision of people, a closed window, an earlier wave.

Checked before an apply, and all but the wave again before each step that gives more access or cannot be undone. The database's time
decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import Connection, select

from reconciler.fleet import schedule, status
from reconciler.fleet.approvals import NEEDED
from reconciler.fleet.facts import follower, judged_plan
from reconciler.fleet.model import Approval, FleetProject, Mode
from reconciler.fleet.people import FOREIGN
from reconciler.fleet.store import approvals, audit, projects, quarantines
from reconciler.fleet.store.approvals import StoredPlan
from reconciler.fleet.store.dashboard import listing
from reconciler.fleet.store.schema import runs
from reconciler.text.names import utc_text

SHOWN: Final = 8  # characters of the id of a run, or of a commit
MOST_ADDRESSES: Final = 3  # addresses


def hold_reason(connection: Connection, name: str, plan: StoredPlan) -> str | None:
    """Why nothing of a plan may be applied now; None if it may."""
    row = projects.read(connection, [name])[0]
    project = row.project
    if row.orphaned or project.mode is not Mode.APPLY:
        return "the fleet file no longer says that it is applied"
    if row.is_paused:
        until = f" until {utc_text(row.paused_until)}" if row.paused_until is not None else ""
        return f"it is paused{until} by {row.paused_by}: {row.paused_reason}"
    changed = approvals.addresses(plan)
    for quarantine in quarantines.opened(connection, [row.id]).get(row.id, ()):
        if both := sorted(changed.intersection(quarantine.addresses)):
            return _quarantined(name, quarantine, both)
    sentence = judged_plan(connection, row, plan).verdict.sentence
    if sentence is not None:
        return sentence
    return None if schedule.is_open(project.windows, row.now) else "its windows are closed"


def approvers(connection: Connection, name: str, plan: StoredPlan) -> dict[str, list[str]]:
    """The people whose approvals of a plan count, by class of change, for the audit log."""
    judged = judged_plan(connection, projects.read(connection, [name])[0], plan)
    counting = judged.verdict.people.items()
    return {change.value: list(names) for change, names in counting if NEEDED[judged.rules.get(change, Approval.TWO)]}


def _quarantined(name: str, quarantine: quarantines.Quarantine, both: Sequence[str]) -> str:
    more = f" and {len(both) - MOST_ADDRESSES} more" if len(both) > MOST_ADDRESSES else ""
    return (
        f"run {quarantine.undone_by[:SHOWN]} undid changes of {', '.join(both[:MOST_ADDRESSES])}{more}, last applied from commit "
        f"{quarantine.commit[:SHOWN]}; push a commit that no longer changes these resources, or: reconciler fleet resume {name}"
    )


def is_running(connection: Connection, run: int, *, lock: bool = False) -> bool:
    """Whether the run was not ended by others because its worker was silent for too long. `lock`: nobody ends it before the end of this
    transaction."""
    query = select(runs.c.id).where(runs.c.id == run, runs.c.ended_at.is_(None))
    return connection.execute(query.with_for_update() if lock else query).first() is not None


def wave_held(connection: Connection, project: FleetProject, commit: str) -> str | None:
    """The wave that this project waits for; None if none."""
    if project.wave == 0:
        return None
    soak = timedelta(seconds=projects.soak(connection))
    row = listing.behind(connection, project, commit, soak)
    if row is None:
        return None
    seen = _named(row, project.tenant)
    return status.wave_before(project.wave, commit, [seen], soak, row.now) or f"wave {seen.wave} is not ready: {seen.name}"


def _named(row: projects.ProjectRow, tenant: str) -> status.Follower:
    """A project as the waves of a tenant see it: without the names of other tenants' projects."""
    seen = follower(row)
    return seen if row.project.tenant == tenant else replace(seen, name=f"a project of {FOREIGN}")


def settle_quarantines(
    connection: Connection, row: projects.ProjectRow, plan: StoredPlan, undone: Sequence[Mapping[str, Any]], *, whole: bool
) -> None:
    """Quarantine undone changes that the plan would repeat, and end the quarantines of those that it no longer makes. `undone`: the runs of
    `undo` since the last apply. `whole`: whether everything could be read, so that changes missing from the plan are no longer intended."""
    changed, name, tenant = approvals.addresses(plan), row.project.name, row.project.tenant
    known = quarantines.known(connection, row.id)
    for undo in undone:
        if undo["run"] not in known and changed.intersection(undo["addresses"]):
            quarantine = quarantines.Quarantine(row.applied or plan.commit, tuple(undo["addresses"]), undo["run"])
            quarantines.quarantine(connection, row.id, quarantine)
            audit.write(
                connection, audit.AuditRecord(audit.SELF, "quarantine", name, tenant, {"undo": undo["run"], "addresses": undo["addresses"]})
            )
    if not whole:
        return
    over = [held for held in quarantines.opened(connection, [row.id]).get(row.id, ()) if not changed.intersection(held.addresses)]
    quarantines.lift(connection, [held.id for held in over], by=f"commit {plan.commit}")
    for quarantine in over:
        details = {"undo": quarantine.undone_by, "commit": plan.commit}
        audit.write(connection, audit.AuditRecord(audit.SELF, "end-quarantine", name, tenant, details))
