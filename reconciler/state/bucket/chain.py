"""The chain: objects `journal/1`, `journal/2` and so on, each created once, and the snapshot that says where it can be read from.

In: changes. Out: an object that is durable and the only one with its number; or the one that has the number. Forbidden: lists, which may be
stale; deleting or replacing an object of the chain; SQL that comes from a bucket; what the tables mean.

An object holds the rows that a transaction changed, recorded by triggers and applied elsewhere. Rows and not statements, because a row is
the same in every version of the program, and because what a bucket contains must not be executed. Every change contains the row as it was:
where a row is different now, the change does not fit.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, TypeVar
from uuid import uuid4

from reconciler.errors import StateError
from reconciler.state.bucket.objects import Objects, Unreachable
from reconciler.state.tables.schema import TABLES
from reconciler.state.tables.values import RESTORE

# -- Changes -------------------------------------------------------------------------------------------------------------------------

Row = Sequence[Any]
Change = tuple[str, Row | None, Row | None]
"""Table, row before and row after; None where there was or is none."""

NUMBERED: Final = "outcomes", TABLES["outcomes"].index("id")
"""The table whose rows are numbered when they are applied, in the order of the chain, and the place of the number."""


class Unfit(Exception):
    """A row is not what it was."""


class Recorder:
    """What the current transaction changes."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.on = False

    def watch(self, connection: sqlite3.Connection) -> None:
        """Put triggers on all tables, which only this connection sees."""
        connection.create_function("changed", -1, self._changed)
        for table, columns in TABLES.items():
            old, new = (", ".join(f'{word}."{column}"' for column in columns) for word in ("OLD", "NEW"))
            for event, arguments in (("INSERT", new), ("DELETE", old), ("UPDATE", f"{old}, {new}")):
                connection.execute(
                    f'CREATE TEMP TRIGGER IF NOT EXISTS "{event} {table}" AFTER {event} ON main."{table}" '
                    f"BEGIN SELECT changed('{event}', '{table}', {arguments}); END"
                )

    def _changed(self, event: str, table: str, *values: Any) -> None:
        if not self.on:
            return
        if event == "UPDATE":
            half = len(values) // 2
            self.changes.append((table, values[:half], values[half:]))
        elif event == "INSERT":
            self.changes.append((table, None, _unnumbered(table, values)))
        else:
            self.changes.append((table, values, None))


def apply(connection: sqlite3.Connection, changes: Iterable[Change], columns: Mapping[str, Sequence[str]]) -> None:
    """Make the changes in a transaction of the caller's. `columns`: of the rows. Raises `Unfit`, and `KeyError` for an unknown table."""
    for (table, event), group in groupby(changes, key=lambda change: (change[0], (change[1] is None, change[2] is None))):
        rows = list(group)
        names = columns[table]
        if not _has(connection, table, names):
            raise KeyError(table)
        listed, marks = ", ".join(f'"{name}"' for name in names), ", ".join("?" * len(names))
        same, values = " AND ".join(f'"{name}" IS ?' for name in names), ", ".join(f'"{name}" = ?' for name in names)
        if event == (True, False):
            text, given = f'INSERT INTO "{table}" ({listed}) VALUES ({marks})', [[*(new or ())] for _, _, new in rows]
        elif event == (False, True):
            text, given = f'DELETE FROM "{table}" WHERE {same}', [[*(old or ())] for _, old, _ in rows]
        else:
            text, given = f'UPDATE "{table}" SET {values} WHERE {same}', [[*(new or ()), *(old or ())] for _, old, new in rows]
        try:
            number = connection.executemany(text, given).rowcount
        except sqlite3.IntegrityError as error:
            raise Unfit(table) from error
        if number != len(rows):
            raise Unfit(table)


def _has(connection: sqlite3.Connection, table: str, names: Sequence[str]) -> bool:
    """Whether a table of ours has these columns: names are part of a statement, so no other may come from a bucket."""
    if table not in TABLES:
        return False
    existing = {name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}
    return bool(names) and set(names) <= existing


def _unnumbered(table: str, row: Row) -> Row:
    if table != NUMBERED[0]:
        return row
    return [None if place == NUMBERED[1] else value for place, value in enumerate(row)]


# -- Objects -------------------------------------------------------------------------------------------------------------------------

FORMAT: Final = "reconciler.journal/1"
SNAPSHOT: Final = "snapshot.db.gz"
CLOCK: Final = "clock"
APPEND_SECONDS: Final = 20.0  # how long appending an object is retried; requests must end before the lease does
READ_SECONDS: Final = 15.0
PAUSES: Final = (0.1, 0.3, 1.0, 2.0)  # seconds before a request is repeated; the last is repeated
AHEAD: Final = 16  # objects that are read at the same time, at most
BYTES_MAX: Final = 1 << 30  # of an object, unpacked
REACH: Final = "Check the network, the endpoint and the region, then run again: nothing is sent that is not in the journal first."

T = TypeVar("T")


@dataclass(frozen=True)
class ChainObject:
    """An object of the chain. `version`: of the tables. `columns`: of the rows, by table."""

    number: int
    version: int
    columns: Mapping[str, Sequence[str]]
    changes: Sequence[Change]


