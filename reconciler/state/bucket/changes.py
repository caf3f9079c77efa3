"""The rows that a transaction changes: recorded by triggers, and applied elsewhere.

In: a database in memory. Out: changes as data. Forbidden: SQL that comes from a bucket; what the tables mean.

Rows and not statements, because a row is the same in every version of the program, and because what a bucket contains must not be executed.
Every change contains the row as it was: where a row is different now, the change does not fit.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from reconciler.state.tables.schema import TABLES

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
