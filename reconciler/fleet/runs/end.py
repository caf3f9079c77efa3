"""The end of a run: its result, its row and that of its project, its plan, a line of the audit log, a sample for charts, messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import case, func

from reconciler.fleet import approvals, health, schedule, status
from reconciler.fleet.health import HealthReading
from reconciler.fleet.model import Mode
from reconciler.fleet.runs.messages import announce
from reconciler.fleet.store import FleetDatabase, approvals as kept, audit, proposals, rehearsals, runs, samples
from reconciler.fleet.store.approvals import StoredPlan
from reconciler.fleet.store.schema import projects as tables
from reconciler.report.words import count


@dataclass
class RunResult:
    """The result of a run for its project. `waits`: why changes are not applied, None if none wait. `began`: applying began, so
    something may have been sent; `applied`: all of it was; `stopped`: it was stopped in the middle; `approvers`: the people whose
    approvals counted when it began, by class of change. `again`: seconds until another run makes sense, None for the interval of the
    project. `holds`: its plan is not the whole one, because people must still approve the rest, or that is refused. `reverted`: the
    decisions that this run carries out, by address: its plan reverts these resources and nothing else.
    `rehearsing`: the requests of a rehearsal, among `requests`. `proposal`: the document of what was changed outside Reconciler,
    compressed; None if no file can take anything in."""

    commit: str | None = None
    reading: status.Reading | None = None
    health: HealthReading | None = None
    plan: StoredPlan | None = None
    waits: str | None = None
    began: bool = False
    applied: bool = False
    stopped: bool = False
    holds: bool = False
    again: float | None = None
    approvers: Mapping[str, list[str]] = field(default_factory=dict)
    reverted: Mapping[str, approvals.Decision] = field(default_factory=dict)
    code: int = 0
    late: bool = False
    requests: int = 0
    rehearsing: int = 0
    proposal: bytes | None = None
    error: str | None = None

    @property
    def ended(self) -> str:
        """How the run ended, as stored in its row."""
        return "late" if self.late else "failed" if self.error is not None else "done"


def write(database: FleetDatabase, begun: runs.BegunRun, worker: int, result: RunResult) -> None:
    """Write the end of a run, and when its project is due again. Does nothing if this worker has lost the run."""
    word = _word(begun, result)
    run = {
        "commit": result.commit,
        "exit_code": result.code,
        "requests": result.requests,
        "says": result.error or result.waits or (_applied(result) if result.applied else None),
    }
    columns = _next(begun, result) | _reading(result, word) | _health(begun, result, word)
    with database.transaction() as connection:
        if not runs.end(connection, begun.id, worker, ended=result.ended, values=run, project=columns):
            return
        if result.plan is not None and result.reading is not None and begun.project.mode is not Mode.WATCH:
            kept.keep_plan(connection, begun.project_id, result.plan)
            rehearsals.give_up(connection, begun.project_id, result.plan.digest)
        if result.applied or (result.reading is not None and _is_done(result.reading)):
            kept.finish(connection, begun.project_id)
        if result.reading is not None:
            proposals.keep(connection, begun.project_id, result.proposal)
        if (result.error is not None or result.stopped) and not result.began:  # the connection may have been lost after it was stored
            result.began = audit.has_begun(connection, begun.id)
        if result.began and result.plan is not None:
            outcome = "applied" if result.applied else "stopped" if result.stopped else result.ended
            audit.write(connection, line(begun, "apply", result, ended=outcome, exitCode=result.code))
        if result.reading is not None and word is not None:
            samples.write(connection, begun.project_id, word, result.reading)
        announce(
            connection,
            begun.project.name,
            applied=result.applied and not (result.reverted or result.holds),
            read=result.reading is not None,
        )


def line(begun: runs.BegunRun, action: str, result: RunResult, **outcome: Any) -> audit.AuditRecord:
    """A line of the audit log about a run that applies a plan."""
    plan = result.plan
    about = {"digest": plan.digest, "classes": sorted(plan.changes)} if plan is not None else {"digest": None}
    details = {"commit": result.commit, **about, "run": begun.id, "number": begun.number, **outcome}
    details |= {"approvedBy": dict(result.approvers)} if result.approvers else {}
    details |= {"continues": list(plan.continues.runs)} if plan is not None and plan.continues is not None else {}
    details |= {"reverts": {address: decision.person for address, decision in result.reverted.items()}} if result.reverted else {}
    return audit.AuditRecord(audit.SELF, action, begun.project.name, begun.project.tenant, details)


def _is_done(reading: status.Reading) -> bool:
    """Whether a complete reading shows nothing to apply, so that nothing of an earlier apply is left."""
    return reading.is_whole and not (reading.ahead or reading.both or reading.drift)


def _applied(result: RunResult) -> str:
    """The text about an applied plan in the history of a project."""
    people = dict.fromkeys(name for names in result.approvers.values() for name in names)
    people |= dict.fromkeys(decision.person for decision in result.reverted.values())
    done = (
        f"reverted {count(len(result.reverted), 'resource')}"
        if result.reverted
        else "applied what nobody must approve"
        if result.holds
        else "applied"
    )
    return f"{done}, approved by {', '.join(people)}" if people else done


def _word(begun: runs.BegunRun, result: RunResult) -> status.StatusWord | None:
    """The project's status after the run's reading, None if it read nothing."""
    if result.reading is None:
        return None
    now = datetime.now(UTC)
    return status.status(status.ProjectFacts(begun.project.every, result.reading, now), now).word


def _next(begun: runs.BegunRun, result: RunResult) -> dict[str, Any]:
    """The columns of the project about errors and about its next run."""
    failures = begun.failures + 1 if result.error is not None else 0
    due = schedule.delay(begun.project.every, failures)
    if result.applied or result.stopped:
        # an apply is verified by a reading of its own, which should follow at once
        due = min(due, 1)
    if result.again is not None:
        due = min(due, int(result.again) + 1)
    columns = {
        "failures": failures,
        "error": result.error,
        "error_at": func.now() if result.error is not None else None,
        "next_due": func.now() + timedelta(seconds=due),
        "waits": result.waits,
    }
    # The authors of what is held still count: the commit is not applied as long as a part of it waits.
    return columns | ({"applied": result.commit} if result.applied and not (result.reverted or result.holds) else {})


def _reading(result: RunResult, word: status.StatusWord | None) -> dict[str, Any]:
    """The columns of the project about the reading; empty if nothing was read."""
    if result.reading is None:
        return {}
    return {
        "reading": status.as_data(result.reading),
        "read_at": func.now(),
        "cost": result.requests - result.rehearsing,
        "synced_since": func.coalesce(tables.c.synced_since, func.now()) if word is status.StatusWord.SYNCED else None,
    }


def _health(begun: runs.BegunRun, result: RunResult, word: status.StatusWord | None) -> dict[str, Any]:
    """The columns of the project about its health; empty if nothing was read."""
    if result.reading is None or result.health is None:
        return {}
    every, now = begun.project.every, datetime.now(UTC)
    passes = health.health(result.health, now, now, every=every)
    again = tables.c.read_at < func.now() - schedule.stale_after(every)  # the status in between is unknown
    since = case((again, func.now()), else_=func.coalesce(tables.c.well_since, func.now()))
    return {
        "health": {"word": passes.word.value, **health.as_data(result.health)},
        "health_at": func.now(),
        "well_since": since if word is status.StatusWord.SYNCED and passes.word in health.PASSING else None,
    }
