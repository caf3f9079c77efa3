"""The JSON Schema of `policies`, `use` and `exceptions`, for editors. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reconciler.config.policies.keys import EXCEPTION, POLICY, SECTIONS, USE
from reconciler.config.policies.names import ACTIONS
from reconciler.config.policies.ready import ready
from reconciler.config.schemas.alternatives import either
from reconciler.model import Severity
from reconciler.model.policy import PLAN
from reconciler.resource import Kinds

Schema = dict[str, Any]

ASSERTION: Schema = {"type": "string", "pattern": r"^\s*\$\{\{"}
TEXT: Schema = {"$ref": "#/$defs/text"}


def rules(kinds: Kinds) -> Schema:
    """The three sections, by name."""
    expression = {"$ref": "#/$defs/expression"}
    levels = {"enum": [level.value for level in Severity]}
    target = {"anyOf": [{"enum": [*kinds, PLAN]}, {"type": "string", "pattern": "[/*]"}, {"$ref": "#/$defs/key"}]}
    action = {"enum": list(ACTIONS)}
    policy = _map(
        POLICY,
        {
            "id": {"anyOf": [{"$ref": "#/$defs/key"}, expression]},
            "on": {"anyOf": [target, {"type": "array", "items": target, "minItems": 1}, expression]},
            "when": {"anyOf": [action, {"type": "array", "items": action, "minItems": 1}, expression]},
            "assert": ASSERTION,
            "message": TEXT,
            "level": {"anyOf": [levels, expression]},
            "reason": TEXT,
        },
        ("id", "on", "assert", "message"),
    )
    used = {"enum": list(ready())}
    use = either([used, _map(USE, {"policy": used, "level": levels}, ("policy",)), expression])
    day = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
    exception = _map(
        EXCEPTION, {"policy": TEXT, "address": TEXT, "until": {"anyOf": [day, expression]}, "reason": TEXT}, ("policy", "until", "reason")
    )
    items = {"policies": policy, "use": use, "exceptions": exception}
    return {name: {"description": doc, **either([{"type": "array", "items": items[name]}, expression])} for name, doc in SECTIONS.items()}


def _map(docs: Mapping[str, str], values: Mapping[str, Schema], required: tuple[str, ...]) -> Schema:
    described = {key: {"description": docs[key], **value} for key, value in values.items()}
    return {"type": "object", "properties": described, "additionalProperties": False, "required": list(required)}
