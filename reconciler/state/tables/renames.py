"""The renames of the YAML that are done, as rows and back.

In: a connection inside a transaction. Out: today's address by the former one. Forbidden: deciding which are done.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection, bindparam, delete, insert, select

from reconciler.address import Address
from reconciler.state.tables import schema, values
from reconciler.state.tables.rows import chunks

_ALL: Final = (
    select(schema.renames.c.old, schema.renames.c.new).where(schema.renames.c.state == bindparam("of")).order_by(schema.renames.c.old)
)


def write_renames(connection: Connection, state: int, fulfilled: Mapping[Address, Address]) -> None:
    """Replace the recorded renames by these."""
    connection.execute(delete(schema.renames).where(schema.renames.c.state == state))
    for some in chunks(sorted(fulfilled.items())):
        connection.execute(insert(schema.renames), [{"state": state, "old": str(old), "new": str(new)} for old, new in some])


def read_renames(connection: Connection, state: int) -> dict[Address, Address]:
    """The recorded renames; raises StateError where they are broken."""
    return values.renames(connection.execute(_ALL, {"of": state}))


def after(fulfilled: Mapping[Address, Address], rename: Mapping[Address, Address]) -> dict[Address, Address]:
    """The recorded renames when tracked addresses are renamed without the YAML: a reverted rename may happen again, and what is renamed as
    a line of the YAML says must not be renamed by that line again."""
    left: dict[Address, Address] = {}
    for old, new in fulfilled.items():
        container = next((above for above in old.containers if above in rename), None)
        was = old if container is None else old.renamed(container, rename[container])
        now = rename.get(new, new)
        if now != was:
            left[was] = now
    for old, new in rename.items():
        with_container = any(above in rename and old.renamed(above, rename[above]) == new for above in old.containers)
        if fulfilled.get(new) != old and not with_container:
            left[old] = new
    return left
