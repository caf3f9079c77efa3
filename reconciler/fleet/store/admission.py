"""Admission: choose the due projects to run next, in one query; the queue gets no more than workers can start.

The premise: a queue that gets every due project at once serves whoever came first. One tenant with a thousand projects would then delay all
others for an hour, and a token whose rate limit is spent would fill every slot of every worker with runs that wait. So a project stays out
of the queue until a worker is free for it, and who is next is decided each time, from what is running at that moment:

    tenant blue   token A:  a1 a2 a3        the turns of tokens, in a tenant    a1 b1 a2 b2 a3
                  token B:  b1 b2           the turns of tenants                a1 g1 b1 g2 a2 ...
    tenant green  token C:  g1 g2           free slots: 3                       a1 g1 b1   are admitted

- Tenants take turns, and within a tenant its tokens. Runs in progress count as turns that were taken: a tenant with three runs in progress
  waits until the others had three, too. Otherwise, a tenant with long runs would get more than its share.
- Within a token, first what somebody asked for (`wanted_at`: a sync, a push), then what is due for longest.
- A run is admitted only if the budget of its token is expected to be enough for it and for all runs in progress with that token: a run that
  waits for a rate limit holds a slot without working. What it will cost is what the last run of the project cost. A project that
  needs more than the whole limit runs alone, or it would never run.
- A clock that was set back leaves times in the future. A time further away than any that this program would write (`FAR`, `RESET_MAX`) does
  not count, or a project would stand still for as long as the clock was wrong.

One query, because between two of them another worker could admit the same project. What is admitted becomes a row of `runs`; a unique
index over the projects of runs in progress is the last line of defence.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, func, select, text

from reconciler.fleet.budget import RESET_MAX
from reconciler.fleet.schedule import BACKOFF_MAX
from reconciler.fleet.store.schema import SCHEMA, runs

# Any number that no other program on the same database uses for its advisory locks; these bytes are a word of ours.
LOCK: Final = 0x666C6164
# A worker's clock may be ahead of the database's by a little; a row from further in the future is not a worker that is alive.
ALIVE: Final = "seen_at BETWEEN now() - make_interval(secs => patience) AND now() + interval '1 minute'"
FAR: Final = f"interval '{BACKOFF_MAX + 60} seconds'"  # beyond the interval of a project: only a clock that was set back has such a time
COST: Final = 20  # assumed requests of a project's first run, until they are counted

_GET: Final = "b.\"left\"->'limits'->(b.\"left\"->'methods'->>'GET')"  # [left, resets at]; what is read is the most of a run
_ADMISSION: Final = text(f"""
-- The budget that the service named when it was last asked with this token. A new project with the same token shares it.
WITH named AS (
  SELECT DISTINCT ON (token, spec->>'baseUrl') token, spec->>'baseUrl' AS service, budget
  FROM {SCHEMA}.projects WHERE budget IS NOT NULL ORDER BY token, spec->>'baseUrl', read_at DESC NULLS LAST
), known AS (
-- Every project with what it is expected to cost, and whether it runs at this moment.
  SELECT p.id, p.tenant, p.token, p.next_due, p.wanted_at, p.paused, p.paused_until, p.orphaned_at, (p.spec->>'every')::int AS every,
    coalesce(p.cost, :cost) AS cost,
    coalesce(p.budget, n.budget, p.token || ' ' || (p.spec->>'baseUrl')) AS budget,
    EXISTS (SELECT 1 FROM {SCHEMA}.runs r WHERE r.project = p.id AND r.ended_at IS NULL) AS active
  FROM {SCHEMA}.projects p LEFT JOIN named n ON n.token = p.token AND n.service = p.spec->>'baseUrl'
-- What is in progress, by all that takes turns or is shared.
), tenants AS (SELECT tenant, count(*) AS n FROM known WHERE active GROUP BY tenant
), tokens AS (SELECT tenant, token, count(*) AS n FROM known WHERE active GROUP BY tenant, token
), spent AS (SELECT budget, sum(cost) AS cost FROM known WHERE active GROUP BY budget
), budgets AS (
-- The requests that are left: all of them again once the moment of the reset has passed.
  SELECT b.token AS budget, b.held_until,
    CASE WHEN jsonb_exists(b."left"->'unlimited', 'GET') THEN 2147483647
      WHEN ({_GET}->>1)::float8 - extract(epoch FROM now()) NOT BETWEEN 0 AND {RESET_MAX + 60} THEN (b."left"->'methods'->>'GET')::int
      ELSE ({_GET}->>0)::int END AS rest
  FROM {SCHEMA}.budgets b
), due AS (
-- Due, neither paused nor held nor running; `turn` is the place in its token, behind what runs already.
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
-- What all due projects up to this one would cost together.
  SELECT d.*, sum(cost) OVER (PARTITION BY budget ORDER BY turn, wanted_at NULLS LAST, next_due, id) AS needed FROM due d
), turns AS (
-- The places of tenants, counted over those whose budget suffices, so that a project that must wait takes no turn.
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
