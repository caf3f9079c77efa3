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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Float, bindparam, func, insert, select, update

from reconciler.errors import Locked, StateError
from reconciler.state.database import Database
from reconciler.state.errors import again, calm
from reconciler.state.tables.schema import leases, runs
from reconciler.state.tables.statements import EPOCH, Statement
from reconciler.state.uninterrupted import unbroken
from reconciler.text.times import HERE, clock_time_of

LEASE_SECONDS: Final = 90.0  # PostgreSQL: how long a silent holder keeps it; every send must be over sooner
UNLOCK: Final = "`reconciler state unlock` takes it from one that hangs."
RENEWALS: Final = 3  # in the time a lease lasts, so that two may fail
SEND_SECONDS_MAX: Final = LEASE_SECONDS * (1 - 1 / RENEWALS)  # a request may take so long, and no longer, to be over inside the lease
LOCK_FILE_MAX: Final = 65_536  # bytes to read of a lock file, which anyone could have written

NOW: Final = func.extract("epoch", func.clock_timestamp())
_OURS: Final = (leases.c.state == bindparam("of")) & (leases.c.epoch == bindparam("at"))
_RENEW: Final = Statement(lambda _: update(leases).where(_OURS).values(expires=NOW + bindparam("lasting", type_=Float)))


@dataclass(frozen=True)
class Holder:
    """Who holds a lease: `since` is ISO 8601, `pid` None where the process may be on another machine."""

    run: str
    who: str
    command: str
    since: str
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
            kept = EPOCH.run(connection, {"of": self.state}).scalar() == self.epoch
        else:
            kept = _RENEW.run(connection, {"of": self.state, "at": self.epoch, "lasting": self._seconds}).rowcount == 1
        if not kept:
            raise StateError(
                "another run has taken over the lease on the state; this one writes and sends nothing more",
                id="RC-lease-lost",
                hint="Wait for the other run to end, then run again: it recovers what this run left open.",
            )

    @contextmanager
    def keep_alive(self) -> Iterator[None]:
        """Keep the lease alive during this block, and release it at its end."""
        renewing = None
        if self._seconds is not None:
            renewing = threading.Thread(target=self._renew, args=(self._seconds / RENEWALS,), name="state-lease", daemon=True)
            renewing.start()
        try:
            yield
        finally:
            with unbroken():
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
        try:
            with self._database.write() as connection:
                ours = (leases.c.state == self.state) & (leases.c.epoch == self.epoch)
                connection.execute(update(leases).where(ours).values(run=None, expires=None))
        except StateError:
            return  # it expires by itself


def _take(connection: Connection, state: int, holder: Holder, seconds: float | None, instead_of: str | None) -> int:
    """Write the holder into the row of the lease and into the list of runs; returns the new epoch.

    Raises Locked while another run has it, unless it is to be taken from that run.
    """
    row = connection.execute(select(leases).where(leases.c.state == state).with_for_update()).one()
    held = seconds is not None and row.run is not None and row.expires > connection.execute(select(NOW)).scalar_one()
    if held and row.run != instead_of:
        raise locked(
            Holder(row.run, row.who, row.command, row.since), f"If that run died, its lease expires after {LEASE_SECONDS:g} s. {UNLOCK}"
        )
    expires = None if seconds is None else NOW + seconds
    taken = {"epoch": row.epoch + 1, "run": holder.run, "who": holder.who, "command": holder.command, "since": holder.since}
    connection.execute(update(leases).where(leases.c.state == state).values(**taken, expires=expires))
    connection.execute(insert(runs).values(id=holder.run, state=state, who=holder.who, command=holder.command, started=holder.since))
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
    with calm(f"the lock file {path}"):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with calm(f"the lock file {path}"):
            try:
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
        found = json.loads(os.pread(handle, LOCK_FILE_MAX, 0))
        return Holder(str(found["run"]), str(found["who"]), str(found["command"]), str(found["since"]), int(found["pid"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None  # it is about to write it, or uses another format
