"""The SQLite file behind a sandbox: opening it, transactions, its own identity and clock, the tokens. Safe between processes."""

from __future__ import annotations

import errno
import os
import secrets
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from hmac import compare_digest
from pathlib import Path
from typing import Any

MEMORY = Path(":memory:")  # no file: what is in it ends with its only connection
APPLICATION = 0x52434E53  # "RCNS" in the file's header: this file is a sandbox
BUSY = 10_000  # milliseconds a writer waits for another process
MANY_FILES = bytes.fromhex("d9d505f920a163d7")  # the end of a journal that names another one

SCHEMA = """
create table if not exists meta (key text primary key, value text not null);
create table if not exists tokens (token text primary key, member text not null, organization text not null, access text not null);
create table if not exists objects (
  id text not null, kind text not null, organization text not null, container text not null, position real not null,
  data text not null, primary key (kind, id)
) without rowid;
create table if not exists requests (
  id integer primary key, at text not null, method text not null, path text not null, status integer not null
);
create table if not exists fault_log (
  number integer primary key, at text not null, rule text not null, fault text not null, method text not null, path text not null
);
create index if not exists siblings on objects (kind, container, position);
create index if not exists level on objects (container, position);
create index if not exists owned on objects (organization, kind, position);
create index if not exists in_site on objects (json_extract(data, '$.site'), kind, position);
create index if not exists paths on objects (json_extract(data, '$.site'), json_extract(data, '$.path')) where kind = 'section';
create index if not exists basenames on objects (organization, json_extract(data, '$.basename')) where kind = 'site';
create index if not exists deleted on objects (id) where kind = 'space' and json_extract(data, '$.deletedAt') is not null;
"""


STEP = 100_000  # instructions of SQLite between two looks at their number
STEPS_FREE = 3_000_000  # of one statement, whatever the file contains
STEPS_PER_BYTE = 10  # more of them for each byte of the file, of which a reading of all of it takes less than one


class Distrusting(sqlite3.Connection):
    """A connection to a file that anybody may have written: each statement ends. What its schema could run is refused by `_check`, because
    old versions of SQLite call the indexes above untrusted too."""

    def trust_nothing(self, db: Path) -> None:
        """Begin to count the steps of each statement."""
        self.steps, self.db = 0, db
        self.set_progress_handler(self._look, STEP)
        self.execute("pragma cell_size_check=on")

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        self.steps = 0
        return super().execute(*arguments)

    def _look(self) -> bool:
        """Whether a statement takes longer than what the file contains explains: then its pages lead in circles."""
        self.steps += STEP
        return self.steps > STEPS_FREE + STEPS_PER_BYTE * sum(path.stat().st_size for path in (self.db, _log(self.db)) if path.exists())


def _log(db: Path) -> Path:
    return _beside(db, "-wal")


def _beside(db: Path, end: str) -> Path:
    return Path(f"{os.path.realpath(db)}{end}")  # where SQLite looks for it, if a link leads to the file


def _check_beside(db: Path) -> None:
    """Raise `NotASandbox` if what SQLite would open beside a file is none, since it waits for the writer of a pipe; or if it is the journal
    of a transaction over several files, because SQLite deletes the file that the last bytes of that journal name, whatever it is."""
    for path in (_beside(db, end) for end in ("-journal", "-wal", "-shm")):
        with suppress(FileNotFoundError):  # also where another process has just closed the file
            if not stat.S_ISREG(path.lstat().st_mode):
                raise NotASandbox(f"{path}, beside the sandbox, is not a file; remove it, or choose another sandbox")
    with suppress(FileNotFoundError), _beside(db, "-journal").open("rb") as journal:
        journal.seek(max(0, journal.seek(0, os.SEEK_END) - len(MANY_FILES)))
        if journal.read() == MANY_FILES:
            wrong = f"{journal.name}, beside the sandbox, would have SQLite delete another file"
            raise NotASandbox(f"{wrong}; remove it, or choose another sandbox")


@cache
def _own() -> frozenset[str]:
    """The statements of everything that a sandbox contains, as SQLite keeps them."""
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.executescript(SCHEMA)
        return frozenset(sql for (sql,) in memory.execute("select sql from sqlite_master") if sql)


