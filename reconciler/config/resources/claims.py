"""The conditions of resources on claims of visitors, and the claims that each container declares. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reconciler.address import Address
from reconciler.config.source.nodes import StandIn
from reconciler.config.source.problems import Problems
from reconciler.model import Declared
from reconciler.resource import Kinds
from reconciler.resource.conditions import claim_mistakes


def check_conditions(kinds: Kinds, resources: Mapping[Address, Declared], problems: Problems) -> None:
    """Report each condition on a claim that the schema of its container excludes: `!visitor.claims.partnr` would hold for everybody."""
    schemas = schemas_of_claims(kinds, resources)
    for declared, name, condition in conditions(kinds, resources) if schemas else ():
        schema = schemas.get(declared.address.container)
        for mistake in claim_mistakes(condition, schema) if schema is not None else ():
            if mistake.unknown and mistake.closed:
                at = declared.positions.get(name, declared.source)
                wrong = f"{name} depends on a claim that no visitor has: {mistake.message}; correct it, or add it to the schema"
                problems.add(at, wrong, declared.address, id="RC-unknown-claim")


def schemas_of_claims(kinds: Kinds, resources: Mapping[Address, Declared]) -> Mapping[Address | None, Mapping[str, Any]]:
    """The JSON Schema of the claims that each container declares."""
    declaring = {name: kind.claims for name, kind in kinds.items() if kind.claims is not None}
    schemas = {
        declared.address.container: declaring[declared.kind](declared.values)
        for declared in resources.values()
        if declared.kind in declaring
    }
    return {container: schema for container, schema in schemas.items() if schema}


def conditions(kinds: Kinds, resources: Mapping[Address, Declared]) -> Iterator[tuple[Declared, str, str]]:
    """Every condition with its resource and its field."""
    fields = {name: [field.name for field in kind.fields.values() if field.condition] for name, kind in kinds.items()}
    for declared in resources.values():
        for name in fields[declared.kind]:
            condition = declared.values.get(name)
            if isinstance(condition, str) and not isinstance(condition, StandIn):
                yield declared, name, condition
