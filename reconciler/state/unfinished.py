"""The run that the next one continues: whether there is one, what it was allowed to open, and what it gave another address.

In: a connection inside a transaction. Out: `Consent`s, objects, or the row of a run. Forbidden: deciding what is opened.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import Any, Final

from reconciler.model import Consent, What
from reconciler.state.connection import Connection
from reconciler.state.tables.schema import insert
from reconciler.state.tables.values import damaged, from_json, to_json

WHAT: Final = "what a run was allowed to open"
ENDED_WELL: Final = 0  # the exit code of a run that ended well
SENT_NOTHING: Final = (1, 3, 4, 6)  # exit codes
STATE_COMMANDS: Final = "state "  # beginnings of commands that change only the state
RUNS_READ: Final = 100  # how far back to look for a run that sent something


def is_unfinished(connection: Connection, state: int, *, by: str) -> bool:
    """Whether the newest run failed or did not end, ignoring the one that asks and those that sent nothing."""
    runs = _newest(connection, state, by)
    return next((run.exit_code for run in runs if run.exit_code not in SENT_NOTHING), ENDED_WELL) != ENDED_WELL


def read_readdressed(connection: Connection, state: int, *, by: str) -> frozenset[tuple[str, str]]:
    """Kind and id of what got another address since the last run that ended."""
    runs = [run.id for run in takewhile(lambda run: run.exit_code != ENDED_WELL, _newest(connection, state, by))]
    query = "SELECT kind, target FROM turns WHERE state = :state AND what = :what AND run IN :runs"
    return frozenset((row.kind, row.target) for row in connection.rows(query, state=state, what=What.RENAME.value, runs=runs))


def read_consents(connection: Connection, state: int, *, by: str) -> frozenset[Consent]:
    """Those of the newest run that was allowed anything, or continued one that was; none where a run has ended since."""
    for run in takewhile(lambda run: run.exit_code != ENDED_WELL, _newest(connection, state, by)):
        if run.consents is not None:
            return _consents(from_json(run.consents, WHAT))
    return frozenset()


def write_consents(connection: Connection, state: int, run: str, consents: Collection[Consent]) -> None:
    """Record these as the run's. Where it continues a run, record an empty set too: it ends what that run was allowed."""
    if consents or read_consents(connection, state, by=run):
        value = to_json([list(_columns(consent)) for consent in sorted(consents)], WHAT)
        connection.run(insert("consents"), state=state, run=run, value=value)


def _newest(connection: Connection, state: int, by: str) -> Sequence[Any]:
    """The newest runs that could send something, without the one that asks: id, exit code and consents."""
    query = (
        "SELECT runs.id, runs.exit_code, consents.value AS consents FROM runs"
        " LEFT JOIN consents ON consents.state = runs.state AND consents.run = runs.id"
        " WHERE runs.state = :state AND runs.id <> :by AND runs.command NOT LIKE :ignored ORDER BY runs.started DESC LIMIT :most"
    )
    return connection.rows(query, state=state, by=by, ignored=f"{STATE_COMMANDS}%", most=RUNS_READ)


def _columns(consent: Consent) -> tuple[str, ...]:
    return consent.address, consent.field, consent.principal, consent.level, consent.cause, consent.value


def _consents(value: Any) -> frozenset[Consent]:
    try:
        consents = [Consent(*row) for row in value]
    except TypeError as error:
        raise damaged(WHAT) from error
    if not all(isinstance(text, str) for consent in consents for text in _columns(consent)):
        raise damaged(WHAT)
    return frozenset(consents)
