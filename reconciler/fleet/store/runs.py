"""Runs as rows: start, end, recovery. A run has one worker, and a project one run at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, case, delete, func, insert, select, text, update

from reconciler.fleet.model import FleetProject, of_data
from reconciler.fleet.people import FOREIGN
from reconciler.fleet.schedule import BACKOFF_FIRST, BACKOFF_MAX
from reconciler.fleet.store import notices, samples
from reconciler.fleet.store.admission import ALIVE
from reconciler.fleet.store.schema import SCHEMA, projects, runs, workers

QUEUED_SECONDS: Final = 30  # seconds after which an admitted run that the queue does not have counts as lost
RECENT: Final = "1 day"  # in which a run that is lost now began to apply
KEPT: Final = "30 days"  # of runs that ended


@dataclass(frozen=True)
class BegunRun:
    """A run that this worker has started. `number`: of the runs of its project, from 1."""

    id: int
    number: int
    project_id: int
    project: FleetProject
    admitted_at: datetime
    failures: int
    applied: str | None


@dataclass(frozen=True)
class Worker:
    """A worker. `patience`: seconds of silence after which it counts as dead."""

    host: str
    process: int
    concurrency: int
    patience: int
    version: str


def register(connection: Connection, worker: Worker) -> int:
    """The id of a new worker."""
    number: int = connection.execute(insert(workers).values(asdict(worker)).returning(workers.c.id)).scalar_one()
    return number


def alive(connection: Connection, worker: int) -> set[int]:
    """Record that a worker lives; returns the runs that are still its own."""
    connection.execute(update(workers).where(workers.c.id == worker).values(seen_at=func.now()))
    return set(connection.execute(select(runs.c.id).where(runs.c.worker == worker, runs.c.ended_at.is_(None))).scalars())


def give_up(connection: Connection, worker: int, lost: Collection[int]) -> None:
    """Record that a live worker does not do these runs: they are recovered."""
    if lost:
        mine = runs.c.id.in_(list(lost)) & (runs.c.worker == worker) & runs.c.ended_at.is_(None)
        connection.execute(update(runs).where(mine).values(worker=None))


def leave(connection: Connection, worker: int) -> None:
    """Remove a worker that ends; its runs are recovered at once."""
    connection.execute(delete(workers).where(workers.c.id == worker))


def count_alive(connection: Connection) -> int:
    """How many workers are alive."""
    return int(connection.execute(text(f"SELECT count(*) FROM {SCHEMA}.workers WHERE {ALIVE}")).scalar_one())  # noqa: S608


def last(connection: Connection) -> int:
    """The id of the newest run; 0 if there is none."""
    number: int = connection.execute(select(func.coalesce(func.max(runs.c.id), 0))).scalar_one()
    return number


def ended_since(connection: Connection, names: Sequence[str], moment: datetime) -> bool:
    """Whether each project has a run that started after a moment of the database and ended, other than by losing its worker."""
    query = select(func.count(func.distinct(runs.c.project))).join(projects, projects.c.id == runs.c.project)
    ended = query.where(projects.c.name.in_(list(names)), runs.c.started_at >= moment, runs.c.ended_at.is_not(None), runs.c.ended != "lost")
    return connection.execute(ended).scalar_one() >= len(set(names))


def begin(connection: Connection, run: int, worker: int) -> BegunRun | None:
    """Start a run; None if it was started or ended before, so that a job delivered twice does nothing."""
    started = connection.execute(
        update(runs)
        .where(runs.c.id == run, runs.c.started_at.is_(None), runs.c.ended_at.is_(None))
        .values(started_at=func.now(), worker=worker)
        .returning(runs.c.project, runs.c.number, runs.c.admitted_at)
    ).first()
    if started is None:
        return None
    row = connection.execute(select(projects).where(projects.c.id == started.project)).one()
    return BegunRun(run, started.number, row.id, of_data(row.spec), started.admitted_at, row.failures, row.applied)


def end(connection: Connection, run: int, worker: int, *, ended: str, values: Mapping[str, Any], project: Mapping[str, Any]) -> bool:
    """Write the end of a run and its results for its project; False if the run is no longer this worker's.

    A request made after the run began is still open: the project stays due.
    """
    query = (
        update(runs)
        .where(runs.c.id == run, runs.c.worker == worker, runs.c.ended_at.is_(None))
        .values(ended_at=func.now(), ended=ended, **values)
        .returning(runs.c.project, runs.c.started_at)
    )
    row = connection.execute(query).first()
    if row is None:
        return False
    wanted = case((projects.c.wanted_at > row.started_at, projects.c.wanted_at))
    due = case((projects.c.next_due > row.started_at, func.least(projects.c.next_due, project["next_due"])), else_=project["next_due"])
    connection.execute(update(projects).where(projects.c.id == row.project).values({**project, "wanted_at": wanted, "next_due": due}))
    return True


def own(connection: Connection, project: int, scope: str, budget: str) -> str | None:
    """Claim a scope of a state for a project; the name of the project that has it, None if it is free or its own. Orphaned projects have
    none: they never run. The name of another tenant's project is not returned."""
    connection.execute(update(projects).where(projects.c.scope == scope, projects.c.orphaned_at.is_not(None)).values(scope=None))
    tenant = select(projects.c.tenant).where(projects.c.id == project).scalar_subquery()
    name = case((projects.c.tenant == tenant, projects.c.name), else_=f"of {FOREIGN}")
    other = connection.execute(select(name).where(projects.c.scope == scope, projects.c.id != project)).scalar()
    values = {"budget": budget} if other is not None else {"budget": budget, "scope": scope}
    connection.execute(update(projects).where(projects.c.id == project).values(values))
    return other


