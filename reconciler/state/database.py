"""One database: opening it, and transactions in it.

In: a URL. Out: `Database`, which reads and writes in transactions that are durable when they end. Forbidden: what the tables mean.

A `Database` that may not create writes nothing at all: no file, and not the two files SQLite puts beside a database it reads. A database
that nobody has open is therefore read as immutable, and read again if someone wrote to it meanwhile.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import quote

from sqlalchemy import Connection, Engine, NullPool, QueuePool, StaticPool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.util import LRUCache

from reconciler.errors import StateError
from reconciler.links import written_place
from reconciler.state.errors import READABLE, calm
from reconciler.state.postgres import Postgres
from reconciler.state.tables import migrations

BUSY_SECONDS: Final = 5.0  # how long to wait for another program's transaction
_ADDRESSES: Final = "Write sqlite:///PATH, postgresql://USER@HOST/NAME or s3://BUCKET/PREFIX (also gs:// and az://)."
BUCKETS: Final = ("s3://", "gs://", "az://", "file://")
READ_ATTEMPTS: Final = 20  # a state that is written again during each of so many readings is not read

T = TypeVar("T")


class Database(Protocol):
    """What the store needs of a database; `where` names it in messages, without a password."""

    where: str
    path: Path | None  # the file, where it is one

    def read(self, work: Callable[[Connection], T]) -> T | None:
        """The result of `work` on one consistent view, perhaps called more than once; None where there is no state yet."""

    def is_current(self) -> bool | None:
        """Whether the tables are today's; False: older, None: there are none."""

    def write(self) -> _Transaction:
        """A transaction that is durable when the block ends, and void when it raises."""

    def close(self) -> None:
        """Close every connection."""


class _Transaction(Protocol):
    def __enter__(self) -> Connection: ...
    def __exit__(self, *raised: Any) -> bool | None: ...


def connect(url: str, *, create: bool) -> Database:
    """The database at `url`; with `create` it is created, or migrated to today's schema, at once."""
    if url.startswith("sqlite:"):
        return SqliteFile(_path(url), create=create)
    if url.startswith(BUCKETS):
        from reconciler.state.bucket.database import opened  # imported only where it is used

        return opened(url, create=create)
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise StateError("the state is not a valid URL", id="RC-state-url", hint=_ADDRESSES) from None
    if parsed.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise StateError(f"a state cannot be stored in {parsed.drivername!r}", id="RC-state-url", hint=_ADDRESSES)

    return Postgres(parsed, create=create)


def _path(url: str) -> Path:
    """The file a URL names, taken as it is written: nothing in it is decoded."""
    scheme, slashes, path = url.partition(":///")
    if scheme != "sqlite" or not slashes or path in ("", ":memory:") or "?" in path or "\0" in path:
        raise StateError(
            f"the state URL {url!r} names no file", id="RC-state-url", hint="Write sqlite:///PATH, or sqlite:////PATH for an absolute one."
        )
    return Path(os.path.realpath(path))  # one file, one lock, whatever links lead to it


class SqliteFile:
    """A state in one file of this machine: WAL, synchronous=FULL, readable by its owner only."""

    def __init__(self, path: Path, *, create: bool, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path: Path | None = path
        self.where = f"the state {path}"
        self._file = path
        self._busy = busy_seconds
        self._writable = create
        self._engine = engine_over(self._connect, QueuePool if create else NullPool)
        if create:
            try:
                with calm(self.where):
                    _make(path)
                with self.write() as connection:
                    migrations.prepare(connection, self.where)
            except BaseException:
                self.close()
                raise

    def read(self, work: Callable[[Connection], T]) -> T | None:
        with calm(self.where):
            if self._writable:
                with self._engine.begin() as connection:
                    return work(connection)
            return self._read_only(work)

    def is_current(self) -> bool | None:
        with calm(self.where):
            if not self._writable and self._file.exists() and self._abandoned:
                with self._copied() as copy:
                    if copy is not None:
                        return copy.is_current()
            if not self._file.exists():
                return None
            _check_regular(self._file)
            with self._engine.begin() as connection:
                return migrations.is_current(connection, self.where)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        with calm(self.where), self._engine.connect().execution_options(immediate=True) as connection, connection.begin():
            yield connection

    def close(self) -> None:
        self._engine.dispose()

    def _connect(self) -> sqlite3.Connection:
        """A connection; the fresh file exists already, so SQLite never makes one with other permissions."""
        mode = "mode=rw" if self._writable else "mode=ro" if self._wal else "immutable=1"
        connection = sqlite3.connect(
            f"file:{quote(str(self._file))}?{mode}", uri=True, timeout=self._busy, isolation_level=None, check_same_thread=False
        )
        try:
            if self._writable:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=FULL")
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
        found = os.stat(self._file)
        return found.st_ino, found.st_size, found.st_mtime_ns, self._wal

    def _read_only(self, work: Callable[[Connection], T]) -> T | None:
        if not self._file.exists():
            return None
        _check_regular(self._file)
        for _ in range(READ_ATTEMPTS):
            if self._abandoned:
                with self._copied() as copy:
                    if copy is not None:
                        return copy.read(work)
                continue
            before = self._stamp()
            try:
                with self._engine.begin() as connection:
                    current = migrations.is_current(connection, self.where)
                    if current is None:
                        result = None
                    else:
                        result = work(connection) if current else self._read_migrated(work)
            except (SQLAlchemyError, sqlite3.Error, StateError):
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
        copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        with closing(copy), closing(self._connect()) as original:
            original.backup(copy)
            engine = engine_over(lambda: copy, StaticPool)
            with engine.begin() as connection:
                migrations.prepare(connection, self.where)
                return work(connection)


def engine_over(connect: Callable[[], Any], pool: type[QueuePool] | type[NullPool] | type[StaticPool]) -> Engine:
    """An engine over connections of sqlite3."""
    sizes: dict[str, Any] = {"pool_size": 2, "max_overflow": 2, "use_lifo": True, "timeout": 30} if pool is QueuePool else {}
    model = _model()
    connections = pool(connect, dialect=model.dialect, **sizes)
    engine = Engine(connections, model.dialect, model.url, hide_parameters=True, execution_options={"compiled_cache": _COMPILED})
    event.listen(engine, "begin", _begin)
    return engine


_COMPILED: Final = LRUCache[Any, Any](500)
"""Statements by the dialect they were compiled for: a command opens the state several times, and compiles each statement once."""


@cache
def _model() -> Engine:
    """An engine that knows SQLite; its dialect serves the engines of all files."""
    engine = create_engine("sqlite://")
    engine.connect().close()  # the dialect asks its first connection what this SQLite can do
    engine.dispose()
    return engine


def _begin(connection: Connection) -> None:
    """Start the transaction ourselves, because sqlite3 would start it late; a writing one excludes other writers from the start."""
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("immediate") else "BEGIN")


def _make(path: Path) -> None:
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
        _check_regular(path)
        return
    for folder in (path.parent, *(file.parent for file in missing)):
        directory = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _check_regular(path: Path) -> None:
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise StateError(f"the state {path} is not a file", id="RC-state-not-a-file", hint=READABLE)
