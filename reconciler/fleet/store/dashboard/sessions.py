"""The sessions of the dashboard. A row has a digest of the cookie, so that nobody who reads the table can log in with it."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, delete, func, insert, select, update

from reconciler.fleet.store.schema import sessions

LASTS: Final = timedelta(hours=12)


@dataclass(frozen=True)
class Login:
    """A login. `person`: the person's data as JSON; `csrf`: the value in each form; `sealed`: what reads the person's groups again,
    encrypted with the cookie."""

    id: str
    person: Mapping[str, Any]
    csrf: str
    created_at: datetime
    expires_at: datetime
    sealed: str | None = None


def digest(cookie: str) -> str:
    return hashlib.sha256(f"reconciler.session/1\0{cookie}".encode()).hexdigest()


def begin(connection: Connection, person: Mapping[str, Any], seal: Callable[[str], str] | None = None) -> str:
    """The cookie of a new session; deletes expired ones. `seal`: returns what is stored encrypted with the cookie."""
    cookie = secrets.token_urlsafe(32)
    connection.execute(delete(sessions).where(sessions.c.expires_at < func.now()))
    values = {"id": digest(cookie), "person": dict(person), "csrf": secrets.token_urlsafe(32), "expires_at": func.now() + LASTS}
    values |= {"sealed": seal(cookie)} if seal is not None else {}
    connection.execute(insert(sessions).values(values))
    return cookie


def find(connection: Connection, id: str) -> Login | None:
    """The session with the digest of a cookie, unless it expired."""
    row = connection.execute(select(sessions).where(sessions.c.id == id, sessions.c.expires_at > func.now())).mappings().first()
    return Login(**row) if row is not None else None


def renew(connection: Connection, id: str, person: Mapping[str, Any], sealed: str) -> None:
    """Store what the provider says about the person of a session now."""
    connection.execute(update(sessions).where(sessions.c.id == id).values(person=dict(person), sealed=sealed))


def end(connection: Connection, id: str) -> None:
    connection.execute(delete(sessions).where(sessions.c.id == id))


def listed(connection: Connection) -> list[Login]:
    """The sessions that have not expired, oldest first."""
    query = select(sessions).where(sessions.c.expires_at > func.now()).order_by(sessions.c.created_at, sessions.c.id)
    return [Login(**row) for row in connection.execute(query).mappings()]


def end_all(connection: Connection, ids: Collection[str]) -> None:
    connection.execute(delete(sessions).where(sessions.c.id.in_(list(ids))))
