"""Reading a state: which row is whose, and the whole of it as a value.

In: a connection inside a transaction. Out: `StateScope`'s row, `State`, ids of others. Forbidden: writing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, bindparam, func, select

from reconciler.address import Address
from reconciler.errors import StateError
from reconciler.model import State
from reconciler.model.marker import PREFIX, is_mark
from reconciler.model.state import StateScope
from reconciler.state.tables import rows, values
from reconciler.state.tables.direct import DONE
from reconciler.state.tables.renames import read_renames
from reconciler.state.tables.rules import read_rules
from reconciler.state.tables.schema import bindings, journal, outcomes, rules, states, turns
from reconciler.state.unfinished import is_unfinished, read_consents, read_readdressed

# Statements are built once: building one takes longer than running it.
_SCOPE: Final[dict[str, Any]] = {name: bindparam(name) for name in ("project", "environment", "service")}
_ROW: Final = select(states.c.id, states.c.lineage, states.c.serial, states.c.digest_key).filter_by(**_SCOPE)
_STATE: Final = select(states.c.lineage, states.c.serial, states.c.project, states.c.environment, states.c.service).where(
    states.c.id == bindparam("of")
)
_ENDED: Final = (outcomes.c.state == journal.c.state) & (outcomes.c.intent == journal.c.id)
_CREATED_OR_DELETED: Final = (
    select(journal.c.address, journal.c.verb, journal.c.kind, journal.c.target)
    .join(outcomes, _ENDED)
    .where(outcomes.c.state == bindparam("of"), outcomes.c.status.in_(DONE), outcomes.c.at >= bindparam("since"))
    .where(journal.c.verb.in_(("create", "delete")))
    .order_by(outcomes.c.id)
)
_WRITTEN: Final = (
    select(journal.c.address, journal.c.verb, journal.c.deadline, outcomes.c.bound)
    .join(outcomes, _ENDED)
    .where(outcomes.c.state == bindparam("of"), outcomes.c.status.in_(DONE), outcomes.c.at >= bindparam("since"))
    .where(journal.c.deadline.is_not(None))
    .order_by(outcomes.c.id)
)
_MARKED: Final = (
    select(journal.c.address, journal.c.kind, journal.c.writes)
    .join(outcomes, _ENDED)
    .where(outcomes.c.state == bindparam("of"), outcomes.c.status.in_(values.NOT_MADE), journal.c.verb == "create")
    .where(journal.c.writes.like(f'%"{PREFIX}%'))
)
_OTHERS: Final = (
    select(bindings.c.kind, bindings.c.id, states.c.project, states.c.environment)
    .join(states, states.c.id == bindings.c.state)
    .where(states.c.service == _SCOPE["service"])
    .where((states.c.project != _SCOPE["project"]) | (states.c.environment != _SCOPE["environment"]))
    .order_by(states.c.project)
)


def find(connection: Connection, scope: StateScope) -> Any:
    """The scope's row: id, lineage, serial, digest_key; None where nothing was ever recorded."""
    return connection.execute(_ROW, scope.columns).one_or_none()


def has_seen(connection: Connection, state: int) -> bool:
    """Whether a run ever tracked, sent or recorded anything in that state; a refused or declined run leaves no such trace."""
    queries = (select(table.c.state).where(table.c.state == state).limit(1) for table in (bindings, journal, turns, rules))
    return any(connection.execute(query).first() is not None for query in queries)


def read_tracking(connection: Connection, service: str) -> tuple[tuple[StateScope, int], ...]:
    """The states in this database that track resources, and how many: those on the given service first."""
    number = func.count().label("number")
    query = (
        select(states.c.project, states.c.environment, states.c.service, number)
        .join(bindings, bindings.c.state == states.c.id)
        .group_by(states.c.id, states.c.project, states.c.environment, states.c.service)
    )
    listed = [(StateScope(row.project, row.environment or None, row.service), int(row.number)) for row in connection.execute(query)]
    return tuple(sorted(listed, key=lambda one: (one[0].service != service, one[0].project, one[0].environment or "", one[0].service)))


