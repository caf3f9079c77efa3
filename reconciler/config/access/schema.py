"""The JSON Schema of `access`. Pure."""

from __future__ import annotations

from typing import Any, Final

from reconciler.config.words import AccessSection
from reconciler.resource.audience import ROLES

EXPRESSION: Final = {"$ref": "#/$defs/expression"}
TEXT: Final = {"$ref": "#/$defs/text"}


def schema() -> dict[str, Any]:
    """Readers as tests, as the top of a project file has them."""
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
