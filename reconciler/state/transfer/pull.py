"""A whole state as one document: bindings, rules, runs, journal. The key of its digests is secret and not included.

In: a connection inside a transaction. Out: the document that `reconciler.report.schemas.state` defines. Forbidden: writing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from reconciler.report.schemas import state as state_types
from reconciler.state.connection import Connection
from reconciler.state.tables.schema import TABLES
from reconciler.state.tables.values import from_json

Part = TypeVar("Part")
JSON = frozenset({"writes", "brings", "lookup", "bound", "forgotten", "summary"})
"""Columns that hold JSON."""

COLUMNS = {"exit": "exit_code", "object": "target"}
"""Columns that have another name than the key of the document."""


def columns(part: Any, table: str) -> dict[str, str]:
    """The columns of a table that hold a part of the document, by the keys of its definition."""
    return {name: column for name in part.__annotations__ if (column := COLUMNS.get(name, name)) in TABLES[table]}


def pulled(connection: Connection, state: int) -> state_types.StateDocument:
    """The whole of that state. Raises StateError where a value in it is broken."""
    row = connection.row("SELECT * FROM states WHERE id = :state", state=state)
    remembered = connection.value("SELECT value FROM rules WHERE state = :state", state=state)
    return {
        "format": "reconciler.state/1",
        "project": row.project,
        "environment": row.environment or None,
        "service": row.service,
        "lineage": row.lineage,
        "serial": row.serial,
        "bindings": _bindings(connection, state),
        "rules": None if remembered is None else from_json(remembered, "the rules of the project"),
        "runs": _parts(state_types.StoredRunData, connection, "runs", state, "started", "id"),
        "known": {row.digest: from_json(row.ids, "a list of ids") for row in _rows(connection, "known", state, "digest")},
        "requests": _requests(connection, state),
        "turns": _parts(state_types.StoredTurnData, connection, "turns", state, "id"),
        "renames": [{"old": row.old, "new": row.new} for row in _rows(connection, "renames", state, "old")],
        "approvals": _parts(state_types.ApprovalData, connection, "approvals", state, "run"),
    }


def _rows(connection: Connection, table: str, state: int, *order: str) -> list[Any]:
    return connection.rows(f"SELECT * FROM {table} WHERE state = :state ORDER BY {', '.join(order)}", state=state)


def _parts(part: type[Part], connection: Connection, table: str, state: int, *order: str) -> list[Part]:
    names = columns(part, table)
    return [cast(Part, _part(row, names)) for row in _rows(connection, table, state, *order)]


def _part(row: Any, names: Mapping[str, str]) -> Any:
    values = {name: getattr(row, column) for name, column in names.items()}
    return {name: from_json(value, name) if name in JSON and value is not None else value for name, value in values.items()}


def _bindings(connection: Connection, state: int) -> list[state_types.BindingData]:
    remembered: dict[str, dict[str, state_types.MemoryData]] = defaultdict(dict)
    for row in _rows(connection, "fields", state, "address", "name"):
        texts = {"sent": row.sent, "seen": row.seen}
        values = {
            word: from_json(text, f"what was {word} as {row.name!r} of {row.address}") for word, text in texts.items() if text is not None
        }
        remembered[row.address][row.name] = cast(state_types.MemoryData, values)
    return [
        {
            "address": row.address,
            "kind": row.kind,
            "id": row.id,
            "origin": row.origin,
            "protected": bool(row.protected),
            "place": None if row.place_parent is None else {"parent": row.place_parent, "index": row.place_index},
            "fields": remembered[row.address],
        }
        for row in _rows(connection, "bindings", state, "address")
    ]


def _requests(connection: Connection, state: int) -> list[state_types.StoredRequestData]:
    met = {row.intent: from_json(row.value, "what a request met") for row in _rows(connection, "befores", state, "intent")}
    seen = {row.intent: from_json(row.value, "what was seen after a request") for row in _rows(connection, "afters", state, "intent")}
    waiting = {row.intent for row in _rows(connection, "open_intents", state, "intent")}
    ended: dict[int, list[state_types.StoredOutcomeData]] = defaultdict(list)
    names = columns(state_types.StoredOutcomeData, "outcomes")
    for row in _rows(connection, "outcomes", state, "id"):
        ended[row.intent].append(_part(row, names))
    return [
        {
            **request,
            "before": met.get(request["id"]),
            "after": seen.get(request["id"]),
            "open": request["id"] in waiting,
            "outcomes": ended[request["id"]],
        }
        for request in _parts(state_types.StoredRequestData, connection, "journal", state, "id")
    ]
