"""A whole state, read from a file that nobody writes: without SQLAlchemy, which takes longer to import than such a state takes to read.

In: a path. Out: the state, or None wherever anything is out of the ordinary. The caller then uses the store, which handles and explains
these cases. Forbidden: writing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from reconciler.errors import StateError
from reconciler.model import State
from reconciler.model.marker import PREFIX
from reconciler.state.tables import values
from reconciler.state.tables.direct import UNUSUAL, Scope, current

_ELSEWHERE: Final = """
SELECT 1 FROM states JOIN bindings ON bindings.state = states.id WHERE states.service = :service AND states.id <> :state LIMIT 1
"""
_OPEN: Final = "SELECT 1 FROM open_intents WHERE state = :state LIMIT 1"
_MARKED: Final = """
SELECT 1 FROM journal JOIN outcomes ON outcomes.state = journal.state AND outcomes.intent = journal.id
WHERE outcomes.state = :state AND outcomes.status IN ('not-sent', 'failed', 'recovered')
AND journal.verb = 'create' AND journal.writes LIKE :marked LIMIT 1
"""
_WRITTEN: Final = """
SELECT journal.address, journal.verb, journal.deadline, outcomes.bound
FROM journal JOIN outcomes ON outcomes.state = journal.state AND outcomes.intent = journal.id
WHERE outcomes.state = :state AND outcomes.status IN ('done', 'recovered') AND outcomes.at >= :written AND journal.deadline IS NOT NULL
ORDER BY outcomes.id
"""
_CODES: Final = "SELECT exit_code FROM runs WHERE state = :state AND command NOT LIKE :remembering ORDER BY started DESC LIMIT :runs"
_BOUND: Final = "SELECT address, kind, id, origin, protected, place_parent, place_index FROM bindings WHERE state = :state"
_FIELDS: Final = "SELECT address, name, sent, seen FROM fields WHERE state = :state"
_RULES: Final = "SELECT value FROM rules WHERE state = :state"
_RENAMES: Final = "SELECT old, new FROM renames WHERE state = :state ORDER BY old"
_CREATED_OR_DELETED: Final = """
SELECT journal.address, journal.verb, journal.kind, journal.target
FROM journal JOIN outcomes ON outcomes.state = journal.state AND outcomes.intent = journal.id
WHERE outcomes.state = :state AND outcomes.status IN ('done', 'recovered') AND outcomes.at >= :since
AND journal.verb IN ('create', 'delete') ORDER BY outcomes.id
"""


class QuietState(NamedTuple):
    """A state that tracks something, and the key of its digests."""

    state: State
    digest_key: bytes


def read_state(path: Path, scope: Scope, *, lag: timedelta, now: datetime) -> QuietState | None:
    """The results of `Store.read` and `Store.digest_key`; None where a run was interrupted, where other projects or environments have
    objects on the same service, and where nothing is tracked.

    `lag`: how long a list may not show what was written.
    """
    try:
        with current(path, scope) as (connection, (number, lineage, serial, key)):
            words = {
                "state": number,
                "service": scope[2],
                "marked": f'%"{PREFIX}%',
                "written": values.written_since(now, lag),
                "remembering": f"{values.STATE_COMMANDS}%",
                "runs": values.RUNS_READ,
                "since": values.remembered_since(now),
            }

            def rows(statement: str) -> Sequence[Any]:
                return connection.execute(statement, words).fetchall()

            if any(rows(statement) for statement in (_ELSEWHERE, _OPEN, _MARKED)) or values.unfinished(code for (code,) in rows(_CODES)):
                return None
            bound = values.bindings(rows(_BOUND), rows(_FIELDS))
            state = State(
                lineage,
                serial,
                bound,
                rules=values.rules(next((text for (text,) in rows(_RULES)), None)),
                recent=values.recent(rows(_WRITTEN), lag) if lag else {},
                fulfilled=values.renames(rows(_RENAMES)),
                deleted=values.deleted(rows(_CREATED_OR_DELETED), bound),
            )
        return QuietState(state, key) if bound and isinstance(key, bytes) and key else None
    except (*UNUSUAL, StateError):  # the store reports what is damaged
        return None
