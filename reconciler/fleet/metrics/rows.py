"""The numbers of a fleet, counted by PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection, Integer, RowMapping, cast, func, select, text

from reconciler.fleet.refresh import generation
from reconciler.fleet.refresh.generation import GeneratorReading
from reconciler.fleet.store.admission import ALIVE
from reconciler.fleet.store.dashboard.listing import HEALTH, STATUS
from reconciler.fleet.store.dashboard.views import queue
from reconciler.fleet.store.runs import last
from reconciler.fleet.store.schema import SCHEMA, projects

RECENT: Final = "1 hour"
BUCKETS: Final = (1, 2, 5, 10, 30, 60, 300, 900, 3_600)  # seconds

_RUNS: Final = text(f"""
SELECT ended, sum(coalesce(requests, 0)) AS requests, count(*) AS runs
FROM {SCHEMA}.runs WHERE ended_at > now() - interval '{RECENT}' GROUP BY ended
""")  # noqa: S608  the schema's name is a constant
_DURATIONS: Final = text(f"""
SELECT extract(epoch FROM ended_at - started_at)::float8 AS seconds
FROM {SCHEMA}.runs WHERE ended_at > now() - interval '{RECENT}' AND started_at IS NOT NULL
""")  # noqa: S608
_WORKERS: Final = text(f"SELECT count(*) AS alive, coalesce(sum(concurrency), 0) AS places FROM {SCHEMA}.workers WHERE {ALIVE}")  # noqa: S608
_BUDGETS: Final = text(f"""
SELECT count(*) AS budgets, count(*) FILTER (WHERE held_until > now()) AS held,
  coalesce(sum((SELECT count(*) FROM jsonb_object_keys(b."left"->'way'))), 0) AS under_way,
  (SELECT min(CAST(value->>0 AS int)) FROM {SCHEMA}.budgets c CROSS JOIN LATERAL jsonb_each(c."left"->'limits')
   WHERE value->>0 IS NOT NULL AND CAST(value->>1 AS float8) > extract(epoch FROM now())) AS left
FROM {SCHEMA}.budgets b
""")  # noqa: S608
_NOTICES: Final = text(f"""
SELECT count(*) FILTER (WHERE sent_at IS NULL AND given_up_at IS NULL) AS waiting,
  count(*) FILTER (WHERE given_up_at IS NOT NULL) AS given_up
FROM {SCHEMA}.notices
""")  # noqa: S608


@dataclass(frozen=True)
class Numbers:
    """`tenants`: a row for each tenant, status and health, with the number of projects, of resources and the ages of readings."""

    tenants: Sequence[RowMapping] = ()
    projects: Sequence[RowMapping] = ()
    ended: Sequence[RowMapping] = ()
    durations: Sequence[float] = ()
    queue: Mapping[str, Any] = field(default_factory=dict)
    workers: Mapping[str, Any] | RowMapping = field(default_factory=dict)
    budgets: Mapping[str, Any] | RowMapping = field(default_factory=dict)
    notices: Mapping[str, Any] | RowMapping = field(default_factory=dict)
    admitted: int = 0
    generators: GeneratorReading | None = None


def numbers(connection: Connection, *, per_project: bool) -> Numbers:
    """All of them. `per_project`: those of each project too."""
    reading = projects.c.reading

    def number(*keys: str) -> Any:
        parts = [func.coalesce(cast(reading[key].astext, Integer), 0) for key in keys]
        return parts[0] + parts[1] if len(parts) > 1 else parts[0]

    query = select(
        projects.c.name,
        projects.c.tenant,
        STATUS.label("status"),
        HEALTH.label("word"),
        func.extract("epoch", func.now() - projects.c.read_at).label("age"),
        number("ahead", "both").label("ahead"),
        number("drift", "both").label("drift"),
        number("unmanaged").label("unmanaged"),
    )
    project = query.where(projects.c.orphaned_at.is_(None)).subquery()
    age, sums = project.c.age, [func.sum(project.c[name]).label(name) for name in ("ahead", "drift", "unmanaged")]
    ages = (func.count().filter(age.is_(None)).label("unread"), func.max(age).label("oldest"), func.sum(age).label("ages"))
    labels = (project.c.tenant, project.c.status, project.c.word)
    by = select(*labels[:2], project.c.word.label("health"), func.count().label("projects"), *sums, *ages).group_by(*labels)
    columns = (project.c.name, project.c.tenant, project.c.status, project.c.word.label("health"), project.c.age)
    named = select(*columns).order_by(project.c.name)
    return Numbers(
        connection.execute(by).mappings().all(),
        connection.execute(named).mappings().all() if per_project else (),
        connection.execute(_RUNS).mappings().all(),
        list(connection.execute(_DURATIONS).scalars()),
        queue(connection, None),
        connection.execute(_WORKERS).mappings().one(),
        connection.execute(_BUDGETS).mappings().one(),
        connection.execute(_NOTICES).mappings().one(),
        last(connection),
        generation.state(connection),
    )