def _check(connection: sqlite3.Connection, db: Path) -> None:
    """Raise `NotASandbox` for a file of something else, or with anything in it that no sandbox contains: a view may never end."""
    if connection.execute("pragma application_id").fetchone()[0] != APPLICATION:
        raise NotASandbox(f"{db} is not a sandbox; choose another file")
    for what, name, sql in connection.execute("select type, name, sql from sqlite_master").fetchall():
        if sql not in _own() if sql is not None else what != "index" or not str(name).startswith("sqlite_autoindex_"):
            raise NotASandbox(
                f"{db} is not a sandbox: it contains the {what} {str(name)[:60]!r}, which no sandbox contains; choose another file"
            )


def _check_values(connection: sqlite3.Connection, db: Path) -> None:
    """Raise `NotASandbox` for a value of another type than its column's, which SQLite keeps as well, and for an object that is none."""
    tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'").fetchall()]
    for table in tables:
        columns = connection.execute("select name, lower(type) from pragma_table_info(?)", (table,)).fetchall()
        # the difference of an infinite number from itself is null
        wrong = [f"typeof({f'{name} - {name}' if kind == 'real' else name}) <> '{kind}'" for name, kind in columns]
        if table == "objects":
            wrong.append("case when json_valid(data) then json_type(data) <> 'object' else 1 end")
        if connection.execute(f"select 1 from {table} where {' or '.join(wrong)} limit 1").fetchone():  # noqa: S608 - our own names
            raise NotASandbox(f"{db} is not a sandbox: its table {table} has a value that no sandbox contains; choose another file")


_REASONS = {
    sqlite3.SQLITE_INTERRUPT: "it is damaged: reading it does not end",
    sqlite3.SQLITE_READONLY: "it cannot be written",
    sqlite3.SQLITE_CANTOPEN: "it cannot be written, or the folder that contains it",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_BUSY: "another process is writing to it",
}
"""Why SQLite cannot use a file, by the lower byte of its error code."""


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


class NotASandbox(Exception):
    """The file exists and is something else."""


