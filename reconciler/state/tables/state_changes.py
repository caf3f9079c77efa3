"""The changes of bindings without a request, as rows and back.

In: a connection inside a transaction. Out: `StateChange`s. Forbidden: changing bindings; deciding what can be undone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from reconciler.address import Address
from reconciler.model import StateChange, What
from reconciler.state.connection import Connection
from reconciler.state.tables.schema import insert
from reconciler.state.tables.values import damaged

Bound = Mapping[tuple[str, str], tuple[str, bool]]
"""Address and protection by kind and id."""


def bound(connection: Connection, state: int) -> Bound:
    """The address and protection of every tracked object, by kind and id."""
    rows = connection.rows("SELECT kind, id, address, protected FROM bindings WHERE state = :state", state=state)
    return {(row.kind, row.id): (row.address, bool(row.protected)) for row in rows}


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


def write_state_changes(connection: Connection, state: int, changes: Iterable[StateChange], *, run: str, at: str) -> None:
    """Append these changes, as made by that run."""
    # The lease makes this run the only writer, so the next number is nobody else's.
    last = connection.value("SELECT max(id) FROM turns WHERE state = :state", state=state) or 0
    rows = [
        {
            "state": state,
            "id": last + number,
            "at": at,
            "run": run,
            "what": change.what.value,
            "address": str(change.address),
            "kind": change.kind,
            "target": change.id,
            "old": None if change.old is None else str(change.old),
        }
        for number, change in enumerate(changes, 1)
    ]
    connection.run_all(insert("turns"), rows)


def read_state_changes(connection: Connection, state: int, run: str) -> tuple[StateChange, ...]:
    """The changes of bindings without a request by a run, in its order."""
    return tuple(map(_turn, connection.rows("SELECT * FROM turns WHERE state = :state AND run = :run ORDER BY id", state=state, run=run)))


def read_later(connection: Connection, state: int, run: str) -> tuple[tuple[StateChange, ...], ...]:
    """The same of each run that began after that one, in the order in which they ran; first its own changes after its last request."""
    runs = connection.rows("SELECT id, started FROM runs WHERE state = :state", state=state)
    started = {row.id: datetime.fromisoformat(row.started) for row in runs}
    query = "SELECT at FROM journal WHERE state = :state AND run = :run ORDER BY id DESC LIMIT 1"
    last = connection.value(query, state=state, run=run)
    own_from = datetime.fromisoformat(last) if last is not None else None
    later: dict[str, list[StateChange]] = {}
    for row in connection.rows("SELECT * FROM turns WHERE state = :state ORDER BY id", state=state):
        own = row.run == run and own_from is not None and datetime.fromisoformat(row.at) > own_from
        if run in started and (own or started[row.run] > started[run]):
            later.setdefault(row.run, []).append(_turn(row))
    return tuple(map(tuple, later.values()))


def count_state_changes(connection: Connection, state: int) -> Mapping[str, Mapping[str, int]]:
    """The number of changes of each sort, by run."""
    query = "SELECT run, what, count(*) AS number FROM turns WHERE state = :state GROUP BY run, what ORDER BY min(id)"
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for row in connection.rows(query, state=state):
        counts[row.run][row.what] = row.number
    return counts


def _turn(row: Any) -> StateChange:
    try:
        return StateChange(
            What(row.what), Address.parse(row.address), row.kind, row.target, None if row.old is None else Address.parse(row.old)
        )
    except (TypeError, ValueError) as error:
        raise damaged(f"the change {row.id} of a binding") from error
