"""The JSON Schema of the rules that no plan may violate: `access`, `policies`, `use` and `exceptions`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reconciler.config.policies.keys import ACTIONS, EXCEPTION, POLICY, SECTIONS, USE
from reconciler.config.policies.ready import ready
from reconciler.config.schemas.forms import EXPRESSION, TEXT, Schema, either
from reconciler.config.words import AccessSection
from reconciler.model import Severity
from reconciler.model.policy import PLAN
from reconciler.resource import Kinds
from reconciler.resource.audience import ROLES

ASSERTION: Schema = {"type": "string", "pattern": r"^\s*\$\{\{"}


def policies(kinds: Kinds) -> Schema:
    """`policies`, `use` and `exceptions`, by name."""
    levels = {"enum": [level.value for level in Severity]}
    target = {"anyOf": [{"enum": [*kinds, PLAN]}, {"type": "string", "pattern": "[/*]"}, {"$ref": "#/$defs/key"}]}
    action = {"enum": list(ACTIONS)}
    policy = _described_map(
        POLICY,
        {
            "id": {"anyOf": [{"$ref": "#/$defs/key"}, EXPRESSION]},
            "on": {"anyOf": [target, {"type": "array", "items": target, "minItems": 1}, EXPRESSION]},
            "when": {"anyOf": [action, {"type": "array", "items": action, "minItems": 1}, EXPRESSION]},
            "assert": ASSERTION,
            "message": TEXT,
            "level": {"anyOf": [levels, EXPRESSION]},
            "reason": TEXT,
        },
        ("id", "on", "assert", "message"),
    )
    used = {"enum": list(ready())}
    use = either([used, _described_map(USE, {"policy": used, "level": levels}, ("policy",)), EXPRESSION])
    day = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
    exception = _described_map(
        EXCEPTION, {"policy": TEXT, "address": TEXT, "until": {"anyOf": [day, EXPRESSION]}, "reason": TEXT}, ("policy", "until", "reason")
    )
    items = {"policies": policy, "use": use, "exceptions": exception}
    return {name: {"description": doc, **either([{"type": "array", "items": items[name]}, EXPRESSION])} for name, doc in SECTIONS.items()}


def _described_map(docs: Mapping[str, str], values: Mapping[str, Schema], required: tuple[str, ...]) -> Schema:
    described = {key: {"description": docs[key], **value} for key, value in values.items()}
    return {"type": "object", "properties": described, "additionalProperties": False, "required": list(required)}


def access() -> dict[str, Any]:
    """`access`: readers as tests."""
    patterns = {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}}
    either = [patterns, EXPRESSION]
    test: dict[str, Any] = {
        "type": "object",
        "properties": {
            AccessSection.AS: {"description": "Who reads.", "anyOf": [{"enum": ["anyone", "agent"]}, *_readers(), EXPRESSION]},
            AccessSection.SEES: {"description": "What the reader must be able to read: addresses or patterns.", "anyOf": either},
            AccessSection.MUST_NOT_SEE: {
                "description": "What the reader must not be able to read: addresses or patterns.",
                "anyOf": either,
            },
            AccessSection.REASON: {"description": "Why: shown with each violation.", **TEXT},
        },
        "additionalProperties": False,
        "required": [AccessSection.AS],
        "anyOf": [{"required": [AccessSection.SEES]}, {"required": [AccessSection.MUST_NOT_SEE]}],
    }
    doc = "Readers as tests: what each of them must and must not be able to read. A plan that violates one is refused."
    return {"description": doc, "type": "array", "items": test}


def _readers() -> list[dict[str, Any]]:
    """Those who are described by a map of one key."""
    words: dict[str, dict[str, Any]] = {
        "link": {"description": "Whoever has this share link: its key, or its address.", **TEXT},
        "claims": {"description": "A signed-in visitor with these claims and no others.", "type": "object"},
        "role": {"description": "A member with this role.", "anyOf": [{"enum": list(ROLES)}, EXPRESSION]},
    }
    return [
        {"type": "object", "properties": {name: word}, "required": [name], "additionalProperties": False} for name, word in words.items()
    ]
