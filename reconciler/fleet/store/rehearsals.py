"""Requests to rehearse plans, and their results, by the digest of the plan. A dashboard writes requests, and only workers write results.

A request is pending until a run ends it. Nothing but a row says so: whatever happens to a worker, the next run of the project does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, and_, delete, func, literal, not_, or_, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import insert as upsert

from reconciler.fleet.rehearsals import ERROR_MAX, KEPT, MOVED, PlanRehearsal, RehearsalResult
from reconciler.fleet.store.admission import ALIVE
from reconciler.fleet.store.schema import rehearsals, runs, workers

# The beginning of a transaction may be before the end of a run that it waited for: a request would look older than that run's result.
_CLOCK: Final = func.clock_timestamp()
_PENDING: Final = or_(rehearsals.c.ended_at.is_(None), rehearsals.c.asked_at > rehearsals.c.ended_at)
_ALIVE: Final = select(workers.c.id).where(workers.c.id == runs.c.worker, text(ALIVE)).exists()
_RUNNING: Final = select(runs.c.id).where(runs.c.id == rehearsals.c.run, runs.c.ended_at.is_(None), _ALIVE).exists()
_COLUMNS: Final = [column for column in rehearsals.c if column.name not in ("document", "text")]
_NO_TEXT: Final = literal("").label("text")


def ask(connection: Connection, project: int, plan: str, person: str) -> bool:
    """Ask for a rehearsal of the plan with a digest; False if somebody has asked, and no run has ended it yet."""
    statement = upsert(rehearsals).values(project=project, plan=plan, asked_by=person)
    statement = statement.on_conflict_do_update(
        index_elements=[rehearsals.c.project, rehearsals.c.plan],
        set_={"asked_by": person, "asked_at": _CLOCK},
        where=not_(_PENDING),
    )
    return connection.execute(statement.returning(rehearsals.c.plan)).first() is not None


def take(connection: Connection, project: int, plan: str, run: int) -> int | None:
    """Begin the rehearsal that was asked for; how many runs have begun it. None if nobody asks for it."""
    asked = update(rehearsals).where(rehearsals.c.project == project, rehearsals.c.plan == plan, _PENDING)
    values = {"run": run, "tries": rehearsals.c.tries + 1}
    number: int | None = connection.execute(asked.values(values).returning(rehearsals.c.tries)).scalar()
    return number


def end(connection: Connection, project: int, run: int, result: RehearsalResult) -> None:
    """Store the result of a rehearsal that this run has begun, and delete what is older than the last `KEPT` of the project."""
    values: dict[str, Any] = {"reading": None, "digest": None, "as_planned": None, "text": None, "document": None}
    if result.error is None:
        values |= {"reading": result.reading, "digest": result.digest, "as_planned": result.as_planned}
        values |= {"text": result.text, "document": result.stored}
    error = result.error[:ERROR_MAX] if result.error is not None else None
    mine = and_(rehearsals.c.project == project, rehearsals.c.plan == result.plan, rehearsals.c.run == run, _PENDING)
    connection.execute(update(rehearsals).where(mine).values(**values, error=error, tries=0, ended_at=_CLOCK))
    newest = select(rehearsals.c.plan).where(rehearsals.c.project == project).order_by(rehearsals.c.asked_at.desc()).limit(KEPT)
    connection.execute(delete(rehearsals).where(rehearsals.c.project == project, rehearsals.c.plan.not_in(newest)))


def give_up(connection: Connection, project: int, plan: str | None) -> None:
    """End the requests for every plan but this one: the project has no such plan any more."""
    outdated = update(rehearsals).where(rehearsals.c.project == project, rehearsals.c.plan != (plan or ""), _PENDING)
    connection.execute(outdated.values(error=MOVED, tries=0, ended_at=_CLOCK))


def of_plans(connection: Connection, plans_of: Sequence[tuple[int, str]], *, texts: bool = False) -> dict[int, PlanRehearsal]:
    """The rehearsals of plans by project. `plans_of`: projects with the digests of their plans. `texts`: with what they show."""
    query = select(*_COLUMNS, rehearsals.c.text if texts else _NO_TEXT, _PENDING.label("pending"), _RUNNING.label("running"))
    rows = connection.execute(query.where(tuple_(rehearsals.c.project, rehearsals.c.plan).in_(list(plans_of)))) if plans_of else ()
    return {row.project: _rehearsal(row) for row in rows}


def stored(connection: Connection, project: int, plan: str) -> bytes | None:
    """The document of a result, compressed; None without one."""
    query = select(rehearsals.c.document).where(rehearsals.c.project == project, rehearsals.c.plan == plan)
    document: bytes | None = connection.execute(query).scalar()
    return document


def _rehearsal(row: Row[*tuple[Any, ...]]) -> PlanRehearsal:
    return PlanRehearsal(
        row.plan, row.asked_by, row.asked_at, row.pending, row.pending and row.running, row.ended_at, row.error, row.reading, row.digest,
        row.as_planned, row.text or "",
    )  # fmt: skip
