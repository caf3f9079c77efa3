"""The run that the next one continues: whether there is one, what it was allowed to open, and what it gave another address.

In: a connection inside a transaction. Out: `Consent`s, objects, or the row of a run. Forbidden: deciding what is opened.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import takewhile
from typing import Any, Final

from sqlalchemy import Connection, bindparam, insert, select

from reconciler.model import Consent, What
from reconciler.state.tables import values
from reconciler.state.tables.schema import consents, runs, turns
from reconciler.state.tables.values import damaged, from_json, to_json

WHAT: Final = "what a run was allowed to open"

_OTHERS: Final = (runs.c.state == bindparam("of"), runs.c.id != bindparam("by"), runs.c.command.not_like(f"{values.STATE_COMMANDS}%"))
_NEWEST: Final = select(runs.c.exit_code).where(*_OTHERS).order_by(runs.c.started.desc()).limit(values.RUNS_READ)
_ALLOWED: Final = (
    select(runs.c.exit_code, consents.c.value)
    .outerjoin(consents, (consents.c.state == runs.c.state) & (consents.c.run == runs.c.id))
    .where(*_OTHERS)
    .order_by(runs.c.started.desc())
    .limit(values.RUNS_READ)
)

_CODES: Final = select(runs.c.id, runs.c.exit_code).where(*_OTHERS).order_by(runs.c.started.desc()).limit(values.RUNS_READ)
_RENAMED: Final = select(turns.c.kind, turns.c.target).where(
    turns.c.state == bindparam("of"), turns.c.what == What.RENAME.value, turns.c.run.in_(bindparam("these", expanding=True))
)


def is_unfinished(connection: Connection, state: int, *, by: str) -> bool:
    """Whether the newest run failed or did not end, ignoring the one that asks and those that sent nothing."""
    return values.unfinished(connection.execute(_NEWEST, {"of": state, "by": by}).scalars())


def read_readdressed(connection: Connection, state: int, *, by: str) -> frozenset[tuple[str, str]]:
    """Kind and id of what got another address since the last run that ended."""
    codes = connection.execute(_CODES, {"of": state, "by": by}).all()
    these = [row.id for row in takewhile(lambda row: row.exit_code != values.ENDED_WELL, codes)]
    return frozenset((row.kind, row.target) for row in connection.execute(_RENAMED, {"of": state, "these": these}))


def read_consents(connection: Connection, state: int, *, by: str) -> frozenset[Consent]:
    """Those of the newest run that was allowed anything, or continued one that was; none where a run has ended since."""
    for row in connection.execute(_ALLOWED, {"of": state, "by": by}):
        if row.exit_code == values.ENDED_WELL:
            break
        if row.value is not None:
            return _consents(from_json(row.value, WHAT))
    return frozenset()


def write_consents(connection: Connection, state: int, run: str, given: Collection[Consent]) -> None:
    """Record these as the run's. Where it continues a run, record an empty set too: it ends what that run was allowed."""
    if given or read_consents(connection, state, by=run):
        value = to_json([list(_columns(consent)) for consent in sorted(given)], WHAT)
        connection.execute(insert(consents).values(state=state, run=run, value=value))


def _columns(consent: Consent) -> tuple[str, ...]:
    return consent.address, consent.field, consent.principal, consent.level, consent.cause, consent.value


def _consents(value: Any) -> frozenset[Consent]:
    try:
        found = [Consent(*row) for row in value]
    except TypeError as error:
        raise damaged(WHAT) from error
    if not all(isinstance(text, str) for consent in found for text in _columns(consent)):
        raise damaged(WHAT)
    return frozenset(found)
