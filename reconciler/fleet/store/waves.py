"""Find the project that a wave waits for, in PostgreSQL: with 10,000 projects, each of them needs this."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import Connection, and_, func, not_, select

from reconciler.fleet.health import PASSING
from reconciler.fleet.model import FleetProject
from reconciler.fleet.status import StatusWord
from reconciler.fleet.store import projects as rows
from reconciler.fleet.store.dashboard.listing import HEALTH, STATUS
from reconciler.fleet.store.projects import ProjectRow
from reconciler.fleet.store.schema import projects


def behind(connection: Connection, project: FleetProject, commit: str, soak: timedelta) -> ProjectRow | None:
    """The first project of an earlier wave of the same repository that is not Synced at a commit and healthy for the soak time."""
    well = and_(
        STATUS.in_([StatusWord.SYNCED.value]),
        projects.c.reading["commit"].astext == commit,
        HEALTH.in_([word.value for word in PASSING]),
        projects.c.well_since <= func.now() - soak,
    )
    query = (
        select(projects.c.name)
        .where(
            projects.c.wave < project.wave,
            projects.c.orphaned_at.is_(None),
            projects.c.spec["source"]["git"].astext == project.source.git,
            not_(func.coalesce(well, False)),
        )
        .order_by(projects.c.wave, projects.c.name)
        .limit(1)
    )
    name = connection.execute(query).scalar()
    return rows.read(connection, [name])[0] if name is not None else None
