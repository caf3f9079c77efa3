"""A whole state as one document: bindings, rules, runs, journal. The key of its digests is a secret and stays where it is.

In: a connection inside a transaction. Out: data as `reconciler.report.schemas.state` says. Forbidden: writing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Table, select

from reconciler.report.schemas.state import STATE_FORMAT
from reconciler.state.tables.rows import from_json
from reconciler.state.tables.schema import (
    afters,
    approvals,
    befores,
    bindings,
    fields,
    journal,
    known,
    open_intents,
    outcomes,
    renames,
    rules,
    runs,
    states,
    turns,
)

JSON = frozenset({"writes", "brings", "lookup", "bound", "forgotten", "summary"})
"""Columns that hold JSON."""

RUN = {name: name for name in ("id", "who", "command", "started", "ended", "summary")} | {"exit": "exit_code"}
REQUEST = {
    name: name
    for name in (
        "id", "at", "run", "step", "address", "kind", "verb", "method", "path", "target", "writes", "known", "date", "deadline",
        "brings", "lookup",
    )
}  # fmt: skip
OUTCOME = {name: name for name in ("at", "run", "status", "error", "bound", "forgotten")}
TURN = {name: name for name in ("id", "at", "run", "what", "address", "kind", "old")} | {"object": "target"}
APPROVAL = {name: name for name in ("run", "digest")}
"""Names in the document, and the columns behind them."""


def pulled(connection: Connection, state: int) -> dict[str, Any]:
    """The whole of that state. Raises StateError where a value in it is broken."""
    row = connection.execute(select(states).where(states.c.id == state)).one()
    remembered = connection.execute(select(rules.c.value).where(rules.c.state == state)).scalar()
    return {
        "format": STATE_FORMAT,
        "project": row.project,
        "environment": row.environment or None,
        "service": row.service,
        "lineage": row.lineage,
        "serial": row.serial,
        "bindings": _bindings(connection, state),
        "rules": None if remembered is None else from_json(remembered, "the rules of the project"),
        "runs": [_part(one, RUN) for one in _rows(connection, runs, state, "started", "id")],
        "known": {one.digest: from_json(one.ids, "a list of ids") for one in _rows(connection, known, state, "digest")},
        "requests": _requests(connection, state),
        "turns": [_part(one, TURN) for one in _rows(connection, turns, state, "id")],
        "renames": [{"old": one.old, "new": one.new} for one in _rows(connection, renames, state, "old")],
        "approvals": [_part(one, APPROVAL) for one in _rows(connection, approvals, state, "run")],
    }


def _rows(connection: Connection, table: Table, state: int, *order: str) -> Iterable[Any]:
    return connection.execute(select(table).where(table.c.state == state).order_by(*(table.c[name] for name in order)))


def _part(row: Any, names: Mapping[str, str]) -> dict[str, Any]:
    values = {name: getattr(row, column) for name, column in names.items()}
    return {name: from_json(value, name) if name in JSON and value is not None else value for name, value in values.items()}


def _bindings(connection: Connection, state: int) -> list[dict[str, Any]]:
    remembered: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in _rows(connection, fields, state, "address", "name"):
        texts = {"sent": row.sent, "seen": row.seen}
        remembered[row.address][row.name] = {
            word: from_json(text, f"what was {word} as {row.name!r} of {row.address}") for word, text in texts.items() if text is not None
        }
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
        for row in _rows(connection, bindings, state, "address")
    ]


def _requests(connection: Connection, state: int) -> list[dict[str, Any]]:
    met = {row.intent: from_json(row.value, "what a request met") for row in _rows(connection, befores, state, "intent")}
    seen = {row.intent: from_json(row.value, "what was seen after a request") for row in _rows(connection, afters, state, "intent")}
    waiting = {row.intent for row in _rows(connection, open_intents, state, "intent")}
    ended: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in _rows(connection, outcomes, state, "id"):
        ended[row.intent].append(_part(row, OUTCOME))
    return [
        {
            **_part(row, REQUEST),
            "before": met.get(row.id),
            "after": seen.get(row.id),
            "open": row.id in waiting,
            "outcomes": ended[row.id],
        }
        for row in _rows(connection, journal, state, "id")
    ]
