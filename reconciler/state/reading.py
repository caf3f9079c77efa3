"""Reading a state: which row is whose, and the whole of it as a value.

In: a connection inside a transaction. Out: `Scope`'s row, `State`, ids of others. Forbidden: writing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, select

from reconciler.errors import StateError
from reconciler.model import State
from reconciler.state import rows
from reconciler.state.rules import read_rules
from reconciler.state.schema import bindings, runs, states

SENT_NOTHING: Final = (1, 3, 4, 6)  # exit codes
STATE_COMMANDS: Final = "state "  # how commands begin that change only what is remembered
RUNS: Final = 100  # as far back as it is looked


@dataclass(frozen=True)
class Scope:
    """Whose state it is; `service` is the normalised base address, or `sandbox:<uuid>`. Ids of one scope never meet another's."""

    project: str
    environment: str | None
    service: str

    def __post_init__(self) -> None:
        if self.environment == "":
            raise ValueError("an environment has a name, or is None")

    @property
    def columns(self) -> dict[str, str]:
        """The scope as columns of its row."""
        return {"project": self.project, "environment": self.environment or "", "service": self.service}


def find(connection: Connection, scope: Scope) -> Any:
    """The scope's row: id, lineage, serial, digest_key; None where nothing was ever remembered."""
    found = select(states.c.id, states.c.lineage, states.c.serial, states.c.digest_key)
    return connection.execute(found.filter_by(**scope.columns)).one_or_none()


def read_state(connection: Connection, state: int, *, by: str = "") -> State:
    """The state of that row, read by the run with that id, if by any; raises StateError where a value in it is broken."""
    found = select(states.c.lineage, states.c.serial, states.c.project, states.c.environment, states.c.service)
    row = connection.execute(found.where(states.c.id == state)).one_or_none()
    if row is None:
        raise StateError("the state was removed while it was in use", hint="Run again: it is made anew.")
    scope = Scope(row.project, row.environment or None, row.service)
    bound, intents = rows.read_bindings(connection, state), rows.read_intents(connection, state)
    foreign, rules = read_foreign(connection, scope), read_rules(connection, state)
    return State(row.lineage, row.serial, bound, intents, foreign, _unfinished(connection, state, by), rules)


def _unfinished(connection: Connection, state: int, by: str) -> bool:
    """Whether the newest run, the one that asks and those that sent nothing left out, did not end well."""
    others = (runs.c.state == state, runs.c.id != by, runs.c.command.not_like(f"{STATE_COMMANDS}%"))
    newest = select(runs.c.exit_code).where(*others).order_by(runs.c.started.desc())
    codes = (code for code in connection.execute(newest.limit(RUNS)).scalars() if code not in SENT_NOTHING)
    return next(codes, 0) != 0


def read_foreign(connection: Connection, scope: Scope) -> frozenset[tuple[str, str]]:
    """The kinds and ids that other projects and environments bind on the same service."""
    others = (
        select(bindings.c.kind, bindings.c.id)
        .join(states, states.c.id == bindings.c.state)
        .where(states.c.service == scope.service)
        .where((states.c.project != scope.project) | (states.c.environment != scope.columns["environment"]))
    )
    return frozenset((row.kind, row.id) for row in connection.execute(others))
