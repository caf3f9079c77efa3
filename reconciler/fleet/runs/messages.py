"""Messages about the present state of a project, after a run or because its runs no longer report anything; and sending them."""

from __future__ import annotations

from sqlalchemy import Connection

from reconciler.errors import ReconcilerError
from reconciler.fleet import drift, drift_groups, status
from reconciler.fleet.facts import decided_drift, facts_of, health_of
from reconciler.fleet.notices.events import Seen, messages
from reconciler.fleet.notices.send import NotSent, send
from reconciler.fleet.pages import links
from reconciler.fleet.store import FleetDatabase, notices, projects


def announce(connection: Connection, name: str, *, applied: bool = False, read: bool = False) -> None:
    """Write the messages about the present state of a project. `applied`, `read`: what the run did that has just ended, if one has."""
    (row,) = projects.read(connection, [name])
    settings = projects.settings(connection)
    targets = [
        target for target in settings.get("notifications", ()) if target["tenants"] is None or row.project.tenant in target["tenants"]
    ]
    dashboard = (settings.get("dashboard") or {}).get("url")
    page = f"{dashboard.rstrip('/')}{links.project(name)}" if dashboard else ""
    facts = facts_of(row)
    reading = facts.reading
    groups = reading.groups if reading is not None and not row.orphaned else ()
    groups = drift_groups.without_ignored(groups, drift.ignores(decided_drift(connection, row, groups, continues=None)))
    seen = Seen(
        name, status.status(facts, row.now), health_of(row), reading, row.error, row.failures, row.waits,
        notices.digest(connection, row.id), applied, read, page, groups, settings.get("notify", {}),
    )  # fmt: skip
    announced, then = messages(notices.announced(connection, row.id), seen, row.now)
    notices.write(connection, row.id, announced, then, targets)


def announce_quiet(connection: Connection) -> None:
    """Write the messages about projects that became Unknown without a run."""
    for name in notices.possibly_unknown(connection):
        announce(connection, name)


def deliver(database: FleetDatabase) -> bool:
    """Send a message that is due; False if there is none."""
    with database.transaction() as connection:
        notice = notices.take(connection)
    if notice is None:
        return False
    why = None
    try:
        send(notice.target, notice.title, notice.text, notice.severity)
    except NotSent as error:
        why = str(error)
    except ReconcilerError as error:
        why = error.message
    with database.transaction() as connection:
        if why is None:
            notices.sent(connection, notice)
        else:
            notices.failed(connection, notice, why)
    return True
