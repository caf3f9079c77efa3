"""The reference of JSON documents, from the types that check them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from reconciler.report.schemas.documents import schemas

Schema = Mapping[str, Any]

INTRO = """\
# Documents

Commands print these JSON documents with `--format json`, and `plan --out` and `state pull` write them to files. `format` names the
document and its version (`reconciler.plan/1`). This page is generated from the types that check every document.
`reconciler schema NAME` prints a document as JSON Schema, for example [plan](../../schemas/plan.schema.json). The schemas are also in
`reconciler/schemas/` of a distribution.
"""


def page() -> str:
    """Every document with its keys, and then the types that they share."""
    made = {name.removesuffix(".schema.json"): schema for name, schema in schemas().items()}
    parts = [INTRO]
    types: dict[str, Schema] = {}
    for name, schema in made.items():
        parts += [f"## {name}\n", _sentence(schema) + "\n", _table(schema)]
        for type_name, definition in schema.get("$defs", {}).items():
            assert types.setdefault(type_name, definition) == definition, f"two types are named {type_name}"
    parts.append("## Types\n")
    for name, schema in sorted(types.items()):
        parts.append(f"### {_shown(name)}\n")
        if "properties" in schema:
            parts += [_sentence(schema) + "\n"] * bool(_sentence(schema)) + [_table(schema)]
        else:
            pattern = f" It matches `{schema['pattern']}`." if "pattern" in schema else ""
            parts.append(f"{_sentence(schema) or _type(schema).capitalize() + '.'}{pattern}\n")
    return "\n".join(parts)


def _sentence(schema: Schema) -> str:
    return re.sub(r"\s+", " ", schema.get("description", ""))


def _table(schema: Schema) -> str:
    required = schema.get("required", ())
    lines = ["| key | value | meaning |", "|---|---|---|"]
    for key, value in schema["properties"].items():
        optional = "" if key in required else "Optional."
        notes = " ".join(part for part in (_sentence(value), optional) if part)
        lines.append(f"| `{key}` | {_type(value)} | {notes} |".replace("<", "&lt;"))
    return "\n".join(lines) + "\n"


def _type(schema: Schema) -> str:
    """A type in words; a type of its own is a link."""
    match schema:
        case {"$ref": ref}:
            name = _shown(ref.rpartition("/")[2])
            return f"[{name}](#{name.lower()})"
        case {"anyOf": options}:
            return " or ".join(dict.fromkeys(_type(option) for option in options))
        case {"const": value}:
            return f"`{value}`"
        case {"enum": values}:
            return ", ".join(f"`{value}`" for value in values)
        case {"type": "array", **rest}:
            return f"a list: {_type(rest['items'])}" if "items" in rest else "a list"
        case {"type": "object", "additionalProperties": dict() as inner} if inner:
            return f"a map: {_type(inner)}"
        case {"type": "object"}:
            return "a map"
        case {"type": "null"}:
            return "`null`"
        case {"format": "date-time"}:
            return "a time (UTC)"
        case {"type": "string"}:
            return "text"
        case {"type": "boolean"}:
            return "`true`, `false`"
        case {"type": "integer"}:
            return "an integer"
        case {"type": str() as name}:
            return f"a {name}"
        case _:
            return "any value"


def _shown(name: str) -> str:
    return name.removesuffix("Data")
