"""A state in one file of this machine: WAL, synchronous=FULL, readable by its owner only.

In: a path. Out: a `Database`. Forbidden: what the tables mean.

Opened without `create`, it writes nothing at all: no file, and not the two files SQLite puts beside a database it reads. A database that
nobody has open is therefore read as immutable, and read again if someone wrote to it meanwhile.
"""

from __future__ import annotations

import os
import shlex
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Final, TypeVar
from urllib.parse import quote

from reconciler.errors import StateError
from reconciler.links import written_place
from reconciler.state.connection import Connection, Pool, SqliteConnection
from reconciler.state.errors import READABLE, explaining
from reconciler.state.hostile import BESIDE, JOURNAL, STEPS_FREE, STEPS_PER_BYTE, STEPS_WRITING, HostileFile, distrusted, names_another
from reconciler.state.tables import migrations
from reconciler.text.backends import file_of, url_of
from reconciler.writing import sync_folder

BUSY_SECONDS: Final = 5.0  # how long to wait for another program's transaction
READ_ATTEMPTS: Final = 20  # a state that is written again during each of so many readings is not read
# A reading sees one moment: everything after its first SELECT is of the same snapshot.
READ: Final = "BEGIN"
# A writing transaction takes the lock at its start. A plain BEGIN would take it at its first write, and could then be refused with no way
# to wait: what it has read so far would be of a moment that another transaction has changed.
WRITE: Final = "BEGIN IMMEDIATE"

T = TypeVar("T")


def open_file(url: str, create: bool) -> SqliteFile:
    """The file a URL names, taken as it is written: nothing in it is decoded."""
    path = file_of(url)
    if not url.startswith(url_of(path)) or path in ("", ":memory:") or "?" in path or "\0" in path:
        raise StateError(
            f"the state URL {url!r} names no file", id="RC-state-url", hint="Write sqlite:///PATH, or sqlite:////PATH for an absolute one."
        )
    return SqliteFile(Path(os.path.realpath(path)), create=create)  # one file, one lock, whatever links lead to it


