"""The lease: at most one run at a time writes a state, and a run that lost it writes no more.

In: a database, and who asks. Out: `Lease`, which every writing transaction checks. Forbidden: waiting for another run; bindings.

The kernel keeps SQLite's lease, an flock on a file beside the database: it ends with its process, however that ends. PostgreSQL's is a row
that expires by the server's clock unless it is renewed. In both, the row contains an epoch that grows with every holder: a run that was
considered dead finds another epoch there.

Own code, because lock libraries (filelock, advisory locks) do not notify a stalled holder that another run took over.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from reconciler.errors import Locked, StateError
from reconciler.model.state import StateScope
from reconciler.state.connection import Connection
from reconciler.state.database import Database
from reconciler.state.errors import again, explaining
from reconciler.state.reading import find
from reconciler.state.tables.values import damaged
from reconciler.text.names import HERE, clock_time_of

LEASE_SECONDS: Final = 90.0  # PostgreSQL: how long a silent holder keeps it; every send must be over sooner
UNLOCK: Final = "`reconciler state unlock` takes it from one that hangs."
RENEWALS: Final = 3  # in the time a lease lasts, so that two may fail
SEND_SECONDS_MAX: Final = LEASE_SECONDS * (1 - 1 / RENEWALS)  # a request may take so long, and no longer, to be over inside the lease
LOCK_FILE_MAX: Final = 65_536  # bytes to read of a lock file, which anyone could have written

Uninterrupted = Callable[[], AbstractContextManager[None]]
"""A block that a signal does not cut short: whoever handles signals knows how. `nullcontext` where nobody does."""


@dataclass(frozen=True)
class Holder:
    """Who holds a lease."""

    # The id of the run.
    run: str
    # A person and a machine, as `ada@desk`.
    who: str
    # What was typed.
    command: str
    # When it was taken, ISO 8601.
    since: str
    # None where the process may be on another machine.
    pid: int | None = None


class Lease:
    """The right to write one state; `check` it inside each transaction that writes."""

    def __init__(self, database: Database, state: int, holder: Holder, *, seconds: float | None, instead_of: str | None = None) -> None:
        self._database = database
        self.state = state
        self._seconds = seconds
        self._ended = threading.Event()
        self.holder = holder
        self.epoch = again(lambda: self._taken(instead_of))

    def _taken(self, instead_of: str | None) -> int:
        with self._database.write() as connection:
            return _take(connection, self.state, self.holder, self._seconds, instead_of)

    def check(self, connection: Connection) -> None:
        """Make sure that the lease is still ours until this transaction ends, and renew it; raises StateError where another run took it."""
        if self._ended.is_set():
            wrong = "the lease on the state was released; nothing more is written"
            raise StateError(wrong, id="RC-lease-released", hint="This is a defect of Reconciler, please report it.")
        if self._seconds is None:
            kept = connection.value("SELECT epoch FROM leases WHERE state = :state", state=self.state) == self.epoch
        else:
            # First of all in its transaction: the row stays locked until the commit, so nobody can take the lease before this is durable.
            # An expired lease that nobody took is renewed, because nothing was written by anybody else since.
            renew = "UPDATE leases SET expires = clock_seconds() + :seconds WHERE state = :state AND epoch = :epoch"
            kept = connection.run(renew, seconds=self._seconds, state=self.state, epoch=self.epoch) == 1
        if not kept:
            raise StateError(
                "another run has taken over the lease on the state; this one writes and sends nothing more",
                id="RC-lease-lost",
                hint="Wait for the other run to end, then run again: it recovers what this run left open.",
            )

    @contextmanager
    def keep_alive(self, uninterrupted: Uninterrupted) -> Iterator[None]:
        """Keep the lease alive during this block, and release it at its end."""
        renewing = None
        if self._seconds is not None:
            renewing = threading.Thread(target=self._renew, args=(self._seconds / RENEWALS,), name="state-lease", daemon=True)
            renewing.start()
        try:
            yield
        finally:
            with uninterrupted():
                self._ended.set()
                if renewing is not None:
                    renewing.join()
                    self._give_back()

    def _renew(self, pause: float) -> None:
        while not self._ended.wait(pause):
            try:
                with self._database.write() as connection:
                    if not self._ended.is_set():
                        self.check(connection)
            except StateError:
                continue  # the next journal entry fails for the same reason, and says so

    def _give_back(self) -> None:
        freed = "UPDATE leases SET run = NULL, expires = NULL WHERE state = :state AND epoch = :epoch"
        try:
            with self._database.write() as connection:
                connection.run(freed, state=self.state, epoch=self.epoch)
        except StateError:
            return  # it expires by itself


def _take(connection: Connection, state: int, holder: Holder, seconds: float | None, instead_of: str | None) -> int:
    """Write the holder into the row of the lease and into the list of runs; returns the new epoch.

    Raises Locked while another run has it, unless it is to be taken from that run.
    """
    # Locked while it is read: of two runs that find it free, the second waits here, and then reads the name of the first.
    row = connection.row("SELECT * FROM leases WHERE state = :state FOR UPDATE", state=state)
    if row is None:
        raise damaged("its lease")
    held = seconds is not None and row.run is not None and row.expires > connection.value("SELECT clock_seconds()")
    if held and row.run != instead_of:
        raise locked(
            Holder(row.run, row.who, row.command, row.since), f"If that run died, its lease expires after {LEASE_SECONDS:g} s. {UNLOCK}"
        )
    values = {
        "state": state,
        "epoch": row.epoch + 1,
        "run": holder.run,
        "who": holder.who,
        "command": holder.command,
        "since": holder.since,
    }
    expires = "NULL" if seconds is None else "clock_seconds() + :seconds"
    taken = f"epoch = :epoch, run = :run, who = :who, command = :command, since = :since, expires = {expires}"
    connection.run(f"UPDATE leases SET {taken} WHERE state = :state", **values, seconds=seconds)
    connection.run("INSERT INTO runs (id, state, who, command, started) VALUES (:run, :state, :who, :command, :since)", **values)
    return int(row.epoch) + 1


def locked(holder: Holder | None, freed: str) -> Locked:
    """The error for a lease that another run has; `holder` is None where it is unknown."""
    hint = f"Wait for it to end, then run again. {freed}"
    if holder is None:
        return Locked("another run holds the state", id="RC-locked", hint=hint)
    process = f" (process {holder.pid})" if holder.pid is not None else ""
    return Locked(
        f"another run holds the state: {holder.who} has been running `{holder.command}`{process} since {clock_time_of(holder.since, HERE)}",
        id="RC-locked",
        hint=hint,
    )


@contextmanager
def lock_file(database: Path, holder: Holder) -> Iterator[None]:
    """Hold the lock file beside a database during this block; raises Locked at once where another process has it.

    The file stays behind, empty: removing it would let two runs lock two files of one name.
    """
    path = f"{database}.lock"
    with explaining(f"the lock file {path}"):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with explaining(f"the lock file {path}"):
            try:
                # flock and not lockf: a lock of the process would end when any other part of it closes the file, and would not exclude a
                # second lease in the same process.
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise locked(read_holder(handle), "The lock ends with its process, so there is nothing to unlock.") from None
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps(asdict(holder)).encode(), 0)
        try:
            yield
        finally:
            with suppress(OSError):  # a name left behind in a free lock misleads nobody
                os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def read_holder(handle: int) -> Holder | None:
    """The holder that wrote an open lock file; None where it names none."""
    try:
        holder = json.loads(os.pread(handle, LOCK_FILE_MAX, 0))
        return Holder(str(holder["run"]), str(holder["who"]), str(holder["command"]), str(holder["since"]), int(holder["pid"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None  # it is about to write it, or uses another format


# -- who holds a state, read without changing it ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Condition:
    """The condition of a state: whether it exists, is writable, has today's schema, and who holds it."""

    # Names it in messages.
    where: str
    # Whether it has today's schema; None where there is no state yet.
    current: bool | None
    # Whether this user may write the file and beside it; True on a server, which is asked only by writing.
    writable: bool
    # Whether another run holds it.
    held: bool = False
    # Which one; None where unknown.
    holder: Holder | None = None
    # For how long, unless it is renewed; None where the kernel keeps the lock.
    seconds: float | None = None
    # The file, where it is one.
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
