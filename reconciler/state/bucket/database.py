"""A state in a bucket as a database: the tables in memory, and each transaction an object of the chain.

In: a URL. Out: a `Database`. Forbidden: what the tables mean; a commit in memory that is not in the bucket.

A transaction runs in memory. To commit it is to create the next object of the chain. Whoever finds that another object has the number
applies that one first: where the rows of the transaction are still what they were, it takes the next number; where not, it is void. The row
of the lease is among them in every transaction of a run, so a run whose lease was taken can commit nothing more.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

from reconciler.errors import StateError
from reconciler.state.bucket.chain import Chain, ChainObject, Recorder, Unfit, apply
from reconciler.state.bucket.objects import Folder, Objects, Unreachable
from reconciler.state.bucket.remote import Remote
from reconciler.state.connection import Connection, SqliteConnection
from reconciler.state.errors import Contended, explaining
from reconciler.state.tables import migrations
from reconciler.state.tables.schema import TABLES
from reconciler.state.tables.values import RESTORE

_URL: Final = re.compile(r"(s3|gs|az)://[A-Za-z0-9][A-Za-z0-9._-]*(/(?!\.+(/|$))[A-Za-z0-9._=-]+)*/?")
MAGIC: Final = b"SQLite format 3\0"
COMPACTED: Final = 100  # objects after which a continuing run writes a snapshot
OURS: Final = 1 + len(migrations.MIGRATIONS)  # the version of today's tables

T = TypeVar("T")


class _Memory(sqlite3.Connection):
    """A database in memory whose commits are published first."""

    publish: Callable[[], None]

    def commit(self) -> None:
        try:
            self.publish()
        except BaseException:
            self.rollback()
            raise
        super().commit()


def open_bucket(url: str, create: bool) -> Bucket:
    """The state at a URL of a bucket."""
    if url.startswith("file://"):
        path = Path(url.removeprefix("file://"))
        if not path.is_absolute() or set(url) & set("?%\0"):
            raise StateError(f"the state URL {url!r} names no folder", id="RC-state-url", hint="Write file:///PATH.")
        return Bucket(Folder(path), f"the state {url}", create=create)
    if not _URL.fullmatch(url):
        hint = "Write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX; credentials come from the environment."
        raise StateError("the state is not a valid URL of a bucket", id="RC-state-url", hint=hint)

    return Bucket(Remote(url.rstrip("/"), f"the state {url}"), f"the state {url}", create=create)


class Bucket:
    """All states under one prefix. Readers and writers have the same tables; only a writer asks the bucket for its time."""

    def __init__(self, objects: Objects, where: str, *, create: bool, pause: Callable[[float], None] = time.sleep) -> None:
        self.where = where
        self.path: Path | None = None
        self._chain = Chain(objects, where, pause=pause)
        self._writable = create
        self._lock = threading.RLock()
        self._recorder = Recorder()
        self._number = -1  # of the last object that is in memory; -1 where there is no state yet
        self._snapshot = 0  # of the object that the last snapshot includes
        self._version = OURS  # of the tables, as the chain has them
        self._behind = True  # the chain may have more than is in memory; not right after an object of ours
        self._wrote = False
        self._offset: float | None = None  # of the bucket's clock to this machine's monotonic one
        self._memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, factory=_Memory)
        self._memory.publish = self._publish
        # The clock that leases expire by: the bucket's, because the machines that share it may disagree about the time.
        self._memory.create_function("clock_seconds", 0, self._now)
        self._connection = SqliteConnection(self._memory)
        try:
            with explaining(where):
                self._load()
                if create and self._number < 0:
                    self._create()
        except BaseException:
            self._release()
            raise

    def read(self, work: Callable[[Connection], T]) -> T | None:
        with self._lock, explaining(self.where):
            self._refresh()
            if self._number < 0:
                return None
            with self._connection.transaction("BEGIN") as connection:
                return work(connection)

    def is_current(self) -> bool | None:
        with self._lock, explaining(self.where):
            self._refresh()
            return None if self._number < 0 else self._version == OURS

    @contextmanager
    def write(self) -> Iterator[Connection]:
        with self._lock, explaining(self.where):
            if self._behind:
                self._catch_up()
            if self._offset is None:
                self._offset = self._chain.time() - time.monotonic()
            self._memory.execute("PRAGMA foreign_keys = ON")
            self._recorder.watch(self._memory)
            self._recorder.changes.clear()
            with self._connection.transaction("BEGIN IMMEDIATE") as connection:
                self._recorder.on = True
                try:
                    yield connection
                finally:
                    self._recorder.on = False
            if self._number - self._snapshot >= COMPACTED:
                self._compact()

    def close(self) -> None:
        with self._lock:
            if self._wrote and self._number > self._snapshot:
                self._compact()
            self._release()

    @property
    def requests(self) -> int:
        """How many requests were sent to the bucket."""
        return self._chain.requests

    def _release(self) -> None:
        self._memory.close()

    # -- the chain ---------------------------------------------------------------------------------------------------------------

    def _load(self) -> None:
        """The last snapshot, and what follows it."""
        image = self._chain.snapshot()
        if image is None:
            return
        if not image.startswith(MAGIC):
            raise StateError(f"{self.where} is damaged: its snapshot is not a database", id="RC-state-damaged", hint=RESTORE)
        self._memory.deserialize(image)
        self._memory.execute("PRAGMA trusted_schema = OFF")
        if self._memory.execute("SELECT 1 FROM sqlite_schema WHERE type NOT IN ('table', 'index')").fetchone() is not None:
            raise StateError(f"{self.where} is damaged: its snapshot is not one of Reconciler's", id="RC-state-damaged", hint=RESTORE)
        self._number = self._snapshot = int(self._memory.execute("PRAGMA user_version").fetchone()[0])
        with self._connection.transaction("BEGIN") as connection:
            if migrations.is_current(connection, self.where) is None:
                raise StateError(f"{self.where} is damaged: its snapshot has no tables", id="RC-state-damaged", hint=RESTORE)
            self._version = migrations.version(connection) or OURS
        self._catch_up()

    def _create(self) -> None:
        with self._connection.transaction("BEGIN") as connection:
            migrations.prepare(connection, self.where)
        self._chain.begin(self._memory.serialize())
        self._load()

    def _refresh(self) -> None:
        self._behind = True
        if self._number < 0:
            self._load()
        else:
            self._catch_up()

    def _catch_up(self) -> None:
        """Apply what the chain has beyond the state in memory; then migrate tables of an older version, in memory only."""
        for link in self._chain.after(self._number):
            self._apply(link)
        self._migrate(OURS)

    def _apply(self, link: ChainObject) -> None:
        if link.version > OURS:
            wrong = f"{self.where} was written by a newer version: its schema is {link.version}, this version supports {OURS}"
            raise StateError(wrong, id="RC-state-newer", hint=migrations.NEWER_HINT)
        self._migrate(link.version)
        self._version = max(self._version, link.version)
        self._memory.execute("PRAGMA foreign_keys = OFF")  # what follows from a change was recorded too
        self._memory.execute("BEGIN IMMEDIATE")
        try:
            apply(self._memory, link.changes, link.columns)
        except (Unfit, KeyError, ValueError, TypeError, sqlite3.Error) as error:
            self._memory.rollback()
            raise StateError(
                f"{self.where} is damaged: journal/{link.number} does not follow what is before it", id="RC-state-damaged", hint=RESTORE
            ) from error
        self._memory.execute("COMMIT")
        self._number = link.number

    def _migrate(self, version: int) -> None:
        if self._tables() < version:
            with self._connection.transaction("BEGIN") as connection:
                migrations.prepare(connection, self.where, migrations.MIGRATIONS[: version - 1])

    def _tables(self) -> int:
        return int(self._memory.execute("SELECT version FROM reconciler_schema").fetchone()[0])

    def _publish(self) -> None:
        """Make the transaction that is open in memory the next object. Raises `StateError` where it is void, or its outcome is unknown."""
        changes = [*self._recorder.changes]
        self._recorder.changes.clear()
        if not changes:
            return
        self._recorder.on = False
        self._behind, self._wrote = True, False  # until its outcome is known
        while (other := self._chain.append(self._number + 1, OURS, changes)) is not None:
            self._memory.rollback()
            self._apply(other)
            self._memory.execute("BEGIN IMMEDIATE")
            try:
                apply(self._memory, changes, TABLES)
            except Unfit:
                raise Contended(
                    "another run has taken over the lease on the state; this one writes and sends nothing more",
                    id="RC-lease-lost",
                    hint="Wait for the other run to end, then run again: it recovers what this run left open.",
                ) from None
        self._behind = False
        self._number += 1
        self._version = OURS
        self._wrote = True

    def _compact(self) -> None:
        """Write a snapshot of what is in memory."""
        self._memory.execute(f"PRAGMA user_version = {self._number:d}")
        with suppress(Unreachable, StateError):  # the chain has everything
            self._chain.compact(self._memory.serialize())
            self._snapshot = self._number

    # -- time --------------------------------------------------------------------------------------------------------------------

    def _now(self) -> float:
        """The time by the bucket's clock, in seconds since 1970; a reader, which may write nothing there, takes this machine's."""
        return time.time() if self._offset is None else self._offset + time.monotonic()
