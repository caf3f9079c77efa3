"""Whether data is as one of our own schemas says; knows the words those schemas use, and no others. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from reconciler.report.schema_parts import Schema

_SORTS: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "boolean": (bool,), "null": (type(None),),
}  # fmt: skip


def wrong(schema: Schema, value: Any) -> str | None:
    """The first thing that is wrong, as `place: what`; None where the value conforms."""
    return _wrong(schema, value, "", schema.get("$defs", {}))


def _wrong(schema: Schema, value: Any, at: str, defined: Mapping[str, Schema]) -> str | None:
    if schema.keys() <= {"description"}:
        return None
    if "$ref" in schema:
        return _wrong(defined[schema["$ref"].rpartition("/")[2]], value, at, defined)
    if "anyOf" in schema:
        found = [_wrong(one, value, at, defined) for one in schema["anyOf"]]
        return None if None in found else found[0]
    if "const" in schema and value != schema["const"]:
        return f"{at or 'it'}: is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{at or 'it'}: is none of {', '.join(map(str, schema['enum']))}"
    sort = schema.get("type")
    if sort is not None and (not isinstance(value, _SORTS[sort]) or (isinstance(value, bool) and sort != "boolean")):
        return f"{at or 'it'}: is not of type {sort}"
    match value:
        case str():
            return _text(schema, value, at)
        case int() if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
            return f"{at}: is less than {schema['minimum']} or more than {schema['maximum']}"
        case list() if "items" in schema:
            parts = ((schema["items"], one, f"{at}[{index}]") for index, one in enumerate(value))
        case dict():
            known = schema.get("properties", {})
            for name in schema.get("required", ()):
                if name not in value:
                    return f"{at or 'it'}: has no {name!r}"
            other = schema.get("additionalProperties", {})
            for name in value:
                if name not in known and other is False:
                    return f"{at or 'it'}: has {name!r}, which is not known"
            parts = ((known.get(name, other), one, f"{at}.{name}" if at else name) for name, one in value.items())
        case _:
            return None
    return next((trouble for part, one, place in parts if (trouble := _wrong(part, one, place, defined)) is not None), None)


def _text(schema: Schema, value: str, at: str) -> str | None:
    if "pattern" in schema and not re.search(schema["pattern"].replace("$", r"\Z"), value):
        return f"{at}: is not in the form it should have"
    if schema.get("format") == "date-time":
        try:
            aware = datetime.fromisoformat(value).tzinfo is not None
        except ValueError:
            aware = False
        return None if aware else f"{at}: is no time with its zone"
    return None
