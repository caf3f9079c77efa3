"""The schema of a site's visitors: JSON Schema draft-07, cut down to boolean attributes; and conditions to copy, made from it."""

from __future__ import annotations

import json
import re
from typing import Any

from reconciler.sandbox.service import Fault

DRAFT = ("http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema")
UNSIGNED = "unsigned"
CONDITION_MAX = 1024  # characters a condition may have


def check(schema: dict[str, Any]) -> None:
    """Raise 400, naming the place, for what does not have the shape of a visitor schema."""
    if schema.get("$schema", DRAFT[0]) not in DRAFT:
        raise Fault(400, f"jsonSchema.$schema: expected {DRAFT[0]}")
    _object("jsonSchema", schema)
    for name, attribute in schema["properties"].items():
        where = f"jsonSchema.properties.{name}"
        if not isinstance(attribute, dict):
            raise Fault(400, f"{where}: expected an object")
        if name != UNSIGNED:
            _boolean(where, attribute)
            continue
        _object(where, attribute)
        for claim, inner in attribute["properties"].items():
            _boolean(f"{where}.properties.{claim}", inner)


def _object(where: str, schema: dict[str, Any]) -> None:
    if schema.get("type") != "object":
        raise Fault(400, f"{where}.type: expected object")
    if not isinstance(schema.get("properties"), dict):
        raise Fault(400, f"{where}.properties: expected an object")
    if schema.get("additionalProperties", False) is not False:
        raise Fault(400, f"{where}.additionalProperties: expected false")
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(item, str) for item in required) or len(set(required)) < len(required):
        raise Fault(400, f"{where}.required: expected a list of different names")
    _described(where, schema)


def _boolean(where: str, schema: Any) -> None:
    if not isinstance(schema, dict) or schema.get("type") != "boolean":
        raise Fault(400, f"{where}.type: expected boolean")
    _described(where, schema)


def _described(where: str, schema: dict[str, Any]) -> None:
    for name in ("title", "description"):
        if not isinstance(schema.get(name, ""), str):
            raise Fault(400, f"{where}.{name}: expected a text")


def conditions(schema: dict[str, Any]) -> list[dict[str, str]]:
    """One condition for each attribute of a checked schema, those that are not signed last."""
    found = []
    own = {name: item for name, item in schema["properties"].items() if name != UNSIGNED}
    unsigned = schema["properties"].get(UNSIGNED, {"properties": {}})["properties"]
    for base, attributes in (("visitor.claims", own), (f"visitor.claims.{UNSIGNED}", unsigned)):
        for name, attribute in attributes.items():
            condition = base + (f".{name}" if re.fullmatch(r"[A-Za-z_$][A-Za-z0-9_$]*", name) else f"[{json.dumps(name)}]")
            if len(condition) <= CONDITION_MAX:
                found.append({"description": attribute.get("description") or f"{name} is true", "condition": condition})
    return found
