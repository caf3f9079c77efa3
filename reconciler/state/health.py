"""How a state is doing, found out without changing it: whether it is there, can be written, is of today's schema, and who holds it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from sqlalchemy import Connection, select

from reconciler.dataclass import dataclass
from reconciler.model.state import StateScope
from reconciler.state.errors import calm
from reconciler.state.lease import NOW, Holder, read_holder
from reconciler.state.reading import find
from reconciler.state.tables.schema import leases


@dataclass(frozen=True)
class Condition:
    """`current`: None where there is no state yet, False where it has an older schema. `held`: by another run; `holder`: which, if told.

    `seconds`: for how long, unless it is renewed; None where the kernel keeps the lock. `path`: the file, where it is one. `writable`:
    whether this user may write the file and beside it; True on a server, which is asked only by writing.
    """

    where: str
    current: bool | None
    writable: bool
    held: bool = False
    holder: Holder | None = None
    seconds: float | None = None
    path: Path | None = None


def writable(path: Path) -> bool:
    """Whether the file, or else what would be made for it, can be written by this user."""
    if path.exists():
        return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    return os.access(next(folder for folder in path.parents if folder.exists()), os.W_OK)


def file_holder(database: Path) -> tuple[bool, Holder | None]:
    """Whether another process holds the lock beside a database, and who that is. The lock is asked for and let go of at once."""
    path = Path(f"{database}.lock")
    if not path.exists():
        return False, None
    with calm(f"the lock file {path}"):
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True, read_holder(handle)
    finally:
        os.close(handle)
    return False, None


def row_holder(connection: Connection, scope: StateScope) -> tuple[Holder, float] | None:
    """Who holds the lease that stands in a row and has not expired, and for how many seconds; None where nobody does."""
    row = find(connection, scope)
    found = connection.execute(select(leases).where(leases.c.state == row.id)).one_or_none() if row is not None else None
    if found is None or found.run is None or found.expires is None:
        return None
    left = float(found.expires) - float(connection.execute(select(NOW)).scalar_one())
    return (Holder(found.run, found.who, found.command, found.since), left) if left > 0 else None