class Chain:
    """The objects of one state. `where` names it in messages; `requests` counts what was sent."""

    def __init__(self, objects: Objects, where: str, *, pause: Callable[[float], None] = time.sleep) -> None:
        self._objects = objects
        self._where = where
        self._pause = pause
        self.requests = 0

    def snapshot(self) -> bytes | None:
        """The image of the last snapshot; None where there is no state."""
        content = self._read(lambda: self._objects.get(SNAPSHOT))
        if content is None:
            self._objects.check()
            return None
        return self._unpacked(content, SNAPSHOT)

    def begin(self, image: bytes) -> None:
        """Write the first snapshot, unless another run did."""
        self._read(lambda: self._objects.create(SNAPSHOT, _packed(image)))

    def compact(self, image: bytes) -> None:
        """Replace the snapshot. Raises `Unreachable`; nothing is lost then, because the chain has everything."""
        self.requests += 1
        self._objects.put(SNAPSHOT, _packed(image))

    def after(self, number: int) -> Iterator[ChainObject]:
        """The objects that follow a number, up to the first that does not exist."""
        width = 1
        while True:
            wanted = range(number + 1, number + 1 + width)
            if width == 1:
                contents = [self._get(wanted[0])]
            else:
                with ThreadPoolExecutor(width) as threads:
                    contents = list(threads.map(self._get, wanted))
            for number, content in zip(wanted, contents, strict=True):
                if content is None:
                    return
                yield self._link(number, content)
            width = min(2 * width, AHEAD)

    def append(self, number: int, version: int, changes: Sequence[Change]) -> ChainObject | None:
        """Create the object with that number: None where it is ours, and durable; else the object that has the number.

        After a lost response the object is read: it is ours where it has the content we sent, which nobody else can have sent.
        """
        content = _packed(_written(version, changes))
        name, until, attempt = _name(number), time.monotonic() + APPEND_SECONDS, 0
        while True:
            try:
                self.requests += 1
                if self._objects.create(name, content):
                    return None
                reason = "another object had its number, and was deleted"
            except Unreachable as error:
                reason = str(error)
            # Read, and not sent again: the attempt that was not answered may have created it, and another run may have been faster.
            stored = None
            with suppress(Unreachable):
                self.requests += 1
                stored = self._objects.get(name)
            if stored is not None:
                return None if stored == content else self._link(number, stored)
            if time.monotonic() > until:
                raise StateError(f"{self._where} could not be written: {reason}", id="RC-state-unreachable", hint=REACH)
            self._pause(PAUSES[min(attempt, len(PAUSES) - 1)])
            attempt += 1

    def time(self) -> float:
        """The time by the clock of the bucket: when it wrote an object that was just sent."""
        self._read(lambda: self._objects.put(CLOCK, b""))
        return self._read(lambda: self._objects.modified(CLOCK))

    def _get(self, number: int) -> bytes | None:
        return self._read(lambda: self._objects.get(_name(number)))

    def _read(self, request: Callable[[], T]) -> T:
        """The result of a request that may be repeated."""
        until, attempt = time.monotonic() + READ_SECONDS, 0
        while True:
            try:
                self.requests += 1
                return request()
            except Unreachable as error:
                if attempt >= len(PAUSES) or time.monotonic() > until:
                    raise StateError(f"{self._where} cannot be reached: {error}", id="RC-state-unreachable", hint=REACH) from error
            self._pause(PAUSES[attempt])
            attempt += 1

    def _link(self, number: int, content: bytes) -> ChainObject:
        name = _name(number)
        try:
            link = json.loads(self._unpacked(content, name))
            if link["format"] != FORMAT:
                raise self._damaged(name)
            changes = [(str(table), _read_row(old), _read_row(new)) for table, old, new in link["changes"]]
            return ChainObject(number, int(link["version"]), {str(table): list(names) for table, names in link["columns"].items()}, changes)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise self._damaged(name) from error

    def _unpacked(self, content: bytes, name: str) -> bytes:
        try:
            unpacking = zlib.decompressobj(wbits=31)
            unpacked = unpacking.decompress(content, BYTES_MAX)
        except zlib.error as error:
            raise self._damaged(name) from error
        if not unpacking.eof:
            raise self._damaged(name)
        return unpacked

    def _damaged(self, name: str) -> StateError:
        return StateError(f"{self._where} is damaged: {name} cannot be read", id="RC-state-damaged", hint=RESTORE)


def _name(number: int) -> str:
    return f"journal/{number}"


def _packed(content: bytes) -> bytes:
    return gzip.compress(content, 3, mtime=0)


def _written(version: int, changes: Sequence[Change]) -> bytes:
    tables = {table: TABLES[table] for table, _, _ in changes}
    document = {"format": FORMAT, "nonce": str(uuid4()), "version": version, "columns": tables, "changes": changes}
    return json.dumps(document, default=_hexadecimal, separators=(",", ":"), ensure_ascii=False).encode()


def _hexadecimal(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    raise TypeError(type(value).__name__)


def _read_row(row: Any) -> list[Any] | None:
    if row is None:
        return None
    return [bytes.fromhex(value["hex"]) if isinstance(value, dict) else value for value in row]
