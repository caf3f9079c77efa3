"""A whole state under another project name or environment: everything it tracks and its history, moved in one transaction.

In: a connection inside a transaction that holds the leases of both states. Out: one state, under the new name. Forbidden: losing a tracked
resource, a request in doubt or a run of either.
"""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import Any, Final

from sqlalchemy import Connection, Table, delete, func, insert, select, update

from reconciler.errors import Refused
from reconciler.model.state import StateScope
from reconciler.state.tables import rows
from reconciler.state.tables.schema import (
    afters,
    approvals,
    befores,
    bindings,
    consents,
    fields,
    journal,
    known,
    leases,
    open_intents,
    outcomes,
    renames,
    rules,
    runs,
    states,
    turns,
)

NUMBERED: Final[Mapping[Table, str]] = {journal: "id", outcomes: "intent", befores: "intent", afters: "intent"}
"""Tables that number requests, and the column that does."""

MOVED: Final = (known, journal, outcomes, befores, afters, turns, approvals)
"""What is moved of the history under the new name, what others refer to first."""

DROPPED: Final = (consents, approvals, afters, befores, open_intents, outcomes, turns, journal, known, rules, renames, fields, bindings)


def refuse(connection: Connection, old: int, new: int) -> None:
    """Raise `Refused` where the new name tracks anything that the old one does not, or has a request in doubt."""
    name = _named(connection, new)
    doubtful = (
        select(journal.c.address)
        .join(open_intents, (open_intents.c.state == journal.c.state) & (open_intents.c.intent == journal.c.id))
        .where(journal.c.state == new)
        .order_by(journal.c.id)
    )
    if (address := connection.execute(doubtful.limit(1)).scalar()) is not None:
        forget = f"reconciler state forget {quote(address)} --in-doubt"
        hint = f"Run `reconciler apply` to find out what happened to it, or `{forget}`. Then repeat this."
        raise Refused(f"a request of {address} is in doubt under the name {name}", id="RC-in-doubt", hint=hint)
    tracked = select(bindings.c.address, bindings.c.kind, bindings.c.id)
    theirs = {tuple(row) for row in connection.execute(tracked.where(bindings.c.state == old))}
    own = {tuple(row) for row in connection.execute(tracked.where(bindings.c.state == new))}
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
    first = connection.execute(select(func.coalesce(func.max(journal.c.id), 0)).where(journal.c.state == old)).scalar_one()
    turn = connection.execute(select(func.coalesce(func.max(turns.c.id), 0)).where(turns.c.state == old)).scalar_one()
    kept = {table: [dict(row._mapping) for row in connection.execute(_ordered(table, new))] for table in MOVED}
    for table in DROPPED:
        connection.execute(delete(table).where(table.c.state == new))
    connection.execute(delete(consents).where(consents.c.state == old))  # a run that is continued under another name asks again
    connection.execute(delete(runs).where(runs.c.id == by))
    connection.execute(update(runs).where(runs.c.state == new).values(state=old))
    for table, listed in kept.items():
        for some in rows.chunks(_moved(table, row, old, first, turn) for row in listed):
            add = rows.inserting(connection)(known).on_conflict_do_nothing() if table is known else insert(table)
            connection.execute(add, some)
    name = connection.execute(select(states.c.project, states.c.environment).where(states.c.id == new)).one()
    connection.execute(delete(leases).where(leases.c.state == new))
    connection.execute(delete(states).where(states.c.id == new))
    connection.execute(update(states).where(states.c.id == old).values(project=name.project, environment=name.environment))


def _named(connection: Connection, state: int) -> str:
    """The project of a state, with its environment if it has one."""
    row = connection.execute(select(states.c.project, states.c.environment).where(states.c.id == state)).one()
    return StateScope(row.project, row.environment or None, "").named


def _ordered(table: Table, state: int) -> Any:
    return select(table).where(table.c.state == state).order_by(*table.primary_key.columns)


def _moved(table: Table, row: dict[str, Any], state: int, first: int, turn: int) -> dict[str, Any]:
    """A row of the history, behind the requests and turns that the state has already."""
    made = {**row, "state": state}
    if table in NUMBERED:
        made[NUMBERED[table]] += first
    if table is turns:
        made["id"] += turn
    if table is outcomes:
        del made["id"]  # the database numbers them
    return made
