"""The rules under which a project was last applied, as a row and back.

In: a connection inside a transaction. Out: `Rules`, or its row. Forbidden: deciding when they are recorded.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, bindparam, select

from reconciler.model import Rules
from reconciler.state.tables import schema, values
from reconciler.state.tables.rows import inserting

_VALUE: Final = select(schema.rules.c.value).where(schema.rules.c.state == bindparam("of"))


def write_rules(connection: Connection, state: int, found: Rules) -> None:
    """Replace the recorded rules by these."""
    value = {"guards": vars(found.guards), "prune": dict(found.prune), "protect": sorted(found.protect)}
    value |= {"access": sorted(found.access)} if found.access else {}
    value |= {"policies": dict(found.policies)} if found.policies else {}
    value |= {"exceptions": sorted(found.exceptions)} if found.exceptions else {}
    value |= {"ignored": sorted(found.ignored)} if found.ignored else {}
    row = inserting(connection)(schema.rules).values(state=state, value=values.to_json(value, values.RULES))
    connection.execute(row.on_conflict_do_update(index_elements=["state"], set_={"value": row.excluded["value"]}))


def read_rules(connection: Connection, state: int) -> Rules | None:
    """The recorded rules, None where there are none; raises StateError where they are broken."""
    return values.rules(connection.execute(_VALUE, {"of": state}).scalar())