class SqliteFile:
    """One file. `busy_seconds`: how long to wait for another program's transaction."""

    def __init__(self, path: Path, *, create: bool, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path: Path | None = path
        self.where = f"the state {path}"
        self._file = path
        self._busy = busy_seconds
        self._writable = create
        # A reader keeps no connection: an immutable file must be opened again after each reading that somebody disturbed.
        self._pool = Pool(lambda: SqliteConnection(self._connect()), keep=2 if create else 0)
        if create:
            try:
                with explaining(self.where):
                    _create(path)
                with self.write() as connection:
                    migrations.prepare(connection, self.where)
            except BaseException:
                self.close()
                raise

    def read(self, work: Callable[[Connection], T]) -> T | None:
        def look(database: SqliteFile, connection: Connection) -> T | None:
            current = migrations.is_current(connection, self.where)
            if current is None:
                return None
            return work(connection) if current else database._read_migrated(work)

        with explaining(self.where):
            if self._writable:
                with self._transaction(READ) as connection:
                    return work(connection)
            return self._view(look)

    def is_current(self) -> bool | None:
        with explaining(self.where):
            return self._view(lambda _, connection: migrations.is_current(connection, self.where))

    @contextmanager
    def write(self) -> Iterator[Connection]:
        with explaining(self.where), self._transaction(WRITE) as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        with self._pool.connection() as connection:
            connection.raw.allow(self._steps if begin == READ else lambda: STEPS_WRITING)
            with connection.transaction(begin):
                yield connection

    def _steps(self) -> int:
        """The most steps of a transaction that reads."""
        return STEPS_FREE + STEPS_PER_BYTE * sum(
            os.path.getsize(path) for path in (self._file, f"{self._file}-wal") if os.path.exists(path)
        )

    def close(self) -> None:
        self._pool.close()

    def _connect(self) -> HostileFile:
        """A connection; the fresh file exists already, so SQLite never makes one with other permissions."""
        mode = "mode=rw" if self._writable else "mode=ro" if self._wal else "immutable=1"
        connection = distrusted(f"file:{quote(str(self._file))}?{mode}", uri=True, timeout=self._busy)
        try:
            if self._writable:
                # WAL: readers never wait for the run that writes, and a commit is one fsync of the log instead of several.
                connection.execute("PRAGMA journal_mode=WAL")
                # FULL: in WAL, NORMAL would fsync at checkpoints only. A commit that returned could then be lost in a power cut, and with
                # it the intent of a request that was sent meanwhile.
                connection.execute("PRAGMA synchronous=FULL")
            # Of the connection and not of the file, so it is set each time; the deletion of a binding deletes its fields.
            connection.execute("PRAGMA foreign_keys=ON")
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def _wal(self) -> bool:
        return os.path.exists(f"{self._file}-wal")

    @property
    def _abandoned(self) -> bool:
        """Whether a killed run left its log, and nobody has the file open: SQLite would create a third file to read it."""
        return self._wal and not os.path.exists(f"{self._file}-shm")

    @contextmanager
    def _copied(self) -> Iterator[SqliteFile | None]:
        """A copy of the file and its log, next to which SQLite may create files; None where someone opened it meanwhile."""
        with TemporaryDirectory(prefix="reconciler-state-") as folder:
            path, log = Path(folder, self._file.name), Path(f"{self._file}-wal")
            try:
                before = self._stamp(), os.stat(log).st_mtime_ns
                copyfile(self._file, path)
                copyfile(log, f"{path}-wal")
                same = self._abandoned and before == (self._stamp(), os.stat(log).st_mtime_ns)
            except FileNotFoundError:
                same = False
            if not same:
                yield None
                return
            Path(f"{path}-shm").touch(mode=0o600)
            copy = SqliteFile(path, create=False, busy_seconds=self._busy)
            copy.where = self.where
            try:
                yield copy
            finally:
                copy.close()

    def _stamp(self) -> tuple[int, ...]:
        """What changes when someone writes to the file, or opens it to write."""
        status = os.stat(self._file)
        return status.st_ino, status.st_size, status.st_mtime_ns, self._wal

    def _view(self, look: Callable[[SqliteFile, Connection], T]) -> T | None:
        """What `look` finds in a view that nobody disturbed; None where there is no file. It gets the file or a copy, and a connection."""
        if not self._file.exists():
            return None
        _check(self._file)
        for _ in range(READ_ATTEMPTS):
            if not self._writable and self._abandoned:
                with self._copied() as copy:
                    if copy is not None:
                        return copy._view(look)
                continue
            # With a log, SQLite itself shows one moment. Without one, the file is read as immutable: SQLite looks for no changes, so they
            # are looked for here, and a view of two moments is thrown away, whatever came of it.
            before = self._stamp()
            try:
                with self._transaction(READ) as connection:
                    result = look(self, connection)
            except (sqlite3.Error, StateError):
                if before[-1] or self._stamp() == before:
                    raise
                continue
            if before[-1] or self._stamp() == before:
                return result
        raise StateError(
            f"{self.where} is being written all the time", id="RC-state-busy", hint="Wait for the other run to end, then run again."
        )

    def _read_migrated(self, work: Callable[[Connection], T]) -> T:
        """Read tables of an older version: a copy in memory is migrated."""
        copy = distrusted(":memory:")
        copy.allow(self._steps)
        with closing(copy), closing(self._connect()) as original:
            original.backup(copy)
            with SqliteConnection(copy).transaction(READ) as connection:
                migrations.prepare(connection, self.where)
                return work(connection)


def _create(path: Path) -> None:
    """Create the file and its missing directories before SQLite sees them: accessible to the owner only, and on the disk.

    An existing file is never opened here: closing it would drop the locks SQLite holds on it in this process. Raises `LinkRefused` if the
    file would be created where a link of a checkout leads.
    """
    if not path.exists():
        written_place(path)
    missing = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        _check(path)
        return
    for folder in (path.parent, *(file.parent for file in missing)):
        sync_folder(folder)


def _check(path: Path) -> None:
    """Raise `StateError` if a file, or one that SQLite would open beside it, is none, or would have SQLite delete another one."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise StateError(f"the state {path} is not a file", id="RC-state-not-a-file", hint=READABLE)
    for beside in (f"{path}{end}" for end in BESIDE):
        hint = f"Reconciler did not write that. Remove it: rm {shlex.quote(beside)}"
        with suppress(FileNotFoundError):  # also where another process has just closed the state
            if not stat.S_ISREG(os.lstat(beside).st_mode):
                raise StateError(f"{beside}, beside the state, is not a file", id="RC-state-not-a-file", hint=hint)
            if beside.endswith(JOURNAL) and names_another(Path(beside)):
                raise StateError(f"{beside}, beside the state, would have SQLite delete another file", id="RC-not-a-state", hint=hint)