def read_state(connection: Connection, state: int, lag: timedelta, now: datetime, *, by: str = "") -> State:
    """The state of that row, read by the run with that id, or None for no run; raises StateError where a value in it is broken.

    `lag`: how long a list may not show what was written.
    """
    row = connection.execute(_STATE, {"of": state}).one_or_none()
    if row is None:
        raise StateError("the state was removed while it was in use", id="RC-state-removed", hint="Run again to recreate it.")
    scope = StateScope(row.project, row.environment or None, row.service)
    bound, intents = rows.read_bindings(connection, state), rows.read_intents(connection, state)
    others = read_others(connection, scope)
    unfinished = is_unfinished(connection, state, by=by)
    return State(
        row.lineage,
        row.serial,
        bound,
        intents,
        frozenset(others),
        unfinished,
        read_rules(connection, state),
        marks=_marks(connection, state),
        recent=_recent(connection, state, lag, now),
        former=former(scope, others, {(binding.kind, binding.id) for binding in bound.values()}),
        consents=read_consents(connection, state, by=by) if unfinished else frozenset(),
        fulfilled=read_renames(connection, state),
        readdressed=read_readdressed(connection, state, by=by) if unfinished else frozenset(),
        deleted=_deleted(connection, state, bound, now),
        projects=read_projects(connection, scope) if others else {},
    )


def _recent(connection: Connection, state: int, lag: timedelta, now: datetime) -> dict[Address, datetime]:
    """By address, until when a list may not show what was written recently."""
    return values.recent(connection.execute(_WRITTEN, {"of": state, "since": values.written_since(now, lag)}), lag) if lag else {}


def _deleted(connection: Connection, state: int, tracked: Collection[Address], now: datetime) -> dict[Address, tuple[str, str]]:
    """Kind and id of what was deleted recently, by its former address."""
    return values.deleted(connection.execute(_CREATED_OR_DELETED, {"of": state, "since": values.remembered_since(now)}), tracked)


def _marks(connection: Connection, state: int) -> dict[tuple[str, str], Address]:
    """The marks of creates that ended, as far as was known, without creating an object with the mark."""
    marks: dict[tuple[str, str], Address] = {}
    for row in connection.execute(_MARKED, {"of": state}):
        what = f"an intent of {row.address}"
        try:
            marks |= {
                (row.kind, value): Address.parse(row.address) for value in values.mapping(row.writes, what).values() if is_mark(value)
            }
        except (TypeError, ValueError) as error:
            raise values.damaged(what) from error
    return marks


Others = Mapping[tuple[str, str], Sequence[tuple[str, str]]]
"""(kind, id) of what is tracked by other projects and environments on the same service, with the names of both."""


def read_others(connection: Connection, scope: StateScope) -> Others:
    """What other projects and environments track on the same service."""
    owners: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in connection.execute(_OTHERS, scope.columns):
        owners.setdefault((row.kind, row.id), []).append((row.project, row.environment))
    return owners


def read_projects(connection: Connection, scope: StateScope) -> dict[str, dict[Address, str]]:
    """What each other project in the same environment tracks on the same service: address and id, by the name of the project."""
    tracked = (
        select(states.c.project, bindings.c.address, bindings.c.id)
        .join(states, states.c.id == bindings.c.state)
        .where(states.c.service == scope.service, states.c.environment == scope.columns["environment"], states.c.project != scope.project)
        .order_by(states.c.project)
    )
    found: dict[str, dict[Address, str]] = {}
    for row in connection.execute(tracked):
        try:
            found.setdefault(row.project, {})[Address.parse(row.address)] = row.id
        except ValueError as error:
            raise values.damaged(f"the binding of {row.address} in {row.project}") from error
    return found


def former(scope: StateScope, others: Others, tracked: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The objects of former names of the project: of each other project in its environment that tracks everything it tracks."""
    environment = scope.columns["environment"]
    names = {project for owners in others.values() for project, of in owners if of == environment and project != scope.project}
    for key in tracked:
        names &= {project for project, of in others.get(key, ()) if of == environment}
    found = {
        key: next((project for project, of in owners if of == environment and project in names), None) for key, owners in others.items()
    }
    return {key: project for key, project in found.items() if project is not None}
