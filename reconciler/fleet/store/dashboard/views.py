"""The data of pages and the API besides the projects themselves: runs, readings over time, workers, budgets, the queue, decisions,
expiries, and what changed in the last seconds.

Every query about projects takes the tenants that the viewer sees, or the id of a project that the viewer may see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Date, Executable, Text, and_, cast, column, func, literal, or_, select, text, union_all
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import Interval

from reconciler.fleet.drift_groups import PREFIX
from reconciler.fleet.store.admission import ALIVE
from reconciler.fleet.store.dashboard.listing import Tenants, visible
from reconciler.fleet.store.schema import approvals, audit, budgets, plans, projects, runs, workers

RUNS: Final = 50
EXPIRIES: Final = 20_000
DECISIONS: Final = 100
LINES: Final = 100
RECENT: Final = "20 seconds"  # longer than a transaction that writes the end of a run
SEEN_ONLY: Final = ("view", "login", "logout")
"""Actions in the audit log that change nothing."""
Rows = Sequence[Mapping[str, Any]]


def _rows(connection: Connection, query: Executable) -> Rows:
    return [{**row} for row in connection.execute(query).mappings()]


def runs_of(connection: Connection, project: int, *, before: int | None = None, limit: int = RUNS) -> Rows:
    """The runs of a project with the host of their worker, the newest first."""
    worker = select(workers.c.host).where(workers.c.id == runs.c.worker).scalar_subquery()
    query = select(runs, worker.label("host")).where(runs.c.project == project).order_by(runs.c.id.desc()).limit(limit)
    return _rows(connection, query.where(runs.c.id < before) if before is not None else query)


def run_of(connection: Connection, project: int, number: int) -> Mapping[str, Any] | None:
    """A run of a project by its number; None if there is none, or no longer."""
    query = select(runs).where(runs.c.project == project, runs.c.number == number)
    return next(iter(_rows(connection, query)), None)


def place_of_run(connection: Connection, id: int) -> tuple[str, int] | None:
    """The name of the project of a run, and its number there; None if there is none, or no longer."""
    query = select(projects.c.name, runs.c.number).join(projects, projects.c.id == runs.c.project).where(runs.c.id == id)
    row = connection.execute(query).first()
    return (row.name, row.number) if row is not None else None


def decisions_of(connection: Connection, project: int) -> Rows:
    """The decisions on the plans of a project, the newest first."""
    on_plans = and_(approvals.c.project == project, ~approvals.c.digest.startswith(PREFIX))
    query = select(approvals).where(on_plans).order_by(approvals.c.id.desc()).limit(DECISIONS)
    return _rows(connection, query)


def plan_of(connection: Connection, project: int) -> Mapping[str, Any] | None:
    """The last plan of a project, of any version."""
    return next(iter(_rows(connection, select(plans).where(plans.c.project == project))), None)


def workers_of(connection: Connection) -> Rows:
    """Every worker, whether it is alive, and its number of runs in progress."""
    under_way = select(func.count()).where(runs.c.worker == workers.c.id, runs.c.ended_at.is_(None)).scalar_subquery()
    query = select(workers, under_way.label("running"), text(f"({ALIVE}) AS alive"))
    return _rows(connection, query.order_by(workers.c.id))


def budgets_of(connection: Connection, tenants: Tenants) -> Rows:
    """The budgets of the tokens of all projects that the viewer sees, by the tokens' references."""
    query = (
        select(projects.c.token, func.count().label("projects"), budgets.c.left, budgets.c.held_until)
        .join(budgets, budgets.c.token == projects.c.budget)
        .where(visible(tenants), projects.c.orphaned_at.is_(None))
        .group_by(projects.c.token, budgets.c.token)
        .order_by(projects.c.token)
    )
    return _rows(connection, query)


