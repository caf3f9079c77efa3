"""The seam between the state and its databases: the same SQL on sqlite3 and on psycopg 3.

In: statements as text, with values by name (`:state`). Out: rows, whose columns are attributes. Forbidden: what the tables mean.

Every statement of the state is written once, in the SQL that both databases share. Where they differ, the difference has a name here and
nowhere else:

    in the statement            SQLite                              PostgreSQL
    ------------------------    --------------------------------    ----------------------------------------
    :state                      :state                              %(state)s
    IN :ids (a list)            IN (SELECT value FROM json_each)    = ANY(...)
    FROM bindings               FROM bindings                       FROM reconciler.bindings
    clock_seconds()             a function of the bucket            the clock of the server
    FOR UPDATE                  nothing: BEGIN IMMEDIATE locks      FOR UPDATE
    BLOB, id INTEGER            BLOB, the id of the row             BYTEA, SERIAL
    WITHOUT ROWID               WITHOUT ROWID                       nothing

A connection commits nothing by itself: `transaction` begins and ends what it does, and `Pool` keeps it for the next one.

Own code, because an SQL library costs more here than the databases do: SQLAlchemy took 0.2 s of every start to import, and longer to find
a compiled statement than SQLite takes to run it (docs/decisions/0047-plain-sql-for-the-state.md).
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Final, Protocol, TypeVar

from reconciler.state.tables.schema import TABLES, TYPES, creating
from reconciler.state.tables.values import damaged

SCHEMA: Final = "reconciler"  # of PostgreSQL, where a database may be shared with other programs
Values = Mapping[str, Any]

_TYPES: Final = {"TEXT": str, "INTEGER": int, "BOOLEAN": int, "FLOAT": float, "BLOB": bytes}
_LIST: Final = re.compile(r"\bIN :(\w+)")
_VALUE: Final = re.compile(r":(\w+)")
_TABLE: Final = re.compile(rf"\b(FROM|JOIN|INTO|UPDATE|TABLE|EXISTS|REFERENCES|ON) ({'|'.join(TABLES)})\b(?!\.)")


class Connection:
    """A connection to a database of either sort. `dialect` is for the few places that cannot be the same text."""

    dialect: str

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def rows(self, sql: str, /, **values: Any) -> list[Any]:
        """Every row of the result, as a named tuple."""
        cursor = self.execute(sql, values)
        names, rows = tuple(column[0] for column in cursor.description), cursor.fetchall()
        self.check(names, rows)
        return [*map(_row_of(names)._make, rows)]

    def row(self, sql: str, /, **values: Any) -> Any:
        """The first row of the result; None where there is none."""
        rows = self.rows(sql, **values)
        return rows[0] if rows else None

    def value(self, sql: str, /, **values: Any) -> Any:
        """The first column of the first row; None where there is none."""
        cursor = self.execute(sql, values)
        row = cursor.fetchone()
        if row is None:
            return None
        self.check((cursor.description[0][0],), [row[:1]])
        return row[0]

    def run(self, sql: str, /, **values: Any) -> int:
        """Run a statement that returns no rows; the number of rows it changed."""
        number: int = self.execute(sql, values).rowcount
        return number

    def run_all(self, sql: str, rows: Sequence[Values]) -> None:
        """Run a statement for each of these values, in their order; nothing where there is none."""
        if rows:
            self.execute(sql, rows)

    def execute(self, sql: str, values: Values | Sequence[Values]) -> Any:
        """The cursor of a statement; every statement of the state passes here. `values`: of one execution, or of many."""
        raise NotImplementedError

    def check(self, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Raise StateError for values of another type than that of their columns."""

    @contextmanager
    def transaction(self, begin: str, *, keep: bool = True) -> Iterator[Connection]:
        """A transaction that is committed at the end of the block, and rolled back where it raises or is not to be kept."""
        self.execute(begin, {})
        try:
            yield self
            if keep:
                self.commit()
        finally:
            # After a commit there is nothing to roll back. A lost connection cannot: what broke it is the error to report.
            with suppress(Exception):
                self.raw.rollback()

    def commit(self) -> None:
        """End the transaction; when it returns, the transaction survives a power cut."""
        self.raw.commit()

    @property
    def usable(self) -> bool:
        """Whether another transaction can use the connection."""
        raise NotImplementedError

    def has_tables(self) -> bool | None:
        """Whether the tables of a state exist; None where the database contains the tables of another program instead."""
        raise NotImplementedError

    def others(self) -> list[str]:
        """The names of what the database contains beside tables of a state, where that could be code: views, triggers, other tables."""
        raise NotImplementedError


