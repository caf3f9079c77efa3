"""Whether data is what one of this package's JSON Schemas says. Pure.

In: a schema made of the words that `schemas` uses, and data decoded from JSON. Out: the first thing that is wrong, or None. A word that
is not known here is a KeyError when the check is made, so that none is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

Schema = Mapping[str, Any]


class Wrong(NamedTuple):
    """What is wrong: where, from the top (names of members and indices from 0), and what should be there."""

    at: tuple[str | int, ...]
    wants: str

    def __str__(self) -> str:
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.at).lstrip(".")
        return f"{where or 'the whole'}: {self.wants}"


Check = Callable[[Any], Wrong | None]

_TYPES: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "object": ("an object is expected", lambda value: isinstance(value, dict)),
    "array": ("a list is expected", lambda value: isinstance(value, list)),
    "string": ("a text is expected", lambda value: isinstance(value, str)),
    "integer": ("a whole number is expected", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    "number": ("a number is expected", lambda value: isinstance(value, int | float) and not isinstance(value, bool)),
    "boolean": ("true or false is expected", lambda value: isinstance(value, bool)),
    "null": ("null is expected", lambda value: value is None),
}
_SAYS_NOTHING: Final = {"$schema", "$defs", "title", "description", "required"}


def conform(schema: Schema) -> Check:
    """The check that a schema describes."""
    known: dict[str, Check] = {}

    def follow(name: str) -> Check:
        def check(value: Any) -> Wrong | None:
            if name not in known:
                known[name] = made(schema["$defs"][name])
            return known[name](value)

        return check

    def made(part: Schema) -> Check:
        checks = [
            _WORDS[word](part, made) if word != "$ref" else follow(part[word].rpartition("/")[2]) for word in part if word in kept(part)
        ]

        def check(value: Any) -> Wrong | None:
            for each in checks:
                wrong = each(value)
                if wrong is not None:
                    return wrong
            return None

        return check

    return made(schema)


def kept(part: Schema) -> list[str]:
    """The words of a schema that check something; its type first, because the others rely on it."""
    return sorted((word for word in part if word not in _SAYS_NOTHING), key=lambda word: word != "type")


Make = Callable[[Schema], Check]


def _type(part: Schema, _: Make) -> Check:
    says, fits = _TYPES[part["type"]]
    return lambda value: None if fits(value) else Wrong((), says)


def _properties(part: Schema, made: Make) -> Check:
    inner = {name: made(each) for name, each in part["properties"].items()}
    required: Sequence[str] = part.get("required", ())

    def check(value: Any) -> Wrong | None:
        for name in required:
            if name not in value:
                return Wrong((), f"{name!r} is missing")
        for name, one in value.items():
            if name in inner:
                wrong = inner[name](one)
                if wrong is not None:
                    return Wrong((name, *wrong.at), wrong.wants)
        return None

    return check


def _others(part: Schema, made: Make) -> Check:
    known = part.get("properties", {})
    inner = made(part["additionalProperties"]) if part["additionalProperties"] is not False else None

    def check(value: Any) -> Wrong | None:
        for name in value.keys() - known.keys():
            if inner is None:
                return Wrong((), f"{_short(name)} does not belong there")
            wrong = inner(value[name])
            if wrong is not None:
                return Wrong((name, *wrong.at), wrong.wants)
        return None

    return check


def _items(part: Schema, made: Make) -> Check:
    inner = made(part["items"])

    def check(value: Any) -> Wrong | None:
        for index, one in enumerate(value):
            wrong = inner(one)
            if wrong is not None:
                return Wrong((index, *wrong.at), wrong.wants)
        return None

    return check


def _any_of(part: Schema, made: Make) -> Check:
    choices = [made(each) for each in part["anyOf"]]

    def check(value: Any) -> Wrong | None:
        found = [each(value) for each in choices]
        return None if None in found else found[-1] if value is None else found[0]

    return check


def _const(part: Schema, _: Make) -> Check:
    return lambda value: None if _same(value, part["const"]) else Wrong((), f"{part['const']!r} is expected")


def _enum(part: Schema, _: Make) -> Check:
    says = f"one of {', '.join(map(str, part['enum']))} is expected"
    return lambda value: None if any(_same(value, each) for each in part["enum"]) else Wrong((), says)


def _pattern(part: Schema, _: Make) -> Check:
    pattern = re.compile(part["pattern"].replace("$", r"\Z"), re.ASCII)  # Python's $ lets a line break pass
    return lambda value: None if pattern.search(value) else Wrong((), f"{_short(value)} is not what is expected there")


def _minimum(part: Schema, _: Make) -> Check:
    return lambda value: None if value >= part["minimum"] else Wrong((), f"at least {part['minimum']} is expected")


def _maximum(part: Schema, _: Make) -> Check:
    return lambda value: None if value <= part["maximum"] else Wrong((), f"at most {part['maximum']} is expected")


def _format(part: Schema, _: Make) -> Check:
    assert part["format"] == "date-time"
    return lambda value: None if _is_moment(value) else Wrong((), f"{_short(value)} is no time with its zone")


def _is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _min_items(part: Schema, _: Make) -> Check:
    return lambda value: None if len(value) >= part["minItems"] else Wrong((), "the list is too short")


def _unique(part: Schema, _: Make) -> Check:
    return lambda value: None if len({repr(one) for one in value}) == len(value) else Wrong((), "the list says something twice")


_WORDS: Final[Mapping[str, Callable[[Schema, Make], Check]]] = {
    "type": _type,
    "properties": _properties,
    "additionalProperties": _others,
    "items": _items,
    "anyOf": _any_of,
    "const": _const,
    "enum": _enum,
    "pattern": _pattern,
    "minimum": _minimum,
    "maximum": _maximum,
    "format": _format,
    "minItems": _min_items,
    "uniqueItems": _unique,
}


def _same(value: Any, other: Any) -> bool:
    return type(value) is type(other) and value == other


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
