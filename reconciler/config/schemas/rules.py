"""The JSON Schema of `access`, `policies`, `use`, `exceptions` and `lint`: values of which the table of keys has only the names. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.config.keys import ACCESS_TEST, EXCEPTION, IGNORE, LEVELS, POLICY, USE
from reconciler.config.policies.keys import ACTIONS
from reconciler.config.policies.ready import ready
from reconciler.config.schemas.forms import EXPRESSION, TEXT, Schema, described_map, either
from reconciler.model import RULES as LINT_RULES
from reconciler.model.policy import PLAN
from reconciler.resource import Kinds
from reconciler.resource.audience import ROLES

ASSERTION: Schema = {"type": "string", "pattern": r"^\s*\$\{\{"}


def policies(kinds: Kinds) -> Schema:
    """`policies`, `use` and `exceptions`, by name."""
    target = {"anyOf": [{"enum": [*kinds, PLAN]}, {"type": "string", "pattern": "[/*]"}, {"$ref": "#/$defs/key"}]}
    action = {"enum": list(ACTIONS)}
    used = {"enum": list(ready())}
    level: Schema = {"anyOf": [{"enum": list(LEVELS)}, EXPRESSION]}
    day = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
    items = {
        "use": either([used, described_map(USE, {"policy": used, "level": {"enum": list(LEVELS)}}), EXPRESSION]),
        "policies": described_map(
            POLICY,
            {
                "id": {"anyOf": [{"$ref": "#/$defs/key"}, EXPRESSION]},
                "on": {"anyOf": [target, {"type": "array", "items": target, "minItems": 1}, EXPRESSION]},
                "when": {"anyOf": [action, {"type": "array", "items": action, "minItems": 1}, EXPRESSION]},
                "assert": ASSERTION,
                "level": level,
            },
        ),
        "exceptions": described_map(EXCEPTION, {"until": {"anyOf": [day, EXPRESSION]}}),
    }
    return {name: either([{"type": "array", "items": item}, EXPRESSION]) for name, item in items.items()}


def access() -> Schema:
    """`access`: readers as tests."""
    patterns: Schema = {"anyOf": [{"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}}, EXPRESSION]}
    readers = {"anyOf": [{"enum": ["anyone", "agent"]}, *_readers(), EXPRESSION]}
    test = described_map(ACCESS_TEST, {"as": readers, "sees": patterns, "mustNotSee": patterns})
    return {"type": "array", "items": {**test, "anyOf": [{"required": ["sees"]}, {"required": ["mustNotSee"]}]}}


def lint() -> Schema:
    """`lint.ignore`."""
    rules = {"anyOf": [{"enum": [*LINT_RULES, *(f"RC-{rule}" for rule in LINT_RULES)]}, EXPRESSION]}
    values: Mapping[str, Schema] = {"id": rules, "address": {"type": "string", "minLength": 1}, "reason": {"type": "string"}}
    return {"type": "array", "items": described_map(IGNORE, values)}


def _readers() -> list[Schema]:
    """Those who are described by a map of one key."""
    readers: dict[str, Schema] = {
        "link": {"description": "Whoever has this share link: its key, or its address.", **TEXT},
        "claims": {"description": "A signed-in visitor with these claims and no others.", "type": "object"},
        "role": {"description": "A member with this role.", "anyOf": [{"enum": list(ROLES)}, EXPRESSION]},
    }
    return [
        {"type": "object", "properties": {name: value}, "required": [name], "additionalProperties": False}
        for name, value in readers.items()
    ]
