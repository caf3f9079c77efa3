"""The changes of the last seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy import Connection, Text, cast, func, literal, or_, select, union_all
from sqlalchemy.types import Interval

from reconciler.fleet.store.schema import audit, projects, runs

RECENT: Final = "20 seconds"  # longer than a transaction that writes the end of a run
SEEN_ONLY: Final = ("view", "login", "logout")
"""Actions in the audit log that change nothing."""


class FeedChange(NamedTuple):
    """`key`: of its row."""

    key: str
    project: str
    tenant: str


def recent(connection: Connection) -> Sequence[FeedChange]:
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
    decided = (
        select((literal("audit ") + cast(audit.c.id, Text)).label("key"), audit.c.project, audit.c.tenant)
        .where(audit.c.at > since, audit.c.project.is_not(None), audit.c.tenant.is_not(None), audit.c.action.not_in(SEEN_ONLY))
    )  # fmt: skip
    return [FeedChange(*row) for row in connection.execute(union_all(ran, decided))]