# -- recovery ----------------------------------------------------------------------------------------------------------------------


_LOST_APPLIES: Final = text(f"""
INSERT INTO {SCHEMA}.audit (person, action, project, tenant, details)
SELECT person, 'apply', project, tenant, details || '{{"ended": "lost"}}' FROM {SCHEMA}.audit
WHERE action = 'begin-apply' AND at > now() - interval '{RECENT}' AND details->>'run' = ANY(CAST(:ids AS text[]))
""")  # noqa: S608  the schema's name is a constant


def recover(connection: Connection, queued: Sequence[int]) -> list[int]:
    """End the runs whose worker is dead, and those that the queue has lost; their projects are due at once, and later if that happens
    repeatedly.

    Any worker may do it at any time. `queued`: the runs that the queue still has.
    """
    lost = connection.execute(
        text(f"""
        UPDATE {SCHEMA}.runs r SET ended_at = now(), ended = 'lost',
          says = CASE WHEN r.started_at IS NULL THEN 'the queue lost it' ELSE 'its worker stopped responding' END
        WHERE r.ended_at IS NULL AND (
          (r.started_at IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM {SCHEMA}.workers WHERE id = r.worker AND {ALIVE}))
          OR (r.started_at IS NULL AND r.admitted_at < now() - make_interval(secs => :s) AND r.id <> ALL(CAST(:queued AS bigint[])))
        ) RETURNING r.id, r.project"""),  # noqa: S608
        {"s": QUEUED_SECONDS, "queued": list(queued)},
    ).all()
    if lost:
        connection.execute(
            text(f"""
            UPDATE {SCHEMA}.projects SET failures = failures + 1,
              next_due = now() + make_interval(secs =>
                CASE WHEN failures = 0 THEN 0 ELSE least(:most, :first * 2 ^ least(failures, 12)) END)
            WHERE id = ANY(CAST(:ids AS int[]))"""),  # noqa: S608
            {"ids": [row.project for row in lost], "first": BACKOFF_FIRST, "most": BACKOFF_MAX},
        )
        connection.execute(_LOST_APPLIES, {"ids": [str(row.id) for row in lost]})
    return [row.id for row in lost]


def tidy(connection: Connection) -> None:
    """Delete old rows: dead workers, runs that ended long ago, old samples and messages."""
    samples.tidy(connection)
    notices.tidy(connection)
    connection.execute(text(f"DELETE FROM {SCHEMA}.workers WHERE seen_at < now() - interval '1 hour'"))  # noqa: S608
    # The last run of a project stays: the next one gets the number after it.
    later = f"EXISTS (SELECT 1 FROM {SCHEMA}.runs l WHERE l.project = r.project AND l.number > r.number)"  # noqa: S608
    connection.execute(text(f"DELETE FROM {SCHEMA}.runs r WHERE ended_at < now() - interval '{KEPT}' AND {later}"))  # noqa: S608
