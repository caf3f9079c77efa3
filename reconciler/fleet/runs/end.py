"""What the end of a run says beside its own row: health, a sample for charts, notices for people, a line of the audit log."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, case, func

from reconciler.fleet import health, status
from reconciler.fleet.facts import facts_of, health_of
from reconciler.fleet.notices.events import Seen, messages
from reconciler.fleet.schedule import stale_after
from reconciler.fleet.store import notices, projects, runs, samples
from reconciler.fleet.store.schema import projects as tables

if TYPE_CHECKING:
    from reconciler.fleet.runs.work import Result


def values(begun: runs.Begun, result: Result) -> dict[str, Any]:
    """The columns of the project about the health that was read. Nothing, where nothing was read."""
    if result.reading is None or result.health is None:
        return {}
    every, now = begun.project.every, datetime.now(UTC)
    synced = status.status(status.Facts(every, result.reading, now), now).word is status.Word.SYNCED
    passes = health.health(result.health, now, now, every=every)
    again = tables.c.read_at < func.now() - stale_after(every)  # nobody knows how it was meanwhile
    since = case((again, func.now()), else_=func.coalesce(tables.c.well_since, func.now()))
    return {
        "health": {"word": passes.word.value, **health.as_data(result.health)},
        "health_at": func.now(),
        "well_since": since if synced and passes.word in health.PASSING else None,
    }


def after(connection: Connection, begun: runs.Begun, result: Result) -> None:
    """Write what follows from the end of a run, in its transaction."""
    if result.reading is not None:
        now = datetime.now(UTC)
        word = status.status(status.Facts(begun.project.every, result.reading, now), now).word
        samples.write(connection, begun.project_id, word, result.reading)
    announce(connection, begun.project.name, applied=result.applied, read=result.reading is not None)


def announce(connection: Connection, name: str, *, applied: bool = False, read: bool = False) -> None:
    """Write the messages about a project as it is now. `applied`, `read`: what the run did that has just ended, if one has."""
    (row,) = projects.read(connection, [name])
    settings = projects.settings(connection).get("notifications", ())
    targets = [target for target in settings if target["tenants"] is None or row.project.tenant in target["tenants"]]
    facts = facts_of(row)
    seen = Seen(
        name, status.status(facts, row.now), health_of(row), facts.reading, row.error, row.failures, row.waits,
        notices.digest(connection, row.id), applied, read,
    )  # fmt: skip
    found, then = messages(notices.announced(connection, row.id), seen, row.now)
    notices.write(connection, row.id, found, then, targets)


def announce_quiet(connection: Connection) -> None:
    """Write the messages about projects of which no run says that they are Unknown."""
    for name in notices.quiet(connection):
        announce(connection, name)
