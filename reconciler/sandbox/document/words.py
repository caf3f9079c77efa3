"""The few words that the shapes of answers are written with; each gives a JSON Schema."""

from __future__ import annotations

from typing import Any, Final

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
NUMBER: Final[Schema] = {"type": "number"}
FLAG: Final[Schema] = {"type": "boolean"}
TIME: Final[Schema] = {"type": "string", "format": "date-time"}
URL: Final[Schema] = {"type": "string", "format": "uri"}
FREE: Final[Schema] = {"type": "object"}
ROLES: Final = ("admin", "create", "review", "edit", "comment", "read")


def text(*, least: int | None = None, most: int | None = None, pattern: str | None = None) -> Schema:
    """A text of a limited length."""
    limits = {"minLength": least, "maxLength": most, "pattern": pattern}
    return {**TEXT, **{name: value for name, value in limits.items() if value is not None}}


def one_of(*values: str, open: bool = False) -> Schema:
    """One of these words; `open`: others may come."""
    return {**TEXT, "examples": list(values)} if open else {**TEXT, "enum": list(values)}


def ref(name: str) -> Schema:
    """Another object."""
    return {"$ref": f"#/components/schemas/{name}"}


def many(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def by_name(value: Schema) -> Schema:
    """A map from names."""
    return {"type": "object", "additionalProperties": value}


def maybe(schema: Schema) -> Schema:
    """Or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def fields(required: str = "", /, **properties: Schema) -> Schema:
    """An object; it may hold more than is named. `required`: names, separated by spaces."""
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required.split()
    return schema


def thing(object: str, about: str, required: str, /, **properties: Schema) -> Schema:
    """A resource: an object that says what it is."""
    named = {"object": {"type": "string", "const": object}, **properties}
    return {**fields(f"object {required}", **named), "description": about}


def urls(*names: str) -> Schema:
    return fields(**dict.fromkeys(names, URL))


def flags(*names: str) -> Schema:
    return fields(**dict.fromkeys(names, FLAG))


def numbers(*names: str) -> Schema:
    return fields(**dict.fromkeys(names, NUMBER))


def envelope(item: Schema, /, **more: Schema) -> Schema:
    """A page of a list."""
    return fields("items count", next=fields("page", page=TEXT), count=NUMBER, items=many(item), **more)


ROLE: Final[Schema] = {"anyOf": [one_of(*ROLES), {"type": "null"}]}
VISIBILITY: Final = ("public", "unlisted", "share-link", "visitor-auth")
LEVEL: Final[Schema] = {"anyOf": [one_of(*ROLES, "inherit"), {"type": "null"}]}
