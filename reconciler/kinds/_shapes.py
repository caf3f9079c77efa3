"""The shapes of structured values that are written as the service has them, and what is wrong with a value. Pure.

A shape is a part of JSON Schema: `type`, `const`, `enum`, `minLength`, `required`, `properties`, `additionalProperties`, `items`, `anyOf`.
Keys that a shape does not name are allowed: later versions of the service may add some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

Shape = Mapping[str, Any]

TEXT: Final[Shape] = {"type": "string"}
TEXTS: Final[Shape] = {"type": "array", "items": TEXT}
ID: Final[Shape] = {"type": "string", "minLength": 1}
_TYPES: Final[Mapping[str, Any]] = {"object": Mapping, "array": list, "string": str, "number": (int, float), "boolean": bool}
_NAMES: Final = {"object": "a map", "array": "a list", "string": "a text", "number": "a number", "boolean": "true or false"}


def record(required: Mapping[str, Shape], optional: Mapping[str, Shape]) -> Shape:
    """The shape of a map."""
    return {"type": "object", "required": [*required], "properties": {**required, **optional}}


BLOCK: Final = record(
    {"id": ID},
    {
        "title": TEXT,
        "description": TEXT,
        "icon": TEXT,
        "urlUnfurl": TEXTS,
        "markdown": record({}, {"codeblock": TEXT, "body": TEXT}),
    },
)
"""A block of an integration."""

CONTENT_SOURCE: Final = record(
    {"id": ID}, {"title": TEXT, "description": TEXT, "icon": TEXT, "configuration": record({}, {"componentId": TEXT})}
)
"""A source of content of an integration."""

_PROPERTY: Final = record({"type": TEXT}, {"title": TEXT, "description": TEXT, "completion_url": TEXT, "enum": {"type": "array"}})
_CONFIGURATION: Final = record({}, {"properties": {"type": "object", "additionalProperties": _PROPERTY}, "required": TEXTS})
CONFIGURATIONS: Final = record({}, dict.fromkeys(("account", "space", "site"), _CONFIGURATION))
"""What installations of an integration can set."""

MERGE_RULES: Final = record({"type": TEXT}, {"rules": {"type": "array", "items": record({"rule": TEXT}, {"users": TEXTS})}})
"""The service's own object for merge rules."""

_LEAF: Final = record({"object": {"const": "leaf"}, "text": TEXT}, {"marks": {"type": "array"}})
_RUN: Final = record({"object": {"const": "text"}, "leaves": {"type": "array", "items": _LEAF}}, {"key": TEXT})
_NODE: Final = {"key": TEXT, "isVoid": {"type": "boolean"}, "data": {"type": "object"}}


def _nested(objects: tuple[str, ...], depth: int) -> Shape:
    """The shape of a node of a document, whose nodes are checked to a depth."""
    inner = {"nodes": {"type": "array", "items": {"anyOf": [_RUN, _nested(("block", "inline"), depth - 1)]}}} if depth else {}
    return record({"object": {"enum": list(objects)}, "type": TEXT}, {**_NODE, **inner})


DOCUMENT: Final = record(
    {"object": {"const": "document"}, "nodes": {"type": "array", "items": _nested(("block",), 4)}},
    {"data": record({}, {"schemaVersion": {"type": "number"}})},
)
"""A rich document."""


def shaped(shape: Shape) -> Callable[[Any], Any]:
    """A check that returns a value of a shape, and raises `ValueError` for another one."""

    def check(value: Any) -> Any:
        wrong = mistake(value, shape)
        if wrong is not None:
            raise ValueError(wrong)
        return value

    return check


def mistake(value: Any, shape: Shape, at: str = "") -> str | None:
    """What is wrong with a value, as the end of a sentence; None if it has the shape."""
    where = f"{at}: " if at else ""
    if "anyOf" in shape:
        wrong = [mistake(value, option, at) for option in shape["anyOf"]]
        return None if None in wrong else wrong[-1]
    type = shape.get("type")
    if type is not None and (not isinstance(value, _TYPES[type]) or (isinstance(value, bool) and type != "boolean")):
        return f"{where}expected {_NAMES[type]}"
    choices = shape.get("enum", [shape["const"]] if "const" in shape else None)
    if choices is not None and value not in choices:
        return f"{where}expected {' or '.join(map(str, choices))}"
    if isinstance(value, str) and len(value) < shape.get("minLength", 0):
        return f"{where}it is empty"
    if isinstance(value, list) and "items" in shape:
        return _first(mistake(item, shape["items"], f"{at}[{index}]") for index, item in enumerate(value))
    return _of_map(value, shape, at, where) if isinstance(value, Mapping) else None


def _of_map(value: Mapping[Any, Any], shape: Shape, at: str, where: str) -> str | None:
    missing = next((name for name in shape.get("required", ()) if name not in value), None)
    if missing is not None:
        return f"{where}{missing} is missing"
    properties, others = shape.get("properties", {}), shape.get("additionalProperties")
    shapes = [(name, part, properties.get(name, others)) for name, part in value.items()]
    return _first(mistake(part, inner, f"{at}.{name}".removeprefix(".")) for name, part, inner in shapes if inner is not None)


def _first(mistakes: Iterator[str | None]) -> str | None:
    return next((message for message in mistakes if message is not None), None)
