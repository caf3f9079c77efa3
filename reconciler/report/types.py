"""The values that a field accepts, in words, from its type alone.

Example YAML that shows the location of a kind or of one of its fields. Generated from the declarations; valid by the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import annotated_types
import yaml
from pydantic import WithJsonSchema

from reconciler.config.values import adapter
from reconciler.resource import Field, JsonSchema, Kind, Kinds, Len, To
from reconciler.text.names import a
from reconciler.yamltext.format import ANY, layout


def in_words(hint: Any, *, quote: str = "") -> str:
    """`text, 1 to 50 characters`, `true, false`, `a list: a space`; `quote` surrounds literal values."""

    def literal(text: object) -> str:
        return f"{quote}{text}{quote}"

    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        inner, *extras = args
        for extra in extras:
            if isinstance(extra, To):
                return a(extra.kind)
            if isinstance(extra, JsonSchema) and inner is Any:
                return _of_schema(extra.words, quote)
            if isinstance(extra, WithJsonSchema) and extra.json_schema is not None:
                return _of_schema(extra.json_schema, quote)
        lengths = [length for extra in extras if (length := _length(extra))]
        return f"text, {lengths[0]}" if lengths and get_origin(inner) is not dict else in_words(inner, quote=quote)
    if origin is Literal:
        return ", ".join(literal(value) for value in args)
    if origin in (Union, UnionType):
        return " or ".join(literal("null") if option is NoneType else in_words(option, quote=quote) for option in args)
    if origin in (frozenset, set, list):
        return f"a list: {in_words(args[0], quote=quote)}"
    if origin is dict:
        return "a map"
    # isinstance does not know a TypedDict; these two attributes tell it from other classes.
    if isinstance(hint, type) and hasattr(hint, "__annotations__") and hasattr(hint, "__total__"):
        parts = get_type_hints(hint, include_extras=True).items()
        plain = get_type_hints(hint)
        keys = (f"{name}: {in_words(plain[name]) if (to := target(part)) is None else a(to)}" for name, part in parts)
        return literal("{" + ", ".join(keys) + "}")
    return {str: "text", bool: f"{literal('true')}, {literal('false')}"}.get(hint, "text")


def _length(extra: Any) -> str:
    """The length of a text; "" if any length is allowed."""
    if isinstance(extra, annotated_types.Len):
        return _length(Len(extra.min_length, extra.max_length))
    if not isinstance(extra, Len):
        return ""
    return f"{extra.least} to {extra.most} characters" if extra.most is not None else "not empty"


def _of_schema(schema: Mapping[str, Any], quote: str) -> str:
    """The description of a type in its schema, if Python has no name for it."""
    if "description" in schema:
        return str(schema["description"]).rstrip(".")
    if "anyOf" in schema:
        return " or ".join(_of_schema(option, quote) for option in schema["anyOf"])
    if "properties" in schema:
        return f"{quote}{{{', '.join(f'{name}: …' for name in schema['properties'])}}}{quote}"
    return f"{quote}null{quote}" if schema.get("type") == "null" else "text"


def target(hint: Any) -> str | None:
    """The kind that references inside a type name; None if it contains none."""
    if get_origin(hint) is Annotated:
        return next((extra.kind for extra in get_args(hint)[1:] if isinstance(extra, To)), None) or target(get_args(hint)[0])
    return next((address for part in get_args(hint) if (address := target(part)) is not None), None)


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
    return _example(schema, schema.get("$defs", {}), text)


def _example(schema: dict[str, Any], types: dict[str, Any], text: str) -> Any:
    """A value that the schema allows. `text`: the example of a text."""
    if "examples" in schema:
        return schema["examples"][0]
    if "$ref" in schema:
        return _example(types[schema["$ref"].rpartition("/")[2]], types, text)
    if "anyOf" in schema:
        return _example(schema["anyOf"][0], types, text)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "boolean":
            return True
        case "array":
            return [_example(schema["items"], types, text)]
        case "object":
            return {name: _example(part, types, text) for name, part in schema.get("properties", {}).items()}
        case _:
            return text
