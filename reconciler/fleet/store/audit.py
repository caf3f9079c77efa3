"""The audit log: who saw, approved and ran what. Lines are added, never changed; the database refuses it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, func, insert, select, text

from reconciler.fleet.model import AuditRecord as AuditRecord
from reconciler.fleet.store.schema import audit

BATCH = 1_000
SELF: Final = "the fleet"  # the person of a line about an automatic action
SETTLED = text("(at < now() - interval '1 hour' OR age(audit.xmin) > age(pg_snapshot_xmin(pg_current_snapshot())::xid))")


def write(connection: Connection, *lines: AuditRecord) -> None:
    """Add lines, in the transaction of the action that they record."""
    if lines:
        values = [
            {"person": line.person, "action": line.action, "project": line.project, "tenant": line.tenant, "details": dict(line.details)}
            for line in lines
        ]
        connection.execute(insert(audit), values)


def has(connection: Connection, action: str, details: Mapping[str, Any], *, within: timedelta) -> bool:
    """Whether there is a line of an action with these details, not older than `within`."""
    query = select(audit.c.id).where(audit.c.at > func.now() - within, audit.c.action == action, audit.c.details.contains(dict(details)))
    return connection.execute(query.limit(1)).first() is not None


def has_begun(connection: Connection, run: int) -> bool:
    """Whether the log says that a run, which has not ended, began to apply."""
    recent = audit.c.at > func.now() - text("interval '1 day'")
    query = select(audit.c.id).where(recent, audit.c.action == "begin-apply", audit.c.details["run"].astext == str(run))
    return connection.execute(query.limit(1)).first() is not None


def read(
    connection: Connection, *, after: int = 0, since: datetime | None = None, tenants: Sequence[str] | None = None, settled: bool = False
) -> Iterator[AuditRecord]:
    """The lines after an id and a time, oldest first. `tenants`: only lines of these; None for all.

    `settled`: without lines that one with a smaller id may still precede, because its transaction has not ended: reading on after the last
    id then misses none.
    """
    while True:
        query = select(audit).where(audit.c.id > after).order_by(audit.c.id).limit(BATCH)
        if since is not None:
            query = query.where(audit.c.at > since)
        if tenants is not None:
            query = query.where(audit.c.tenant.in_(list(tenants)))
        if settled:
            query = query.where(SETTLED)
        rows = connection.execute(query).mappings().all()
        for row in rows:
            yield AuditRecord(**row)
        if len(rows) < BATCH:
            return
        after = rows[-1]["id"]
