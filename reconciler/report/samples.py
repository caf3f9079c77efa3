"""Example YAML that shows the location of a kind or of one of its fields. Generated from the declarations; valid by the schema."""

from __future__ import annotations

from typing import Any, Final

import yaml

from reconciler.config.values import adapter
from reconciler.report.types import target
from reconciler.resource import Field, Kind, Kinds
from reconciler.yamltext.format import layout
from reconciler.yamltext.key_order import ANY

TEXT: Final = "some text"


def sample(kinds: Kinds, kind: Kind, word: str | None = None, value: Any = None) -> str:
    """The YAML of one resource in its containers: its required keys, and `word`, a field unless a `value` is given for it."""
    body: dict[str, Any] = {"id": f"id-of-my-{kind.name}"} if kind.needs_id else {}
    for field in kind.fields.values():
        if field.written and field.name != kind.place.key_is and (field.required or field.name == word):
            body[field.name] = _value(kinds, kind, field)
    if value is not None and word is not None:
        body[word] = value
    # An empty map would be valid, and would show nothing.
    if not body and kind.place.bare_is is not None:
        body[kind.place.bare_is] = _value(kinds, kind, kind.fields[kind.place.bare_is])
    return _text(_around(kinds, kind, body))


def _text(document: dict[str, Any]) -> str:
    return layout(yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=4096), ANY)


def _around(kinds: Kinds, kind: Kind, body: dict[str, Any]) -> dict[str, Any]:
    """The containers, from the root inwards, around the body of a resource."""
    host = next(iter(kind.place.hosts(kind.within)), None)
    document = {kind.place.section_in(host): kind.place.write(_key(kind), body)}
    return document if host is None else _around(kinds, kinds[host], document)


def _key(kind: Kind) -> str:
    if kind.place.key_is is not None:
        return str(adapter(kind.fields[kind.place.key_is].type).json_schema().get("examples", [f"my-{kind.name}"])[0])
    return f"my-{kind.name}"


def _value(kinds: Kinds, kind: Kind, field: Field) -> Any:
    to = target(field.type)
    text = TEXT if to is None else f"another-{to}" if to == kind.name else _key(kinds[to])
    schema = adapter(field.type).json_schema()
    return _of_schema(schema, schema.get("$defs", {}), text)


def _of_schema(schema: dict[str, Any], types: dict[str, Any], text: str) -> Any:
    """A value that the schema allows. `text`: the example of a text."""
    if "examples" in schema:
        return schema["examples"][0]
    if "$ref" in schema:
        return _of_schema(types[schema["$ref"].rpartition("/")[2]], types, text)
    if "anyOf" in schema:
        return _of_schema(schema["anyOf"][0], types, text)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "boolean":
            return True
        case "array":
            return [_of_schema(schema["items"], types, text)]
        case "object":
            return {name: _of_schema(part, types, text) for name, part in schema.get("properties", {}).items()}
        case _:
            return text
