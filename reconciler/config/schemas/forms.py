"""Parts shared by several definitions of the JSON Schema: a map, a text, a key, the contents of `forEach`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reconciler.address import KEY_PATTERN
from reconciler.config.schemas.alternatives import EXPRESSION, TEXT, Schema, either

KEY: Schema = {"$ref": "#/$defs/key"}
KEYS: Schema = {"pattern": rf"^{KEY_PATTERN}$|\$\{{\{{"}  # an expression is a key inside forEach
LOOP: Schema = {
    "description": "One resource for each element of a list or a map: each.key, each.value and each.index are its values.",
    **either([{"type": "array"}, {"type": "object"}, EXPRESSION]),
}
COMMENT: Schema = {"^x-": {"description": "Ignored: use it for YAML anchors."}}


def map_of(properties: Mapping[str, Any], doc: str = "", *, required: tuple[str, ...] = (), ignored: bool = False) -> Schema:
    """A map with these keys and no others; `ignored` allows `x-…` too."""
    made: Schema = {"description": doc} if doc else {}
    made |= {"type": "object", "properties": dict(properties), "additionalProperties": False}
    if required:
        made["required"] = list(required)
    if ignored:
        made["patternProperties"] = COMMENT
    return made


def text(doc: str) -> Schema:
    return {"description": doc, **TEXT}
