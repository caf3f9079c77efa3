"""pydantic's errors in the sentences of this program. Pure."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, Final

from reconciler.config.source.nodes import Node
from reconciler.config.source.problems import described, shown
from reconciler.resource import WithheldError
from reconciler.text.suggest import did_you_mean, one_of

_LIMITS: Mapping[str, str] = {
    "greater_than": "more than {gt}",
    "greater_than_equal": "{ge} or more",
    "less_than": "less than {lt}",
    "less_than_equal": "{le} or less",
    "multiple_of": "a multiple of {multiple_of}",
}

_LENGTHS: Final = frozenset({"string_too_long", "string_too_short", "too_long", "too_short"})


def sentence(name: str, error: Any, node: Node) -> str:
    """One problem of one value. `error` is an item of `ValidationError.errors()`; `name` the field's."""
    path = name + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"] if _telling(part))
    kind, context, value = error["type"], error.get("ctx", {}), error["input"]
    if kind in _LIMITS:
        limits = {name: f"{limit:g}" if isinstance(limit, int | float) else limit for name, limit in context.items()}
        return f"{path} is {described(node)}; the service allows {_LIMITS[kind].format(**limits)}"
    made = _SENTENCES.get(kind)
    if made is not None:
        return made(path, value, context)
    if isinstance(context.get("error"), WithheldError):
        return f"{path} {context['error']}"
    message = str(error["msg"]).replace("{{", "{").replace("}}", "}")  # a message without values comes with its braces still doubled
    if kind == "value_error":
        message = message.removeprefix("Value error, ")
    return f"{path} is {shown(value) if isinstance(value, str | int | float) else described(node)}; {message[:1].lower()}{message[1:]}"


def cause_of_value(error: Any) -> str:
    """The id of what is wrong with a value. `error` is an item of `ValidationError.errors()`."""
    kind = error["type"]
    if kind in _LIMITS or kind in _LENGTHS:
        return "RC-out-of-range"
    return "RC-unknown-choice" if kind == "literal_error" else "RC-value-not-accepted"


def _telling(part: Any) -> bool:
    """Whether a part of pydantic's path comes from the user (pydantic adds names of types and validators)."""
    return isinstance(part, int) or (isinstance(part, str) and part.isidentifier() and part not in ("str", "int", "float", "bool"))


def _long(path: str, value: Any, context: Any) -> str:
    return f"{path} is {len(value)} characters long; the service allows {context['max_length']}"


def _short(path: str, value: Any, context: Any) -> str:
    least = context["min_length"]
    return f"{path} is {_characters(len(value))}; the service requires at least {least}"


def _characters(count: int) -> str:
    return "empty" if not count else f"{count} character{'s' if count != 1 else ''} long"


def _many(path: str, value: Any, context: Any) -> str:
    return f"{path} has {context['actual_length']} items; the service allows {context['max_length']}"


def _few(path: str, value: Any, context: Any) -> str:
    return f"{path} has {context['actual_length']} items; the service requires at least {context['min_length']}"


def _literal(path: str, value: Any, context: Any) -> str:
    try:
        options = [str(one) for one in ast.literal_eval("[" + str(context["expected"]).replace(" or ", ", ") + "]")]
    except (SyntaxError, ValueError):
        return f"{path} is {shown(value)}; expected {context['expected']}"
    return f"{path} is {shown(value)}; {one_of(options)}{did_you_mean(str(value), options)}"


def _pattern(path: str, value: Any, context: Any) -> str:
    return f"{path} is {shown(value)}, which does not match {context['pattern']}"


_SENTENCES: Mapping[str, Callable[[str, Any, Any], str]] = {
    "string_too_long": _long,
    "string_too_short": _short,
    "too_long": _many,
    "too_short": _few,
    "literal_error": _literal,
    "string_pattern_mismatch": _pattern,
}
