"""A whole state under another project name or environment: everything it tracks and its history, moved in one transaction.

In: a connection inside a transaction that holds the leases of both states. Out: one state, under the new name. Forbidden: losing a tracked
resource, a request in doubt or a run of either.
"""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import Any, Final

from reconciler.errors import Refused
from reconciler.model.state import StateScope
from reconciler.state.connection import Connection
from reconciler.state.tables.schema import insert
from reconciler.state.transfer.push import clear

# Tables that number requests, and the column that does.
NUMBERED: Final[Mapping[str, str]] = {"journal": "id", "outcomes": "intent", "befores": "intent", "afters": "intent"}
# What is moved of the history under the new name, with its order: what others refer to first.
MOVED: Final[Mapping[str, str]] = {
    "known": "digest", "journal": "id", "outcomes": "id", "befores": "intent", "afters": "intent", "turns": "id", "approvals": "run",
}  # fmt: skip


def refuse(connection: Connection, old: int, new: int) -> None:
    """Raise `Refused` where the new name tracks anything that the old one does not, or has a request in doubt."""
    name = _named(connection, new)
    doubtful = (
        "SELECT journal.address FROM journal"
        " JOIN open_intents ON open_intents.state = journal.state AND open_intents.intent = journal.id"
        " WHERE journal.state = :state ORDER BY journal.id LIMIT 1"
    )
    if (address := connection.value(doubtful, state=new)) is not None:
        forget = f"reconciler state forget {quote(address)} --in-doubt"
        hint = f"Run `reconciler apply` to find out what happened to it, or `{forget}`. Then repeat this."
        raise Refused(f"a request of {address} is in doubt under the name {name}", id="RC-in-doubt", hint=hint)
    tracked = "SELECT address, kind, id FROM bindings WHERE state = :state"
    theirs, own = ({*map(tuple, connection.rows(tracked, state=state))} for state in (old, new))
    if extra := sorted(own - theirs):
        more = f", and {len(extra) - 1:,} more" if len(extra) > 1 else ""
        hint = (
            f"Stop managing it under that name: `reconciler state forget {quote(extra[0][0])}`. Then repeat this, and "
            "run `reconciler plan`: what exists is adopted again."
        )
        raise Refused(f"{name} tracks {extra[0][0]} already{more}", id="RC-already-tracked", hint=hint)


def rename(connection: Connection, old: int, new: int, *, by: str) -> None:
    """Give the state `old` the name of the state `new`, which is deleted; its history follows that of `old`. `by`: the run of `new` that
    asks."""
    refuse(connection, old, new)
    first = connection.value("SELECT max(id) FROM journal WHERE state = :state", state=old) or 0
    turn = connection.value("SELECT max(id) FROM turns WHERE state = :state", state=old) or 0
    history = {
        table: [row._asdict() for row in connection.rows(f"SELECT * FROM {table} WHERE state = :state ORDER BY {order}", state=new)]
        for table, order in MOVED.items()
    }
    clear(connection, new)
    connection.run("DELETE FROM consents WHERE state = :state", state=old)  # a run that is continued under another name asks again
    connection.run("DELETE FROM runs WHERE id = :by", by=by)
    connection.run("UPDATE runs SET state = :old WHERE state = :new", old=old, new=new)
    for table, listed in history.items():
        without = ("id",) if table == "outcomes" else ()  # the database numbers them
        add = insert(table, *without) + (" ON CONFLICT DO NOTHING" if table == "known" else "")
        connection.run_all(add, [_moved(table, row, old, first, turn) for row in listed])
    name = connection.row("SELECT project, environment FROM states WHERE id = :state", state=new)
    connection.run("DELETE FROM leases WHERE state = :state", state=new)
    connection.run("DELETE FROM states WHERE id = :state", state=new)
    renamed = "UPDATE states SET project = :project, environment = :environment WHERE id = :state"
    connection.run(renamed, project=name.project, environment=name.environment, state=old)


def _named(connection: Connection, state: int) -> str:
    """The project of a state, with its environment if it has one."""
    row = connection.row("SELECT project, environment FROM states WHERE id = :state", state=state)
    return StateScope(row.project, row.environment or None, "").named


def _moved(table: str, row: dict[str, Any], state: int, first: int, turn: int) -> dict[str, Any]:
    """A row of the history, behind the requests and turns that the state has already."""
    moved = {**row, "state": state}
    if table in NUMBERED:
        moved[NUMBERED[table]] += first
    if table == "turns":
        moved["id"] += turn
    return moved
