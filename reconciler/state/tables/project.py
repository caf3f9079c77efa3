"""What the state remembers of the YAML: the rules under which it was last applied, and its renames that are done.

In: a connection inside a transaction. Out: `Rules`; today's address by the former one. Forbidden: deciding what is remembered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reconciler.address import Address
from reconciler.model import Guards, Rules
from reconciler.state.connection import Connection
from reconciler.state.tables.schema import insert
from reconciler.state.tables.values import damaged, from_json, to_json

RULES: Final = "the rules of the project"


def write_rules(connection: Connection, state: int, rules: Rules) -> None:
    """Replace the recorded rules by these."""
    # A limit that is not set is left out, as it was before it could be set.
    guards = {name: limit for name, limit in vars(rules.guards).items() if limit is not None}
    value = {"guards": guards, "prune": dict(rules.prune), "protect": sorted(rules.protect)}
    value |= {"access": sorted(rules.access)} if rules.access else {}
    value |= {"policies": dict(rules.policies)} if rules.policies else {}
    value |= {"exceptions": sorted(rules.exceptions)} if rules.exceptions else {}
    value |= {"ignored": sorted(rules.ignored)} if rules.ignored else {}
    replace = f"{insert('rules')} ON CONFLICT (state) DO UPDATE SET value = excluded.value"
    connection.run(replace, state=state, value=to_json(value, RULES))


def read_rules(connection: Connection, state: int) -> Rules | None:
    """The recorded rules, None where there are none; raises StateError where they are broken."""
    text = connection.value("SELECT value FROM rules WHERE state = :state", state=state)
    return None if text is None else rules_of(from_json(text, RULES))


def rules_of(value: Any) -> Rules:
    """The rules of a decoded row; raises StateError where it is broken."""
    try:
        guards, protect, access = Guards(**value["guards"]), frozenset(value["protect"]), frozenset(value.get("access", ()))
        policies, exceptions = dict(value.get("policies", {})), frozenset(value.get("exceptions", ()))
        return Rules(guards, value["prune"], protect, access, policies, exceptions, frozenset(value.get("ignored", ())))
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise damaged(RULES) from error


def write_renames(connection: Connection, state: int, fulfilled: Mapping[Address, Address]) -> None:
    """Replace the recorded renames by these."""
    connection.run("DELETE FROM renames WHERE state = :state", state=state)
    rows = [{"state": state, "old": str(old), "new": str(new)} for old, new in sorted(fulfilled.items())]
    connection.run_all(insert("renames"), rows)


def read_renames(connection: Connection, state: int) -> dict[Address, Address]:
    """The recorded renames; raises StateError where they are broken."""
    rows = connection.rows("SELECT old, new FROM renames WHERE state = :state ORDER BY old", state=state)
    try:
        return {Address.parse(row.old): Address.parse(row.new) for row in rows}
    except (TypeError, ValueError) as error:
        raise damaged("the renames of the project") from error


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
