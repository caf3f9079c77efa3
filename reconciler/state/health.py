"""The condition of a state, read without changing it: whether it exists, is writable, has today's schema, and who holds it."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from reconciler.model.state import StateScope
from reconciler.state.connection import Connection
from reconciler.state.errors import explaining
from reconciler.state.lease import Holder, read_holder
from reconciler.state.reading import find


@dataclass(frozen=True)
class Condition:
    """`current`: None where there is no state yet, False where it has an older schema. `held`: by another run; `holder`: which, None where
    unknown.

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
    """Whether this user can write the file, or create it where it does not exist."""
    if path.exists():
        return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    return os.access(next(folder for folder in path.parents if folder.exists()), os.W_OK)


def file_holder(database: Path) -> tuple[bool, Holder | None]:
    """Whether another process holds the lock beside a database, and its holder. The lock is taken and released at once."""
    path = Path(f"{database}.lock")
    if not path.exists():
        return False, None
    with explaining(f"the lock file {path}"):
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True, read_holder(handle)
    finally:
        os.close(handle)
    return False, None


def row_holder(connection: Connection, scope: StateScope) -> tuple[Holder, float] | None:
    """The holder of an unexpired lease in a row, and the seconds until it expires; None where there is none."""
    row = find(connection, scope)
    lease = connection.row("SELECT * FROM leases WHERE state = :state", state=row.id) if row is not None else None
    if lease is None or lease.run is None or lease.expires is None:
        return None
    left = float(lease.expires) - float(connection.value("SELECT clock_seconds()"))
    return (Holder(lease.run, lease.who, lease.command, lease.since), left) if left > 0 else None
