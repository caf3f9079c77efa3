"""Database failures as errors that say what to do.

In: exceptions of drivers and of the file system. Out: `StateError`. Forbidden: deciding by an error's text; showing values or passwords.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, TypeVar

from reconciler.errors import StateError
from reconciler.state.tables.values import RESTORE

FREE_SPACE: Final = "Free some space and run again: nothing is sent that is not in the journal first."
READABLE: Final = "Check the path and its permissions, or name another state with --state."
BUSY: Final = "Wait for the other program to end, then run again."
ATTEMPTS: Final = 20  # attempts of a transaction that conflicts with other runs

T = TypeVar("T")


class Contended(StateError):
    """Another run committed first, so nothing of a transaction was written: it can be retried on the current state."""


CONTRADICTION: Final = "RC-state-contradiction"  # the id of a record that the keys of the tables refuse
_REFUSED: Final = (
    "refused a record: an object that is tracked twice, or a field of an address that is not tracked",
    CONTRADICTION,
    "Compare with `reconciler state list`; this is a defect of Reconciler, please report it.",
)

_SQLITE: Final = {  # primary result code: what is wrong, the id of the cause, what to do
    sqlite3.SQLITE_NOTADB: ("is not an SQLite database", "RC-not-a-state", "Pass another file with --state, or move this one away."),
    sqlite3.SQLITE_CORRUPT: ("is damaged", "RC-state-damaged", RESTORE),
    sqlite3.SQLITE_INTERRUPT: ("is damaged: reading it does not end", "RC-state-damaged", RESTORE),
    sqlite3.SQLITE_TOOBIG: ("is damaged: it contains a value that no state contains", "RC-state-damaged", RESTORE),
    sqlite3.SQLITE_BUSY: ("was locked by another program for too long", "RC-state-busy", BUSY),
    sqlite3.SQLITE_LOCKED: ("was locked by another program for too long", "RC-state-busy", BUSY),
    sqlite3.SQLITE_FULL: ("cannot grow: the disk is full", "RC-disk-full", FREE_SPACE),
    sqlite3.SQLITE_IOERR: (
        "could not be read or written: the disk reports an error",
        "RC-disk-failing",
        "Check the disk and its free space, then run again.",
    ),
    sqlite3.SQLITE_READONLY: ("cannot be written", "RC-state-not-opened", READABLE),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "RC-state-not-opened", READABLE),
    sqlite3.SQLITE_PERM: ("cannot be opened", "RC-state-not-opened", READABLE),
    sqlite3.SQLITE_CONSTRAINT: _REFUSED,
    sqlite3.SQLITE_AUTH: ("cannot be opened", "RC-state-not-opened", READABLE),
}

_REACHABLE: Final = (
    "Check that the server is running, that host, database and user are correct, and that PGPASSWORD or ~/.pgpass contains the password."
)
_POSTGRES: Final = {  # SQLSTATE, or its class: what is wrong, the id of the cause, what to do
    "53100": ("cannot grow: the server's disk is full", "RC-disk-full", FREE_SPACE),
    "55P03": ("was locked by another program for too long", "RC-state-busy", BUSY),
    "57014": ("took too long to answer", "RC-state-busy", "Run again; if it happens again, check the load of the server."),
    "53": (
        "has no resources left",
        "RC-state-busy",
        "Run again; if it happens again, check the load and the connection limit of the server.",
    ),
    "42501": (
        "denies access",
        "RC-state-denied",
        "Grant this role the rights in the schema `reconciler` that docs/state.md lists: to read, or to write.",
    ),
    "28": ("refuses the login", "RC-state-denied", "Check the user and the password; set the password in PGPASSWORD or ~/.pgpass."),
    "3D": ("does not exist on that server", "RC-database-missing", "Create it, or pass another with --state."),
    "25006": ("cannot be written: the server is read-only", "RC-database-read-only", "Use the primary server, not a standby."),
    "22": (
        "refuses a value: it contains a character that is not allowed there",
        "RC-state-text",
        "Remove the control character from the value.",
    ),
    "23": _REFUSED,
    "08": ("cannot be reached", "RC-state-unreachable", _REACHABLE),
    "57P": ("is shutting down or starting up", "RC-state-unreachable", _REACHABLE),
}


def explained(error: Exception, where: str) -> StateError:
    """The StateError for what a driver or the file system raised about the database `where`."""
    if isinstance(error, OSError):
        return _of_the_file_system(error, where)
    if isinstance(error, UnicodeError):
        return StateError(
            f"{where} cannot store text with an incomplete character",
            id="RC-state-text",
            hint="Remove the broken character from the value.",
        )
    state, code = getattr(error, "sqlstate", None), getattr(error, "sqlite_errorcode", None)
    if state:
        unnamed = (f"failed (SQLSTATE {state})", "RC-state-failed", _REACHABLE)
        what, id, hint = next((_POSTGRES[key] for key in (state, state[:3], state[:2]) if key in _POSTGRES), unnamed)
    elif code is not None:
        # Extended codes say in their upper bytes where in SQLite it happened, which helps nobody here.
        what, id, hint = _SQLITE.get(code & 0xFF, (f"failed ({getattr(error, 'sqlite_errorname', code)})", "RC-state-failed", RESTORE))
    elif _is(error, "DataError"):  # psycopg refused the value before it was sent
        what, id, hint = _POSTGRES["22"]
    elif _is(error, "Error"):
        # No connection, no SQLSTATE: psycopg has only a sentence of libpq then, in the language of the system.
        what, id, hint = "cannot be reached, or denies access", "RC-state-unreachable", _REACHABLE
    else:
        what, id, hint = f"failed: {type(error).__name__}", "RC-state-failed", "This is a defect of Reconciler, please report it."
    return StateError(f"{where} {what}", id=id, hint=hint)


def _is(error: Exception, name: str) -> bool:
    """Whether it is a driver's error of that name in PEP 249, which both drivers use: psycopg is an extra, and is not imported to ask."""
    return any(kind.__name__ == name and kind.__module__.startswith(("psycopg", "sqlite3")) for kind in type(error).__mro__)


def _of_the_file_system(error: OSError, where: str) -> StateError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StateError(f"{where} cannot grow: the disk is full", id="RC-disk-full", hint=FREE_SPACE)
    return StateError(
        f"{where} cannot be opened: {(error.strerror or type(error).__name__).lower()}", id="RC-state-not-opened", hint=READABLE
    )


@contextmanager
def explaining(where: str) -> Iterator[None]:
    """Turn what the database raises in this block into a StateError; the caller's own errors pass through."""
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError | UnicodeError) or _is(error, "Error"):
            raise explained(error, where) from error
        raise


def again(work: Callable[[], T]) -> T:
    """The result of `work`, which is one transaction; it is repeated while other runs commit first."""
    for _ in range(ATTEMPTS):
        with suppress(Contended):
            return work()
    return work()
