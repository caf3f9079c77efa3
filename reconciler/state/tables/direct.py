"""Reading a state that is a file without SQLAlchemy, which takes longer to import than such a reading takes.

In: a path. Out: rows as values, or None wherever anything is out of the ordinary: no file, older tables, a run under way, a file that
changes meanwhile. The caller then uses the store, which handles and explains these cases. Forbidden: writing.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from reconciler.model import RecordedRun, State
from reconciler.state.tables.values import recorded

DONE: Final = ("done", "recovered")
VERSION: Final = 8  # version of the tables that these statements read; for others the store is used
ORIGINS: Final = frozenset({"created", "adopted", "recovered"})
_VERSION: Final = "SELECT version FROM reconciler_schema"
_STATE: Final = "SELECT id, lineage, serial, digest_key FROM states WHERE project = ? AND environment = ? AND service = ?"
_BINDINGS: Final = "SELECT address, kind, id, origin, protected FROM bindings WHERE state = ?"
_RUNS: Final = "SELECT id, who, command, started, ended, summary, exit_code FROM runs WHERE state = :state ORDER BY started DESC, id"
_TURNS: Final = "SELECT run, what, count(*) FROM turns WHERE state = :state GROUP BY run, what ORDER BY min(id)"
_REQUESTS: Final = """
SELECT journal.run, journal.verb, outcomes.status, count(*) FROM journal
LEFT JOIN (SELECT intent, max(id) AS id FROM outcomes WHERE state = :state GROUP BY intent) AS latest ON latest.intent = journal.id
LEFT JOIN outcomes ON outcomes.id = latest.id
WHERE journal.state = :state GROUP BY journal.run, journal.verb, outcomes.status ORDER BY min(journal.id)
"""

_ADDRESSES: Final = """
SELECT DISTINCT address FROM bindings JOIN states ON states.id = bindings.state
WHERE states.environment = :environment AND (states.project = :project OR :project NOT IN (SELECT project FROM states))
ORDER BY address
"""
_COMMANDS: Final = """
SELECT runs.id, command, started FROM runs JOIN states ON states.id = runs.state
WHERE states.environment = :environment AND (states.project = :project OR :project NOT IN (SELECT project FROM states))
ORDER BY started DESC
"""

Scope = tuple[str, str, str]
"""Project, environment ("" for none) and service."""


class TrackedRow(NamedTuple):
    """An object that a state tracks."""

    address: str
    kind: str
    id: str
    origin: str
    protected: bool


class Tracking(NamedTuple):
    """What a state tracks, by address."""

    lineage: str
    serial: int
    objects: Sequence[TrackedRow]


def read_tracking(path: Path, scope: Scope) -> Tracking | None:
    """What a state tracks; None also where it tracks nothing."""
    try:
        with current(path, scope) as (connection, row):
            rows = connection.execute(_BINDINGS, (row[0],)).fetchall()
        objects = [TrackedRow(address, kind, id, origin, bool(protected)) for address, kind, id, origin, protected in rows]
        if not objects or any(origin not in ORIGINS for origin in {tracked.origin for tracked in objects}):
            return None
        return Tracking(row[1], row[2], sorted(objects, key=lambda tracked: tracked.address.split("/")))
    except UNUSUAL:
        return None


def tracking_of(state: State) -> Tracking:
    """The same, of a state that the store read."""
    objects = [
        TrackedRow(str(address), binding.kind, binding.id, binding.origin.value, binding.protected)
        for address, binding in sorted(state.bindings.items())
    ]
    return Tracking(state.lineage, state.serial, objects)


def read_runs(path: Path, scope: Scope) -> tuple[RecordedRun, ...] | None:
    """Every run of a state, newest first; None also where one of them has not ended, or none did anything yet."""
    from reconciler.model.history import RecordedRun

    did: dict[str, dict[str, int]] = defaultdict(dict)
    undone: dict[str, dict[str, int]] = defaultdict(dict)
    turned: dict[str, dict[str, int]] = defaultdict(dict)
    try:
        with current(path, scope) as (connection, row):
            state = {"state": row[0]}
            for run, verb, status, number in connection.execute(_REQUESTS, state):
                counts, word = (did, verb) if status in DONE else (undone, status or "in-doubt")
                counts[run][word] = counts[run].get(word, 0) + number
            for run, what, number in connection.execute(_TURNS, state):
                turned[run][what] = number
            rows = connection.execute(_RUNS, state).fetchall()
        if not (did or undone or turned) or any(exit_code is None for *_, exit_code in rows):
            return None
        return tuple(
            RecordedRun(
                id, who, command, datetime.fromisoformat(started), datetime.fromisoformat(ended), exit_code,
                did.get(id, {}), undone.get(id, {}),
                turned.get(id, {}) if id in turned or id in did or id in undone else recorded(summary),
            )
            for id, who, command, started, ended, summary, exit_code in rows
        )  # fmt: skip
    except UNUSUAL:
        return None


def tracked_addresses(path: Path, project: str, environment: str) -> list[str]:
    """The addresses that the states of a project track, on whichever service; of every project where this one has no state in the file."""
    return [row[0] for row in _of_project(path, _ADDRESSES, project, environment)]


def recorded_runs(path: Path, project: str, environment: str) -> list[tuple[str, str, str]]:
    """The id, the command and the begin of each run of the states of a project, newest first."""
    return [(row[0], row[1], row[2]) for row in _of_project(path, _COMMANDS, project, environment)]


def _of_project(path: Path, statement: str, project: str, environment: str) -> list[Any]:
    try:
        with _opened(path) as connection:
            return connection.execute(statement, {"project": project, "environment": environment}).fetchall()
    except UNUSUAL:
        return []


class Unusual(Exception):
    """The store must be used."""


UNUSUAL: Final = (Unusual, sqlite3.Error, OSError, ValueError, TypeError, KeyError)


@contextmanager
def current(path: Path, scope: Scope) -> Iterator[tuple[sqlite3.Connection, Any]]:
    """A file with today's tables, which nobody writes, and the row of a state in it."""
    before = _stamp(path)
    with _opened(path) as connection:
        row = connection.execute(_STATE, scope).fetchone()
        if Path(f"{path}-wal").exists() or connection.execute(_VERSION).fetchall() != [(VERSION,)] or row is None:
            raise Unusual
        yield connection, row
    if _stamp(path) != before or Path(f"{path}-wal").exists():
        raise Unusual


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    log, shared = (Path(f"{path}-{name}").exists() for name in ("wal", "shm"))
    if not path.is_file() or log > shared:  # SQLite would create the third file
        raise Unusual
    mode = "mode=ro" if log else "immutable=1"
    with closing(sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True, timeout=1.0, isolation_level=None)) as connection:
        yield connection


def _stamp(path: Path) -> Mapping[str, int]:
    status = path.stat()
    return {"file": status.st_ino, "size": status.st_size, "time": status.st_mtime_ns}
