"""The statements that every request of an apply runs, as text that is compiled once.

In: a connection inside a transaction, and rows. Out: rows written, or read. Forbidden: deciding what is recorded.

Own code, because SQLAlchemy finds a compiled statement by walking the whole expression: that takes longer than SQLite takes to run it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import Connection, CursorResult, Delete, Insert, Select, Table, Update, bindparam, delete, func, insert, select

from reconciler.state.tables import schema

Expression = Select[Any] | Insert | Update | Delete
Row = Mapping[str, Any]


class Statement:
    """One statement. `expression`: of a dialect's name. `columns`: the columns an insert writes; all of the table where not given."""

    def __init__(self, expression: Callable[[str], Expression], columns: Sequence[str] | None = None) -> None:
        self._expression = expression
        self._columns = columns
        self._made: dict[tuple[str, str | None], tuple[str, Callable[[Row], Any]]] = {}

    def run(self, connection: Connection, row: Row) -> CursorResult[Any]:
        """Run it once."""
        text, given = self._text(connection)
        return connection.exec_driver_sql(text, given(row))

    def run_all(self, connection: Connection, rows: Sequence[Row]) -> None:
        """Run it for each row, in their order; nothing where there is none."""
        if rows:
            text, given = self._text(connection)
            connection.exec_driver_sql(text, [given(row) for row in rows])

    def _text(self, connection: Connection) -> tuple[str, Callable[[Row], Any]]:
        schemas = connection.get_execution_options().get("schema_translate_map")
        key = connection.dialect.name, (schemas or {}).get(None)
        if key not in self._made:
            self._made[key] = self._compiled(connection, schemas)
        return self._made[key]

    def _compiled(self, connection: Connection, schemas: Any) -> tuple[str, Callable[[Row], Any]]:
        """The text, and what makes its parameters of a row: a tuple in their order, or the row itself where they have names."""
        names = None if self._columns is None else list(self._columns)
        compiled = self._expression(connection.dialect.name).compile(
            dialect=connection.dialect, column_keys=names, schema_translate_map=schemas, render_schema_translate=bool(schemas)
        )
        order: list[str] | None = getattr(compiled, "positiontup", None)
        if order is None:
            return str(compiled), _itself
        if len(order) == 1:
            (name,) = order
            return str(compiled), lambda row: (row[name],)
        return str(compiled), itemgetter(*order)


def inserting_of(dialect: str) -> Callable[..., Any]:
    """The INSERT of a dialect, whose ON CONFLICT is spelled the same in both; the other dialect is not imported."""
    if dialect == "sqlite":
        from sqlalchemy.dialects import sqlite

        return sqlite.insert
    from sqlalchemy.dialects import postgresql

    return postgresql.insert


def _itself(row: Row) -> Any:
    return row


def _into(table: Table, *without: str) -> Statement:
    return Statement(lambda _: insert(table).inline(), [column.name for column in table.columns if column.name not in without])


def _known(dialect: str) -> Insert:
    statement: Insert = inserting_of(dialect)(schema.known).on_conflict_do_nothing()
    return statement


def _field(dialect: str) -> Insert:
    add = inserting_of(dialect)(schema.fields)
    statement: Insert = add.on_conflict_do_update(
        index_elements=["state", "address", "name"], set_={name: add.excluded[name] for name in ("sent", "seen")}
    )
    return statement


def _at(table: Table, column: str) -> Any:
    return (table.c.state == bindparam("of")) & (table.c[column] == bindparam("at"))


ADD_KNOWN: Final = Statement(_known, [column.name for column in schema.known.columns])
ADD_INTENT: Final = _into(schema.journal)
ADD_OPEN: Final = _into(schema.open_intents)
ADD_BEFORE: Final = _into(schema.befores)
ADD_OUTCOME: Final = _into(schema.outcomes, "id")
ADD_AFTER: Final = _into(schema.afters)
ADD_BINDING: Final = _into(schema.bindings)
SET_FIELD: Final = Statement(_field, [column.name for column in schema.fields.columns])
CLOSE: Final = Statement(lambda _: delete(schema.open_intents).where(_at(schema.open_intents, "intent")))
UNBIND: Final = Statement(lambda _: delete(schema.bindings).where(_at(schema.bindings, "address")))
LAST_INTENT: Final = Statement(lambda _: select(func.max(schema.journal.c.id)).where(schema.journal.c.state == bindparam("of")))
EPOCH: Final = Statement(lambda _: select(schema.leases.c.epoch).where(schema.leases.c.state == bindparam("of")))
"""Rows of `ADD_...` and `SET_...` name the columns; the others take the state as `of`, and where they need more, what is meant as `at`."""