class SqliteConnection(Connection):
    """A file, or the tables of a bucket in memory."""

    dialect = "sqlite"
    raw: sqlite3.Connection

    def execute(self, sql: str, values: Values | Sequence[Values]) -> sqlite3.Cursor:
        if not isinstance(values, Mapping):
            return self.raw.executemany(_for_sqlite(sql), values)
        # SQLite has no arrays. A list of questions marks is limited to 999 of them in old versions, a text of JSON is not.
        lists = {name: json.dumps(value) for name, value in values.items() if isinstance(value, list)}
        return self.raw.execute(_for_sqlite(sql), {**values, **lists} if lists else values)

    def check(self, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        # a column of SQLite takes values of any type, whatever its own is
        for name, values in zip(names, zip(*rows, strict=True), strict=False):
            types = TYPES.get(name)
            if types is not None and not {*map(type, values)} <= {type(None), *(_TYPES[sort] for sort in types)}:
                raise damaged(f"a value of {name}")

    @property
    def usable(self) -> bool:
        return not self.raw.in_transaction

    def has_tables(self) -> bool | None:
        schema = self._schema()
        others = {name for name, _ in self._others()}
        # The version is read before it is known whether the rest is ours: a newer version has other tables.
        return True if "reconciler_schema" in schema.keys() - others else None if schema else False

    def others(self) -> list[str]:
        return [f"{what} {name}" for name, what in self._others()]

    def _schema(self) -> dict[str, tuple[str, str | None]]:
        """What the file contains: type and statement by name."""
        return {name: (what, text) for what, name, text in self.raw.execute("SELECT type, name, sql FROM sqlite_master").fetchall()}

    def _others(self) -> list[tuple[str, str]]:
        """What none of our statements has created, with its type. Whitespace makes no difference: earlier versions wrote it otherwise."""

        def is_ours(name: str, what: str, text: str | None) -> bool:
            if text is None:
                return what == "index" and str(name).startswith("sqlite_autoindex_")
            return _without_space(str(text)) in _statements()

        return [(str(name), str(what)) for name, (what, text) in self._schema().items() if not is_ours(name, what, text)]


STATISTICS: Final = ("CREATE TABLE sqlite_stat1(tbl,idx,stat)", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)")  # of ANALYZE


def _without_space(text: str) -> str:
    return "".join(text.split())


@cache
def _statements() -> frozenset[str]:
    """Every statement that creates a table of a state or an index of one, and SQLite's own."""
    return frozenset(map(_without_space, (*creating(*TABLES), *STATISTICS)))


ROWS_MAX: Final = 500  # of one INSERT; a statement of PostgreSQL has at most 65,535 parameters, and a row here at most 25


class PostgresConnection(Connection):
    """A connection to a server."""

    dialect = "postgresql"

    def execute(self, sql: str, values: Values | Sequence[Values]) -> Any:
        text = _for_postgres(sql)
        if isinstance(values, Mapping):
            return self.raw.execute(text, values)
        # Not `executemany`: psycopg sends it as a pipeline, and while the server waits for the end of one it calls the transaction active.
        # A run that is stopped at that moment would hold its locks for as long as it is stopped, because only idle transactions are ended.
        cursor = self.raw.cursor()
        head, _, row = text.partition(" VALUES ")
        if not row.endswith(")") or ") " in row:
            for change in values:
                cursor.execute(text, change)
            return cursor
        for first in range(0, len(values), ROWS_MAX):
            batch = values[first : first + ROWS_MAX]
            many = ", ".join(row.replace("%(", f"%({number}_") for number in range(len(batch)))
            cursor.execute(
                f"{head} VALUES {many}", {f"{number}_{name}": value for number, added in enumerate(batch) for name, value in added.items()}
            )
        return cursor

    @property
    def usable(self) -> bool:
        # 0 is libpq's PQTRANS_IDLE. A connection that the server closed is noticed when a statement fails, and not before.
        return not self.raw.closed and self.raw.info.transaction_status == 0

    def has_tables(self) -> bool:
        # Asked of the catalogue, which every role may read: to_regclass raises where a role may not use the schema.
        tables = "pg_catalog.pg_class AS t JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace"
        return (
            self.value(f"SELECT 1 FROM {tables} WHERE n.nspname = :schema AND t.relname = 'reconciler_schema'", schema=SCHEMA) is not None
        )

    def others(self) -> list[str]:
        return []  # a server is not in a checkout, and its schema is of those who administer it


class Pool:
    """Connections that wait for their next transaction: at most `keep` of them, the one used last first.

    A thread that finds none opens another, so that a renewal of the lease never waits for a commit of the journal.
    """

    def __init__(self, open: Callable[[], Connection], *, keep: int) -> None:
        self._open = open
        self._keep = keep
        self._idle: list[Connection] = []

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection that nobody else uses during the block."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._open()
        try:
            yield connection
        finally:
            if not connection.usable:
                # A server that ended one connection has most likely ended them all, as a restart does.
                self._close_idle()
                connection.raw.close()
            elif len(self._idle) < self._keep:
                self._idle.append(connection)
            else:
                connection.raw.close()

    def close(self) -> None:
        """Close every connection, those that another thread still uses when it gives them back."""
        self._keep = 0
        self._close_idle()

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().raw.close()


@cache
def _row_of(names: tuple[str, ...]) -> Any:
    """The class of rows with these columns; making one takes longer than reading a thousand rows."""
    return namedtuple("Row", names, rename=True)


@cache
def _for_sqlite(sql: str) -> str:
    return _LIST.sub(r"IN (SELECT value FROM json_each(:\1))", sql).removesuffix(" FOR UPDATE")


@cache
def _for_postgres(sql: str) -> str:
    # The schema is written into each statement: a search path would be lost where a proxy gives every transaction another connection.
    sql = _TABLE.sub(rf"\1 {SCHEMA}.\2", sql.replace("%", "%%"))
    sql = sql.replace("clock_seconds()", "CAST(extract(epoch FROM clock_timestamp()) AS float)")
    if sql.startswith("CREATE TABLE"):
        sql = sql.replace("BLOB", "BYTEA").replace(") WITHOUT ROWID", ")")
        # SQLite numbers the rows of a table whose only key is an integer; PostgreSQL needs a sequence for that.
        sql = sql.replace("id INTEGER NOT NULL", "id SERIAL NOT NULL") if "PRIMARY KEY (id)" in sql else sql
    return _VALUE.sub(r"%(\1)s", _LIST.sub(r"= ANY(:\1)", sql))


T = TypeVar("T")


class StoredTables(Protocol):
    """What can be asked for a part of the state: a store, the journal of a run, or a run that opens its store for each question."""

    def stored(self, work: Callable[[Connection, int], T]) -> T | None:
        """What `work` reads, given a connection inside a transaction and the number of the state; None where there is no state yet."""
