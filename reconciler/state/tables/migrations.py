"""The version of the tables, and the way from every older one to today's.

In: a connection inside a writing transaction. Out: tables of today's version. Forbidden: values of the model.

Own code, because a list of functions is enough: Alembic's branches, scripts and downgrades are for schemas that many programs share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, create_mock_engine, insert, inspect, select, update

from reconciler.errors import StateError
from reconciler.state.tables.schema import (
    METADATA,
    afters,
    approvals,
    befores,
    bindings,
    consents,
    journal,
    outcomes,
    renames,
    rules,
    turns,
    version,
)
from reconciler.state.tables.values import mapping, to_json

Migration = Callable[[Connection], None]


def _befores_and_afters(connection: Connection) -> None:
    """2: what undo needs."""
    METADATA.create_all(connection, tables=[befores, afters])


def _rules(connection: Connection) -> None:
    """3: under which rules the project was last applied."""
    METADATA.create_all(connection, tables=[rules])


def _turns(connection: Connection) -> None:
    """4: what history needs of a run that only changed the state."""
    METADATA.create_all(connection, tables=[turns])


def _approvals(connection: Connection) -> None:
    """5: which run used which saved plan."""
    METADATA.create_all(connection, tables=[approvals])


def _ids_of_members(connection: Connection) -> None:
    """6: a member's id, which is the user's and the same in every organization, is prefixed by the organization's."""
    held = connection.execute(select(bindings.c.state, bindings.c.address, bindings.c.id)).all()
    outer = {(row.state, row.address): row.id for row in held if "/" not in row.address}

    def whole(state: int, address: str, id: str) -> str:
        organization = outer.get((state, address.partition("/")[0]))
        return f"{organization}/{id}" if organization is not None and "/" not in id else id

    for table, column in ((bindings, bindings.c.id), (journal, journal.c.target), (turns, turns.c.target)):
        key = list(table.primary_key.columns)
        rows = connection.execute(select(*key, table.c.state, table.c.address, column).where(table.c.kind == "member")).all()
        for row in rows:
            if row[-1] is not None:
                same = [each == value for each, value in zip(key, row, strict=False)]
                connection.execute(update(table).where(*same).values({column: whole(row.state, row.address, row[-1])}))
    told = select(outcomes.c.id, outcomes.c.state, outcomes.c.bound).where(outcomes.c.bound.contains("/member/"))
    for number, state, text in connection.execute(told).all():
        bound = mapping(text, "an outcome")
        ids = {address: whole(state, address, id) if "/member/" in address else id for address, id in bound.items()}
        connection.execute(update(outcomes).where(outcomes.c.id == number).values(bound=to_json(ids, "an outcome")))


def _consents(connection: Connection) -> None:
    """7: what a run was allowed to open."""
    METADATA.create_all(connection, tables=[consents])


def _renames(connection: Connection) -> None:
    """8: which renames of the YAML have had their effect."""
    METADATA.create_all(connection, tables=[renames])


MIGRATIONS: Final[tuple[Migration, ...]] = (_befores_and_afters, _rules, _turns, _approvals, _ids_of_members, _consents, _renames)
"""The nth takes version n to n + 1; they only ever grow in number."""

NEWER_HINT: Final = "Upgrade Reconciler, or use the version that last wrote this state."


def _create(connection: Connection) -> None:
    """Create all tables of today; in a file there are none before, and the statements are the same for each."""
    if connection.dialect.name != "sqlite":
        METADATA.create_all(connection)
        return
    for statement in _statements():
        connection.exec_driver_sql(statement)


@cache
def _statements() -> tuple[str, ...]:
    """The statements that create the tables and their indexes in a file of SQLite."""
    elements: list[Any] = []
    engine = create_mock_engine("sqlite://", lambda element, *_: elements.append(element))
    METADATA.create_all(engine, checkfirst=False)
    return tuple(str(element.compile(dialect=engine.dialect)) for element in elements)


def found_version(connection: Connection) -> int | None:
    """The version of the tables in this database; None where there are none."""
    schema = (connection.get_execution_options().get("schema_translate_map") or {}).get(None)
    if not inspect(connection).has_table(version.name, schema=schema):
        return None
    return connection.execute(select(version.c.version)).scalar()


def is_current(connection: Connection, where: str, migrations: Sequence[Migration] = MIGRATIONS) -> bool | None:
    """Whether the tables are today's; False: older, None: there are none. Raises StateError for newer ones, and for others' tables."""
    found, ours = found_version(connection), 1 + len(migrations)
    if found is None:
        if connection.dialect.name == "sqlite" and inspect(connection).get_table_names():
            raise StateError(
                f"{where} is a different database: its tables are not those of a state",
                id="RC-not-a-state",
                hint="Pass another file with --state; a sandbox and a state are two different files.",
            )
        return None
    if found > ours:
        wrong = f"{where} was written by a newer version: its schema is {found}, this version supports {ours}"
        raise StateError(wrong, id="RC-state-newer", hint=NEWER_HINT)
    return found == ours


def prepare(connection: Connection, where: str, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Create the tables, or migrate older ones to today's version; the caller's transaction makes it all or nothing."""
    current = is_current(connection, where, migrations)
    if current is None:
        _create(connection)
        connection.execute(insert(version).values(version=1 + len(migrations)))
    elif not current:
        for migrate in migrations[(found_version(connection) or 1) - 1 :]:
            migrate(connection)
        connection.execute(update(version).values(version=1 + len(migrations)))
