"""Claims of visitors against the schema that declares them. Pure.

In: a condition, and the JSON Schema of the claims. Out: the claims that the schema does not have, and the values that it does not allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from reconciler.resource.conditions import Claim, claims_in
from reconciler.text.names import did_you_mean, one_of

TYPES: Final[Mapping[str, Any]] = {"boolean": bool, "string": str, "number": (int, float)}


class ClaimMistake(NamedTuple):
    """What is wrong with the use of a claim, as one sentence. `unknown`: the schema has no such claim. `closed`: nor can a visitor have
    one."""

    message: str
    unknown: bool
    closed: bool


def claim_mistakes(condition: str, schema: Mapping[str, Any]) -> Iterator[ClaimMistake]:
    """What is wrong with the claims in a condition, each once."""
    reported = set()
    for claim, values in claims_in(condition):
        for mistake in _mistakes(claim, values, schema):
            if mistake.message not in reported:
                reported.add(mistake.message)
                yield mistake


def _mistakes(claim: Claim, values: tuple[Any, ...], schema: Mapping[str, Any]) -> Iterator[ClaimMistake]:
    rule: Any = schema
    for name in claim.path:
        inner = rule.get("properties") if isinstance(rule, Mapping) else None
        properties = inner if isinstance(inner, Mapping) else {}
        if name not in properties:
            has_parts = isinstance(rule, Mapping) and rule.get("type") == "object"
            closed = not has_parts or rule.get("additionalProperties") is False
            hint = did_you_mean(name, [key for key in properties if isinstance(key, str)])
            yield ClaimMistake(f"the schema of claims has no {claim}{hint}", unknown=True, closed=closed)
            return
        rule = properties[name]
    allowed = rule.get("enum") if isinstance(rule, Mapping) else None
    if isinstance(rule, Mapping) and rule.get("type") == "array":
        rule = rule.get("items")
    types: Any = TYPES.get(str(rule.get("type"))) if isinstance(rule, Mapping) else None
    for value in values if types is not None else ():
        wrong_type = not isinstance(value, types) or (isinstance(value, bool) and types is not bool)
        if value is not None and (wrong_type or (isinstance(allowed, list) and value not in allowed)):
            choices = [str(choice) for choice in allowed] if isinstance(allowed, list) else []
            expected = one_of(choices) if choices else f"expected a {rule['type']}"
            near = did_you_mean(value, choices) if isinstance(value, str) else ""
            yield ClaimMistake(f"{claim} is never {_shown(value)}; {expected}{near}", unknown=False, closed=True)


def _shown(value: Any) -> str:
    """A value as it is written in a condition."""
    return f'"{value}"' if isinstance(value, str) else {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
