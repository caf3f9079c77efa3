"""The version of the tables, and the way from every older one to today's.

In: a connection inside a writing transaction. Out: tables of today's version. Forbidden: values of the model.

Own code, because a list of functions is enough: Alembic's branches, scripts and downgrades are for schemas that many programs share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from reconciler.errors import StateError
from reconciler.state.connection import Connection
from reconciler.state.tables.schema import TABLES, creating
from reconciler.state.tables.values import mapping, to_json

Migration = Callable[[Connection], None]

MOST_NAMES: Final = 3  # names in a message
NAME_MAX: Final = 80  # characters of each
OTHERS_HINT: Final = (
    "Do not use it if you did not add that yourself: pass another file with --state, or move this one away. Otherwise drop it with the "
    "program that you added it with."
)
NEWER_HINT: Final = "Upgrade Reconciler, or use the version that last wrote this state."


def _new(*tables: str) -> Migration:
    """A migration that only adds tables."""

    def migrate(connection: Connection) -> None:
        for statement in creating(*tables):
            connection.run(statement)

    return migrate


def _ids_of_members(connection: Connection) -> None:
    """6: a member's id, which is the user's and the same in every organization, is prefixed by the organization's."""
    roots = connection.rows("SELECT state, address, id FROM bindings WHERE address NOT LIKE '%/%'")
    organizations = {(row.state, row.address): row.id for row in roots}

    def whole(state: int, address: str, id: str) -> str:
        organization = organizations.get((state, address.partition("/")[0]))
        return f"{organization}/{id}" if organization is not None and "/" not in id else id

    for table, key, column in (("bindings", "address", "id"), ("journal", "id", "target"), ("turns", "id", "target")):
        members = connection.rows(f"SELECT state, {key} AS key, address, {column} AS id FROM {table} WHERE kind = 'member'")
        changes = [
            {"state": row.state, "key": row.key, "id": whole(row.state, row.address, row.id)} for row in members if row.id is not None
        ]
        connection.run_all(f"UPDATE {table} SET {column} = :id WHERE state = :state AND {key} = :key", changes)
    for row in connection.rows("SELECT id, state, bound FROM outcomes WHERE bound LIKE '%/member/%'"):
        bound = mapping(row.bound, "an outcome")
        ids = {address: whole(row.state, address, id) if "/member/" in address else id for address, id in bound.items()}
        connection.run("UPDATE outcomes SET bound = :bound WHERE id = :id", bound=to_json(ids, "an outcome"), id=row.id)


# The nth takes version n to n + 1. They are only ever added to: somewhere there is a file of every version that was released.
MIGRATIONS: Final[tuple[Migration, ...]] = (
    _new("befores", "afters"),  # 2: what undo needs
    _new("rules"),  # 3: under which rules the project was last applied
    _new("turns"),  # 4: what history needs of a run that only changed the state
    _new("approvals"),  # 5: which run used which saved plan
    _ids_of_members,
    _new("consents"),  # 7: what a run was allowed to open
    _new("renames"),  # 8: which renames of the YAML have had their effect
    _new("page_trees"),  # 9: the pages of what is published
    _new("urls", "url_sites"),  # 10: where they answer, and answered
)


def version(connection: Connection) -> int | None:
    """The version of the tables in this database; None where there are none."""
    number: int | None = connection.value("SELECT version FROM reconciler_schema") if connection.has_tables() else None
    return number


def is_current(connection: Connection, where: str, migrations: Sequence[Migration] = MIGRATIONS) -> bool | None:
    """Whether the tables are today's; False: older, None: there are none. Raises StateError for newer ones, and for others' tables."""
    if connection.has_tables() is None:
        raise StateError(
            f"{where} is a different database: its tables are not those of a state",
            id="RC-not-a-state",
            hint="Pass another file with --state; a sandbox and a state are two different files.",
        )
    current, today = version(connection), 1 + len(migrations)
    if current is not None and current > today:
        wrong = f"{where} was written by a newer version: its schema is {current}, this version supports {today}"
        raise StateError(wrong, id="RC-state-newer", hint=NEWER_HINT)
    if current is not None and (others := connection.others()):
        names = [repr(name)[1:-1][:NAME_MAX] for name in others[:MOST_NAMES]] + [f"{len(others) - MOST_NAMES:,} more"] * (
            len(others) > MOST_NAMES
        )
        wrong = f"{where} contains what no state contains: {', '.join(names)}"
        raise StateError(wrong, id="RC-not-a-state", hint=OTHERS_HINT)
    return None if current is None else current == today


def prepare(connection: Connection, where: str, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Create the tables, or migrate older ones to today's version; the caller's transaction makes it all or nothing."""
    current, today = is_current(connection, where, migrations), 1 + len(migrations)
    if current is None:
        _new(*TABLES)(connection)
        connection.run("INSERT INTO reconciler_schema (version) VALUES (:version)", version=today)
    elif not current:
        for migrate in migrations[(version(connection) or 1) - 1 :]:
            migrate(connection)
        connection.run("UPDATE reconciler_schema SET version = :version", version=today)
