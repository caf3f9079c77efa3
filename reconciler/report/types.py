"""The values that a field accepts, in words, from its type alone."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import annotated_types
from pydantic import WithJsonSchema

from reconciler.resource import JsonSchema, Len, To
from reconciler.text.suggest import a


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