class File:
    """One open file; use one a thread or one an event loop."""

    def __init__(self, db: Path, *, new_id: Callable[[str], str] | None = None) -> None:
        self.db = db
        self.new_id = new_id or (lambda prefix: f"{prefix}_{secrets.token_hex(6)}")
        self.created = db == MEMORY or self._prepared()
        connection = sqlite3.connect(db, timeout=BUSY / 1000, isolation_level=None, check_same_thread=False, factory=Distrusting)
        self.connection: sqlite3.Connection = connection
        try:
            if db != MEMORY:
                connection.trust_nothing(db)
            self._open()
        except sqlite3.OperationalError as error:
            self.connection.close()
            raise OSError(errno.EIO, _REASONS.get(_code(error), str(error)), str(db)) from error
        except sqlite3.DatabaseError as error:
            self.connection.close()
            raise NotASandbox(f"{db} is not a sandbox ({error}); choose another file") from error
        except NotASandbox:
            self.connection.close()
            raise

    def _prepared(self) -> bool:
        """Whether the file was created here, for this user only. Raises OSError, as everything here does where the disk is the reason."""
        _check_beside(self.db)
        self.db.parent.mkdir(parents=True, exist_ok=True)
        created = not self.db.exists() or self.db.stat().st_size == 0
        if created:
            os.close(os.open(self.db, os.O_CREAT | os.O_RDWR, 0o600))
        return created

    def _has_content(self) -> bool:
        return self.db != MEMORY and self.db.stat().st_size > 0

    def _open(self) -> None:
        run = self.connection.execute
        run(f"pragma busy_timeout={BUSY}")
        # a crash of the machine may lose the last writes of a sandbox, never its consistency, and every write is much faster
        run("pragma synchronous=normal")
        self._refuse_others()
        with self.write():
            # whoever else was creating the same file has finished by now, because the write lock was theirs
            if self._has_content():
                self._refuse_others()
                _check_values(self.connection, self.db)
            run(f"pragma application_id={APPLICATION}")
            for statement in SCHEMA.split(";"):
                if statement.strip():
                    run(statement)
            run("insert or ignore into meta values ('identity', ?)", (secrets.token_hex(16),))
        try:
            self.now()
        except (ValueError, OverflowError) as error:
            raise NotASandbox(f"{self.db} is not a sandbox: its clock shows no time ({error}); choose another file") from error
        self._log_ahead()

    def _refuse_others(self) -> None:
        if self._has_content():
            _check(self.connection, self.db)

    def _log_ahead(self) -> None:
        """Switch to the write-ahead log; SQLite itself does not wait for others here."""
        until = time.monotonic() + BUSY / 1000
        while True:
            try:
                self.connection.execute("pragma journal_mode=wal")
                return
            except sqlite3.OperationalError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.01)

    def close(self) -> None:
        self.connection.close()

    def discard(self) -> None:
        """Close it, and delete a file that this process created: what was to be stored in it failed."""
        self.close()
        if self.created and self.db != MEMORY:
            for file in (self.db, *self.db.parent.glob(f"{self.db.name}-*")):
                file.unlink(missing_ok=True)

    # -- transactions ----------------------------------------------------------------------------------------------------------

    @contextmanager
    def write(self) -> Iterator[None]:
        """One transaction that holds the file's only write lock; nests."""
        if self.connection.in_transaction:
            yield
            return
        # a transaction that begins with a reading cannot wait for the lock when it writes later: SQLite refuses it at once
        self.connection.execute("begin immediate")
        try:
            yield
        except BaseException:
            self.connection.execute("rollback")
            raise
        self.connection.execute("commit")

    # -- identity and clock ----------------------------------------------------------------------------------------------------

    def meta(self, key: str) -> str | None:
        row = self.connection.execute("select value from meta where key = ?", (key,)).fetchone()
        return row[0] if row else None

    def set_meta(self, key: str, value: str) -> None:
        with self.write():
            self.connection.execute("insert or replace into meta values (?, ?)", (key, value))

    @property
    def identity(self) -> str:
        """Never changes for a file; ids of one file mean nothing in another."""
        return str(self.meta("identity"))

    def now(self) -> datetime:
        """The service's clock: the machine's, moved by what was set, or standing still."""
        settings = dict(self.connection.execute("select key, value from meta where key in ('clock', 'offset')").fetchall())
        if "clock" in settings:
            return datetime.fromisoformat(settings["clock"])
        return datetime.now(UTC) + timedelta(seconds=float(settings.get("offset", 0)))

    def stamp(self) -> str:
        return iso(self.now())

    # -- tokens ----------------------------------------------------------------------------------------------------------------

    def token(self, token: str) -> tuple[str, str, str] | None:
        """(member, organization, access) of a seeded token."""
        row = self.connection.execute("select member, organization, access from tokens where token = ?", (token,)).fetchone()
        return (row[0], row[1], row[2]) if row else None

    def has_token(self, token: str) -> bool:
        """Whether a token is a seeded one, found out in a time that says nothing about those."""
        known = [row[0] for row in self.connection.execute("select token from tokens")]
        return sum(compare_digest(token.encode(errors="replace"), secret.encode()) for secret in known) > 0

    def add_token(self, token: str, member: str, organization: str, access: str) -> None:
        with self.write():
            self.connection.execute("insert or replace into tokens values (?, ?, ?, ?)", (token, member, organization, access))


def identity_of(db: Path) -> str:
    """The identity in a file, which is only read: it may be on a disk that cannot be written. Raises `NotASandbox`."""
    _check_beside(db)
    for how in ("mode=ro", "mode=ro&immutable=1"):  # SQLite writes beside a file with a log, unless nobody else can
        connection = sqlite3.connect(f"{db.absolute().as_uri()}?{how}", uri=True, timeout=BUSY / 1000, factory=Distrusting)
        try:
            connection.trust_nothing(db)
            _check(connection, db)
            return str(connection.execute("select value from meta where key = 'identity'").fetchone()[0])
        except sqlite3.OperationalError as error:
            if _code(error) == sqlite3.SQLITE_INTERRUPT:
                raise NotASandbox(f"{db} is not a sandbox: {_REASONS[sqlite3.SQLITE_INTERRUPT]}; choose another file") from error
            continue
        except sqlite3.DatabaseError as error:
            raise NotASandbox(f"{db} is not a sandbox ({error}); choose another file") from error
        finally:
            connection.close()
    raise NotASandbox(f"{db} is not a sandbox; choose another file")


def iso(moment: datetime) -> str:
    """A time as the service writes it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