def queue(connection: Connection, tenants: Tenants) -> dict[str, Any]:
    """The numbers of due projects and of waiting and running runs; how the runs of the last hour ended."""
    paused = and_(projects.c.paused, or_(projects.c.paused_until.is_(None), projects.c.paused_until > func.now()))
    under_way = select(runs.c.id).where(runs.c.project == projects.c.id, runs.c.ended_at.is_(None)).exists()
    due = select(
        func.count().label("due"), func.coalesce(func.extract("epoch", func.now() - func.min(projects.c.next_due)), 0).label("late")
    )
    due = due.where(visible(tenants), projects.c.orphaned_at.is_(None), projects.c.next_due <= func.now(), ~paused, ~under_way)
    row = connection.execute(due).one()
    mine = select(runs).join(projects, projects.c.id == runs.c.project).where(visible(tenants)).subquery()
    counts = select(
        func.count().filter(mine.c.ended_at.is_(None), mine.c.started_at.is_(None)).label("waiting"),
        func.count().filter(mine.c.ended_at.is_(None), mine.c.started_at.is_not(None)).label("running"),
    ).where(mine.c.ended_at.is_(None))
    active = connection.execute(counts).one()
    ended = (
        select(mine.c.ended, func.count().label("number")).where(mine.c.ended_at > func.now() - timedelta(hours=1)).group_by(mine.c.ended)
    )
    return {
        "due": row.due,
        "late": int(row.late),
        "waiting": active.waiting,
        "running": active.running,
        "ended": {row.ended: row.number for row in connection.execute(ended)},
    }


def concerns(connection: Connection, tenants: Tenants) -> Rows:
    """The expiries, of each project that the viewer sees."""
    concern = func.jsonb_array_elements(projects.c.health["concerns"]).table_valued(column("value", JSONB))
    until = cast(concern.c.value["until"].astext, Date)
    query = (
        select(projects.c.name, projects.c.tenant, until.label("until"), concern.c.value.label("concern"))
        .select_from(projects.join(concern, literal(True)))
        .where(visible(tenants), projects.c.orphaned_at.is_(None), func.jsonb_typeof(projects.c.health) == "object", until.is_not(None))
    )
    return _rows(connection, query.order_by(until, projects.c.name).limit(EXPIRIES))


def pauses(connection: Connection, tenants: Tenants) -> Rows:
    """The pauses with an end."""
    columns = (projects.c.name, projects.c.tenant, projects.c.paused_until, projects.c.paused_by, projects.c.paused_reason)
    query = select(*columns).where(visible(tenants), projects.c.paused, projects.c.paused_until > func.now())
    return _rows(connection, query.order_by(projects.c.paused_until))


def lines(connection: Connection, tenants: Tenants, *, equal: dict[str, str], before: int = 0, after: int = 0, limit: int = LINES) -> Rows:
    """Lines of the audit log, the newest first. `equal`: required values of columns. `before`, `after`: ids; 0 for none."""
    query = select(audit).where(*(audit.c[name] == value for name, value in equal.items()))
    if tenants is not None:
        query = query.where(audit.c.tenant.in_(list(tenants)))
    if before:
        query = query.where(audit.c.id < before)
    if after:
        query = query.where(audit.c.id > after)
        return _rows(connection, query.order_by(audit.c.id).limit(limit))[::-1]
    return _rows(connection, query.order_by(audit.c.id.desc()).limit(limit))


class FeedChange(NamedTuple):
    """`key`: of its row."""

    key: str
    project: str
    tenant: str


def recent_changes(connection: Connection) -> Sequence[FeedChange]:
    """The changes of the last seconds, including rows that were passed on before."""
    since = func.now() - cast(literal(RECENT), Interval)
    moment = func.coalesce(runs.c.ended_at, runs.c.started_at)
    ran = (
        select(
            (literal("run ") + cast(runs.c.id, Text) + literal(" ") + cast(moment, Text)).label("key"), projects.c.name, projects.c.tenant
        )
        .join(projects, projects.c.id == runs.c.project)
        .where(or_(runs.c.ended_at > since, (runs.c.ended_at.is_(None)) & (runs.c.started_at > since)))
    )
    decided = select((literal("audit ") + cast(audit.c.id, Text)).label("key"), audit.c.project, audit.c.tenant).where(
        audit.c.at > since, audit.c.project.is_not(None), audit.c.tenant.is_not(None), audit.c.action.not_in(SEEN_ONLY)
    )
    return [FeedChange(*row) for row in connection.execute(union_all(ran, decided))]
