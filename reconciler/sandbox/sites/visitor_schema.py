"""The schema of a site's visitors: JSON Schema draft-07, cut down to attributes; and conditions to copy, made from it.

An attribute is a boolean, a text with or without an `enum`, a number, a list of these, or an object of attributes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from reconciler.sandbox.service import Fault

DRAFT = ("http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema")
UNSIGNED = "unsigned"
PRIMITIVES = ("boolean", "string", "number")
ATTRIBUTES = (*PRIMITIVES, "array", "object")
CONDITION_MAX = 1024  # characters a condition may have


def check(schema: dict[str, Any]) -> None:
    """Raise 400, naming the place, for what does not have the shape of a visitor schema."""
    if schema.get("$schema", DRAFT[0]) not in DRAFT:
        raise Fault(400, f"jsonSchema.$schema: expected {DRAFT[0]}")
    _object("jsonSchema", schema)
    unsigned = schema["properties"].get(UNSIGNED)
    if unsigned is not None and unsigned["type"] != "object":
        raise Fault(400, f"jsonSchema.properties.{UNSIGNED}.type: expected object")


def _object(where: str, schema: dict[str, Any]) -> None:
    if schema.get("type") != "object":
        raise Fault(400, f"{where}.type: expected object")
    if not isinstance(schema.get("properties"), dict):
        raise Fault(400, f"{where}.properties: expected an object")
    if schema.get("additionalProperties", False) is not False:
        raise Fault(400, f"{where}.additionalProperties: expected false")
    if not _texts(schema.get("required", [])):
        raise Fault(400, f"{where}.required: expected a list of different names")
    _described(where, schema)
    for name, attribute in schema["properties"].items():
        _attribute(f"{where}.properties.{name}", attribute, ATTRIBUTES)


def _attribute(where: str, schema: Any, types: tuple[str, ...]) -> None:
    if not isinstance(schema, dict):
        raise Fault(400, f"{where}: expected an object")
    type = schema.get("type")
    if type not in types:
        raise Fault(400, f"{where}.type: expected {', '.join(types)}")
    _described(where, schema)
    if type == "object":
        _object(where, schema)
    elif type == "array":
        _attribute(f"{where}.items", schema.get("items"), PRIMITIVES)
    elif type == "string" and "enum" in schema and not (schema["enum"] and _texts(schema["enum"])):
        raise Fault(400, f"{where}.enum: expected a list of different texts")


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value) and len(set(value)) == len(value)


def _described(where: str, schema: dict[str, Any]) -> None:
    for name in ("title", "description"):
        if not isinstance(schema.get(name, ""), str):
            raise Fault(400, f"{where}.{name}: expected a text")


def conditions(schema: dict[str, Any]) -> list[dict[str, str]]:
    """A condition for each boolean attribute of a checked schema and for each value of an `enum`, those that are not signed last."""
    unsigned = schema["properties"].get(UNSIGNED)
    own = {name: item for name, item in schema["properties"].items() if name != UNSIGNED}
    pairs = [*_conditions("visitor.claims", own)]
    pairs += _conditions(f"visitor.claims.{UNSIGNED}", unsigned["properties"]) if unsigned is not None else []
    return [{"description": says, "condition": condition} for says, condition in pairs if len(condition) <= CONDITION_MAX]


def _conditions(base: str, attributes: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, attribute in attributes.items():
        claim = base + (f".{name}" if re.fullmatch(r"[A-Za-z_$][A-Za-z0-9_$]*", name) else f"[{json.dumps(name)}]")
        says = attribute.get("description")
        if attribute["type"] == "boolean":
            yield says or f"{name} is true", claim
        elif attribute["type"] == "object":
            yield from _conditions(claim, attribute["properties"])
        elif attribute["type"] == "string":
            for value in attribute.get("enum", ()):
                yield f"{says or name} is {value}", f"{claim} == {json.dumps(value)}"
