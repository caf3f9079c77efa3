"""The changes of bindings without a request, as rows and back.

In: a connection inside a transaction. Out: `StateChange`s. Forbidden: changing bindings; deciding what can be undone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, bindparam, func, insert, select

from reconciler.address import Address
from reconciler.model import StateChange, What
from reconciler.state.tables.schema import bindings, journal, runs, turns
from reconciler.state.tables.values import damaged

Bound = Mapping[tuple[str, str], tuple[str, bool]]
"""Address and protection by kind and id."""

_BOUND: Final = select(bindings.c.kind, bindings.c.id, bindings.c.address, bindings.c.protected).where(bindings.c.state == bindparam("of"))
_LAST: Final = select(func.max(turns.c.id)).where(turns.c.state == bindparam("of"))
_TURNS: Final = select(turns).where(turns.c.state == bindparam("of")).order_by(turns.c.id)
_COUNTS: Final = (
    select(turns.c.run, turns.c.what, func.count().label("number"))
    .where(turns.c.state == bindparam("of"))
    .group_by(turns.c.run, turns.c.what)
    .order_by(func.min(turns.c.id))
)
_LAST_REQUEST: Final = (
    select(journal.c.at).where(journal.c.state == bindparam("of"), journal.c.run == bindparam("run")).order_by(journal.c.id.desc()).limit(1)
)
_STARTED: Final = select(runs.c.id, runs.c.started).where(runs.c.state == bindparam("of"))


def bound(connection: Connection, state: int) -> Bound:
    """The address and protection of every tracked object, by kind and id."""
    return {(row.kind, row.id): (row.address, bool(row.protected)) for row in connection.execute(_BOUND, {"of": state})}


def turned(before: Bound, after: Bound) -> Iterator[StateChange]:
    """The differences between two sets of tracked objects, in the order of addresses."""
    for key, (address, protected) in sorted(before.items(), key=lambda pair: pair[1]):
        if key not in after:
            yield StateChange(What.FORGET, Address.parse(address), *key)
            continue
        now, kept = after[key]
        if now != address:
            yield StateChange(What.RENAME, Address.parse(now), *key, Address.parse(address))
        if kept != protected:
            yield StateChange(What.PROTECT if kept else What.UNPROTECT, Address.parse(now), *key)
    for key, (address, _) in sorted(after.items(), key=lambda pair: pair[1]):
        if key not in before:
            yield StateChange(What.ADOPT, Address.parse(address), *key)


def write_turns(connection: Connection, state: int, made: Iterable[StateChange], *, run: str, at: str) -> None:
    """Append these changes, as made by that run."""
    last = connection.execute(_LAST, {"of": state}).scalar() or 0
    listed = [
        {
            "state": state,
            "id": last + number,
            "at": at,
            "run": run,
            "what": turn.what.value,
            "address": str(turn.address),
            "kind": turn.kind,
            "target": turn.id,
            "old": None if turn.old is None else str(turn.old),
        }
        for number, turn in enumerate(made, 1)
    ]
    if listed:
        connection.execute(insert(turns), listed)


def read_turns(connection: Connection, state: int, run: str) -> tuple[StateChange, ...]:
    """The changes of bindings without a request by a run, in its order."""
    query = _TURNS.where(turns.c.run == bindparam("run"))
    return tuple(_turn(row) for row in connection.execute(query, {"of": state, "run": run}))


def read_later(connection: Connection, state: int, run: str) -> tuple[tuple[StateChange, ...], ...]:
    """The same of each run that began after that one, in the order in which they ran; first its own changes after its last request."""
    started = {row.id: datetime.fromisoformat(row.started) for row in connection.execute(_STARTED, {"of": state})}
    last = connection.execute(_LAST_REQUEST, {"of": state, "run": run}).scalar()
    own_from = datetime.fromisoformat(last) if last is not None else None
    later: dict[str, list[StateChange]] = {}
    for row in connection.execute(_TURNS, {"of": state}):
        own = row.run == run and own_from is not None and datetime.fromisoformat(row.at) > own_from
        if run in started and (own or started[row.run] > started[run]):
            later.setdefault(row.run, []).append(_turn(row))
    return tuple(tuple(some) for some in later.values())


def count_turns(connection: Connection, state: int) -> Mapping[str, Mapping[str, int]]:
    """The number of changes of each sort, by run."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for row in connection.execute(_COUNTS, {"of": state}):
        found[row.run][row.what] = row.number
    return found


def _turn(row: Any) -> StateChange:
    try:
        return StateChange(
            What(row.what), Address.parse(row.address), row.kind, row.target, None if row.old is None else Address.parse(row.old)
        )
    except (TypeError, ValueError) as error:
        raise damaged(f"the change {row.id} of a binding") from error
