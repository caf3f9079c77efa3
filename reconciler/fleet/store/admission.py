"""Admission: choose the due projects to run next, in one query; the queue gets no more than workers can start.

- Tenants take turns, and within a tenant its tokens. Runs in progress count as turns taken. - A run is admitted only if its token's budget
is expected to be enough for it and for all runs in progress: a run that waits for a rate limit blocks a slot of a worker. A project that
needs more than the whole limit runs alone.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, func, select, text

from reconciler.fleet.budget import RESET_MAX
from reconciler.fleet.schedule import BACKOFF_MAX
from reconciler.fleet.store.schema import SCHEMA, runs

LOCK: Final = 0x666C6164
ALIVE: Final = "seen_at BETWEEN now() - make_interval(secs => patience) AND now() + interval '1 minute'"
FAR: Final = f"interval '{BACKOFF_MAX + 60} seconds'"  # beyond the interval of a project: only a clock that was set back has such a time
COST: Final = 20  # assumed requests of a project's first run, until they are counted

_GET: Final = "b.\"left\"->'limits'->(b.\"left\"->'methods'->>'GET')"  # [left, resets at]; what is read is the most of a run
_ADMISSION: Final = text(f"""
WITH named AS (
  SELECT DISTINCT ON (token, spec->>'baseUrl') token, spec->>'baseUrl' AS service, budget
  FROM {SCHEMA}.projects WHERE budget IS NOT NULL ORDER BY token, spec->>'baseUrl', read_at DESC NULLS LAST
), known AS (
  SELECT p.id, p.tenant, p.token, p.next_due, p.wanted_at, p.paused, p.paused_until, p.orphaned_at, (p.spec->>'every')::int AS every,
    coalesce(p.cost, :cost) AS cost,
    coalesce(p.budget, n.budget, p.token || ' ' || (p.spec->>'baseUrl')) AS budget,
    EXISTS (SELECT 1 FROM {SCHEMA}.runs r WHERE r.project = p.id AND r.ended_at IS NULL) AS active
  FROM {SCHEMA}.projects p LEFT JOIN named n ON n.token = p.token AND n.service = p.spec->>'baseUrl'
), tenants AS (SELECT tenant, count(*) AS n FROM known WHERE active GROUP BY tenant
), tokens AS (SELECT tenant, token, count(*) AS n FROM known WHERE active GROUP BY tenant, token
), spent AS (SELECT budget, sum(cost) AS cost FROM known WHERE active GROUP BY budget
), budgets AS (
  SELECT b.token AS budget, b.held_until,
    CASE WHEN jsonb_exists(b."left"->'unlimited', 'GET') THEN 2147483647
      WHEN ({_GET}->>1)::float8 - extract(epoch FROM now()) NOT BETWEEN 0 AND {RESET_MAX + 60} THEN (b."left"->'methods'->>'GET')::int
      ELSE ({_GET}->>0)::int END AS rest
  FROM {SCHEMA}.budgets b
), due AS (
  SELECT p.*, b.rest, coalesce(s.cost, 0) AS spent,
    coalesce(o.n, 0) + row_number() OVER (PARTITION BY p.tenant, p.token ORDER BY p.wanted_at NULLS LAST, p.next_due, p.id) AS turn
  FROM known p
  LEFT JOIN budgets b ON b.budget = p.budget
  LEFT JOIN spent s ON s.budget = p.budget
  LEFT JOIN tokens o ON o.tenant = p.tenant AND o.token = p.token
  WHERE p.orphaned_at IS NULL
    AND (p.next_due <= now() OR p.next_due > now() + make_interval(secs => p.every) + {FAR})
    AND NOT (p.paused AND coalesce(p.paused_until > now(), true))
    AND coalesce(b.held_until <= now() OR b.held_until > now() + make_interval(secs => {RESET_MAX + 60}), true)
    AND NOT p.active
), afforded AS (
  SELECT d.*, sum(cost) OVER (PARTITION BY budget ORDER BY turn, wanted_at NULLS LAST, next_due, id) AS needed FROM due d
), turns AS (
  SELECT a.*, coalesce(t.n, 0) + row_number() OVER (
    PARTITION BY a.tenant ORDER BY a.turn, a.wanted_at NULLS LAST, a.next_due, a.id
  ) AS tenant_turn
  FROM afforded a LEFT JOIN tenants t ON t.tenant = a.tenant
  WHERE spent + needed <= rest OR (spent = 0 AND needed = cost) OR rest IS NULL AND spent + needed <= :first
)
INSERT INTO {SCHEMA}.runs (project)
SELECT id FROM turns ORDER BY tenant_turn, wanted_at NULLS LAST, next_due, id LIMIT :places
ON CONFLICT DO NOTHING RETURNING id
""")  # noqa: S608  the schema's name is a constant
FIRST: Final = 4 * COST  # requests in flight allowed with a token whose limits are unknown


def admit(connection: Connection) -> list[int]:
    """Admit due projects, fairly, as far as slots are free; none if another worker is admitting."""
    if not connection.execute(text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": LOCK}).scalar():
        return []
    living = connection.execute(
        text(f"SELECT coalesce(sum(concurrency), 0) + count(*) FROM {SCHEMA}.workers WHERE {ALIVE}")  # noqa: S608
    ).scalar_one()
    under_way = connection.execute(select(func.count()).select_from(runs).where(runs.c.ended_at.is_(None))).scalar_one()
    places = int(living) - under_way
    values = {"places": places, "cost": COST, "first": FIRST}
    return list(connection.execute(_ADMISSION, values).scalars()) if places > 0 else []
