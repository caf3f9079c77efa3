"""The last proposal of each project: what was changed outside Reconciler, as files. Runs write it, and a job of the repository opens it."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.postgresql import insert as upsert

from reconciler.fleet.store.schema import proposals


def keep(connection: Connection, project: int, document: bytes | None) -> None:
    """Store the proposal of a project, compressed, instead of the one before; None deletes it."""
    if document is None:
        connection.execute(delete(proposals).where(proposals.c.project == project))
        return
    statement = upsert(proposals).values(project=project, document=document)
    connection.execute(statement.on_conflict_do_update(index_elements=[proposals.c.project], set_={"document": document}))


def stored(connection: Connection, project: int) -> bytes | None:
    """The proposal of a project, compressed; None without one."""
    document: bytes | None = connection.execute(select(proposals.c.document).where(proposals.c.project == project)).scalar()
    return document
