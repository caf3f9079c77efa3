"""The schema of a site's visitors: which JSON Schemas the service accepts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from reconciler.resource import Checked, JsonSchema, Len, Shape
from reconciler.resource.conditions import UNSIGNED

DRAFT: Final = "http://json-schema.org/draft-07/schema#"
SIMPLE: Final = ("boolean", "string", "number")
TYPES: Final = (*SIMPLE, "array", "object")
EXAMPLE: Final = {
    "type": "object",
    "properties": {"isBeta": {"type": "boolean", "description": "Tries what is new"}},
    "additionalProperties": False,
}


Wrong = tuple[str, str]
"""An error in a schema: its location, "" for the whole schema, and what is wrong."""


def _object(at: str, schema: Any) -> Iterator[Wrong]:
    """The errors in a schema of several attributes."""
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        yield at, "expected type: object"
    elif not isinstance(schema.get("properties"), Mapping):
        yield at, "expected properties, a map of attributes"
    elif schema.get("additionalProperties", False) is not False:
        yield at, "additionalProperties can only be false"
    elif not _names(schema.get("required", [])):
        yield at, "required must be a list of different names"
    else:
        for name, attribute in schema["properties"].items():
            yield from _attribute(f"{at}.properties.{name}".removeprefix("."), attribute, TYPES)


def _attribute(at: str, schema: Any, types: tuple[str, ...]) -> Iterator[Wrong]:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if kind not in types:
        yield at, f"expected a type: {', '.join(types)}"
    elif kind == "object":
        yield from _object(at, schema)
    elif kind == "array":
        yield from _attribute(f"{at}.items", schema.get("items"), SIMPLE)
    elif kind == "string" and "enum" in schema and not (schema["enum"] and _names(schema["enum"])):
        yield at, "enum must be a list of different texts"
    yield from ((at, f"{name} must be a text") for name in ("title", "description") if kind and not isinstance(schema.get(name, ""), str))


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value) and len(set(value)) == len(value)


def _visitors(schema: dict[str, Any]) -> dict[str, Any]:
    wrong: list[Wrong] = [] if schema.get("$schema", DRAFT) in (DRAFT, DRAFT.removesuffix("#")) else [("", f"$schema can only be {DRAFT}")]
    wrong += _object("", schema)
    if not wrong and schema["properties"].get(UNSIGNED, {}).get("type", "object") != "object":
        wrong = [(f"properties.{UNSIGNED}", "expected type: object")]
    if wrong:
        raise ValueError(": ".join(filter(None, wrong[0])))
    return schema


_PARTS: Final[dict[str, Shape]] = {"required": Shape(unordered=True), "enum": Shape(unordered=True)}
_SCHEMA: Final = Shape(known=frozenset({"type", "properties", "required", "items", "enum"}), keys=_PARTS, tag="type")
"""What decides which claims are valid; names, descriptions and `$schema` are compared where somebody wrote them."""
_PARTS.update(properties=Shape(every=_SCHEMA), items=_SCHEMA)  # schemas are nested

VisitorSchema = Annotated[dict[str, Any], _SCHEMA, Len(1), Checked(_visitors), JsonSchema({"examples": [EXAMPLE]})]
"""Attributes of visitors: booleans, texts with or without an `enum`, numbers, lists of these, and objects of all these."""
