"""Messages as rows: written with the event that they are about, sent by any worker, retried until they are a day old."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import Connection, func, insert, select, text, update

from reconciler.fleet.model import SecretReference
from reconciler.fleet.notices.events import Announced, Message, as_data, of_data
from reconciler.fleet.schedule import STALE_MIN, STALE_TIMES
from reconciler.fleet.store.schema import SCHEMA, notices, plans, projects

LEASE: Final = timedelta(minutes=3)  # in which a worker sends its message, or counts as dead
FIRST: Final = timedelta(seconds=30)  # after the first failure; doubled by each that follows
MOST: Final = timedelta(hours=1)
GIVEN_UP: Final = timedelta(days=1)
KEPT: Final = timedelta(days=30)

_QUIET: Final = text(f"""
SELECT name FROM {SCHEMA}.projects
WHERE orphaned_at IS NULL AND NOT (paused AND coalesce(paused_until > now(), true))
  AND NOT coalesce(announced->'open' ? 'unknown', false)
  AND (announced->>'unknownSince' IS NOT NULL
    OR read_at < now() - make_interval(secs => greatest(:least, :times * (spec->>'every')::int)))
ORDER BY id LIMIT 200 FOR UPDATE SKIP LOCKED
""")  # noqa: S608  the schema's name is a constant


@dataclass(frozen=True)
class Notice:
    """A message to be sent. `tries`: this one included."""

    id: int
    target: SecretReference
    title: str
    text: str
    tries: int
    severity: str


def announced(connection: Connection, project: int) -> Announced:
    """The announcements of a project; its row is locked until the transaction ends."""
    return of_data(connection.execute(select(projects.c.announced).where(projects.c.id == project).with_for_update()).scalar())


def digest(connection: Connection, project: int) -> str | None:
    """The digest of the last plan of a project."""
    return connection.execute(select(plans.c.digest).where(plans.c.project == project)).scalar()


def write(connection: Connection, project: int, messages: Sequence[Message], then: Announced, targets: Sequence[Mapping[str, Any]]) -> None:
    """Store announcements, and a row for each message and each target that subscribes to it. `targets`: those for the project's tenant."""
    connection.execute(update(projects).where(projects.c.id == project).values(announced=as_data(then)))
    rows = [
        {
            "project": project,
            "event": message.event.value,
            "target": target["url"],
            "title": message.title,
            "text": message.text,
            "severity": message.severity,
        }
        for message in messages
        for target in targets
        if message.event.value in target["on"]
    ]
    if rows:
        connection.execute(insert(notices), rows)


def possibly_unknown(connection: Connection) -> list[str]:
    """Projects that may be Unknown without a run, and were not announced as such; other workers get other projects meanwhile."""
    return list(connection.execute(_QUIET, {"least": STALE_MIN, "times": STALE_TIMES}).scalars())


def take(connection: Connection) -> Notice | None:
    """A message that is due and not being sent by another worker; it is due again unless its result is stored."""
    waiting = select(notices.c.id).where(notices.c.sent_at.is_(None), notices.c.given_up_at.is_(None), notices.c.next_try <= func.now())
    chosen = waiting.order_by(notices.c.next_try, notices.c.id).limit(1).with_for_update(skip_locked=True).scalar_subquery()
    taken = update(notices).where(notices.c.id == chosen).values(next_try=func.now() + LEASE, tries=notices.c.tries + 1)
    row = connection.execute(taken.returning(notices)).mappings().first()
    if row is None:
        return None
    target, severity = SecretReference.of(row["target"]), row["severity"] or "info"  # None: written by an older version
    return Notice(row["id"], target, row["title"], row["text"], row["tries"], severity)


def sent(connection: Connection, notice: Notice) -> None:
    connection.execute(update(notices).where(notices.c.id == notice.id).values(sent_at=func.now(), error=None))


def failed(connection: Connection, notice: Notice, why: str) -> None:
    """Store why a message was not sent. It is retried later, until it is a day old."""
    wait = min(FIRST * 2 ** min(notice.tries - 1, 10), MOST)
    values = {"error": why, "next_try": func.now() + wait}
    connection.execute(update(notices).where(notices.c.id == notice.id).values(values))
    old = update(notices).where(notices.c.id == notice.id, notices.c.at < func.now() - GIVEN_UP)
    connection.execute(old.values(given_up_at=func.now()))


def tidy(connection: Connection) -> None:
    """Delete old messages, sent or not."""
    connection.execute(text(f"DELETE FROM {SCHEMA}.notices WHERE at < now() - CAST(:kept AS interval)"), {"kept": KEPT})  # noqa: S608
