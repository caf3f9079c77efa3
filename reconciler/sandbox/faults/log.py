"""What was injected, numbered, in the sandbox's file."""

from __future__ import annotations

from typing import Any, Final

from reconciler.sandbox.file import FAULT_LOG
from reconciler.sandbox.store import Store

KEPT: Final = 10_000  # the last ones
FIELDS: Final = ("number", "at", "rule", "fault", "method", "path")


def note(store: Store, rule: str, fault: str, method: str, path: str) -> int:
    """Write down one misbehaviour; its number."""
    with store.write():
        run = store.connection.execute
        run(FAULT_LOG)
        row = run(
            "insert into fault_log (at, rule, fault, method, path) values (?, ?, ?, ?, ?) returning number",
            (store.stamp(), rule, fault, method, path),
        ).fetchone()
        run("delete from fault_log where number <= ?", (row[0] - KEPT,))
    return int(row[0])


def retract(store: Store, number: int) -> None:
    """It did not happen after all."""
    with store.write():
        store.connection.execute("delete from fault_log where number = ?", (number,))


def entries(store: Store) -> list[dict[str, Any]]:
    """Everything in the order it happened."""
    if not _exists(store):
        return []
    rows = store.connection.execute(f"select {', '.join(FIELDS)} from fault_log order by number")  # noqa: S608 - our own names
    return [dict(zip(FIELDS, row, strict=True)) for row in rows]


def clear(store: Store) -> None:
    """Begin again, with the number 1."""
    with store.write():
        if _exists(store):
            store.connection.execute("delete from fault_log")


def _exists(store: Store) -> bool:
    return store.connection.execute("select 1 from sqlite_master where name = 'fault_log'").fetchone() is not None
