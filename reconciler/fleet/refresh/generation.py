"""When the generators of the fleet are reread, and the result of the last time: one row, and one worker at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from reconciler.fleet.store.schema import generation, revisions

IDLE: Final = 600  # seconds, if nothing is read
CLAIMED: Final = timedelta(minutes=15)  # in which a worker reads the generators, or counts as dead
AGAIN: Final = 60  # seconds after which they are reread if they could not be
_ROW: Final = 1


@dataclass(frozen=True)
class Claimed:
    """The fleet file whose generators this worker reads now. `every`: seconds until they are reread."""

    revision: int
    file: str
    text: str
    every: int


@dataclass(frozen=True)
class GeneratorReading:
    """The result of reading the generators. `read_at`: when they were last read completely. `error`: why they cannot be; `held`: why their
    present list does not take effect."""

    read_at: datetime | None
    error: str | None
    held: str | None


def claim(connection: Connection) -> Claimed | None:
    """The generators to read now; None if the fleet has none that read something, they are not due, or another worker reads them."""
    row = connection.execute(select(revisions).order_by(revisions.c.id.desc()).limit(1)).first()
    about = (row.settings or {}).get("generators") if row is not None else None
    if row is None or about is None:
        return None
    every = int(about["every"])
    connection.execute(upsert(generation).values(id=_ROW, next_due=func.now()).on_conflict_do_nothing())
    far = generation.c.next_due > func.now() + timedelta(seconds=every) + CLAIMED  # the clock of the database was set back
    due = update(generation).where(generation.c.id == _ROW, or_(generation.c.next_due <= func.now(), far))
    taken = connection.execute(due.values(next_due=func.now() + CLAIMED).returning(generation.c.id)).first()
    return Claimed(row.id, row.file, row.text, every) if taken is not None else None


def is_current(connection: Connection, claimed: Claimed) -> bool:
    """Whether no other fleet file has taken effect meanwhile."""
    return bool(connection.execute(select(func.max(revisions.c.id))).scalar() == claimed.revision)


def end(connection: Connection, claimed: Claimed, *, error: str | None = None, held: str | None = None) -> None:
    """Store the result, and when they are reread."""
    wait = timedelta(seconds=min(claimed.every, AGAIN) if error is not None else claimed.every)
    values: dict[str, Any] = {"next_due": func.now() + wait, "error": error, "held": held}
    if error is None:
        values["read_at"] = func.now()
    connection.execute(update(generation).where(generation.c.id == _ROW).values(values))


def begin(connection: Connection) -> None:
    """Store that a fleet file takes effect, whose generators were read just now."""
    about = connection.execute(select(revisions.c.settings).order_by(revisions.c.id.desc()).limit(1)).scalar() or {}
    every = timedelta(seconds=about.get("generators", {}).get("every", IDLE))
    values = {"next_due": func.now() + every, "read_at": func.now(), "error": None, "held": None}
    connection.execute(upsert(generation).values(id=_ROW, **values).on_conflict_do_update(index_elements=["id"], set_=values))


def hurry(connection: Connection, concerns: Callable[[str, str], bool]) -> bool:
    """Read the generators now if `concerns` matches a repository and ref that one of them lists."""
    about = connection.execute(select(revisions.c.settings).order_by(revisions.c.id.desc()).limit(1)).scalar() or {}
    repositories: Sequence[Sequence[str]] = about.get("generators", {}).get("repositories", ())
    if not any(concerns(git, ref) for git, ref in repositories):
        return False
    connection.execute(update(generation).where(generation.c.id == _ROW, generation.c.next_due > func.now()).values(next_due=func.now()))
    return True


def state(connection: Connection) -> GeneratorReading:
    """The result of the last time."""
    row = connection.execute(select(generation)).first()
    return GeneratorReading(row.read_at, row.error, row.held) if row is not None else GeneratorReading(None, None, None)
