"""The shapes of structured values that are written as the service has them, and what is wrong with a value. Pure.

A shape is a part of JSON Schema: `type`, `const`, `enum`, `minLength`, `required`, `properties`, `additionalProperties`, `items`, `anyOf`.
Keys that a shape does not name are allowed: later versions of the service may add some.

With them: which JSON Schemas the service accepts for a site's visitors; and rich documents, which the YAML may contain as plain text, one
paragraph per line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final

from reconciler.resource import UNSET, Checked, JsonSchema, Len, Shape, WireForm
from reconciler.resource.conditions import UNSIGNED

Part = Mapping[str, Any]

TEXT: Final[Part] = {"type": "string"}
TEXTS: Final[Part] = {"type": "array", "items": TEXT}
ID: Final[Part] = {"type": "string", "minLength": 1}
_TYPES: Final[Mapping[str, Any]] = {"object": Mapping, "array": list, "string": str, "number": (int, float), "boolean": bool}
_NAMES: Final = {"object": "a map", "array": "a list", "string": "a text", "number": "a number", "boolean": "true or false"}


def record(required: Mapping[str, Part], optional: Mapping[str, Part]) -> Part:
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


def _nested(objects: tuple[str, ...], depth: int) -> Part:
    """The shape of a node of a document, whose nodes are checked to a depth."""
    inner = {"nodes": {"type": "array", "items": {"anyOf": [_RUN, _nested(("block", "inline"), depth - 1)]}}} if depth else {}
    return record({"object": {"enum": list(objects)}, "type": TEXT}, {**_NODE, **inner})


DOCUMENT: Final = record(
    {"object": {"const": "document"}, "nodes": {"type": "array", "items": _nested(("block",), 4)}},
    {"data": record({}, {"schemaVersion": {"type": "number"}})},
)
"""A rich document."""


def shaped(shape: Part) -> Callable[[Any], Any]:
    """A check that returns a value of a shape, and raises `ValueError` for another one."""

    def check(value: Any) -> Any:
        wrong = mistake(value, shape)
        if wrong is not None:
            raise ValueError(wrong)
        return value

    return check


def mistake(value: Any, shape: Part, at: str = "") -> str | None:
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


def _of_map(value: Mapping[Any, Any], shape: Part, at: str, where: str) -> str | None:
    missing = next((name for name in shape.get("required", ()) if name not in value), None)
    if missing is not None:
        return f"{where}{missing} is missing"
    properties, others = shape.get("properties", {}), shape.get("additionalProperties")
    shapes = [(name, part, properties.get(name, others)) for name, part in value.items()]
    return _first(mistake(part, inner, f"{at}.{name}".removeprefix(".")) for name, part, inner in shapes if inner is not None)


def _first(mistakes: Iterator[str | None]) -> str | None:
    return next((message for message in mistakes if message is not None), None)


# -- The schema of visitors ----------------------------------------------------------------------------------------------------------

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


# -- Rich documents ------------------------------------------------------------------------------------------------------------------


def _paragraph(line: str) -> dict[str, Any]:
    leaf = {"object": "leaf", "text": line, "marks": []}
    return {"object": "block", "type": "paragraph", "nodes": [{"object": "text", "leaves": [leaf]}]}


def _document(text: str) -> dict[str, Any]:
    lines = text.strip("\n").split("\n")
    return {"object": "document", "data": {"schemaVersion": 1}, "nodes": [_paragraph(line) for line in lines]}


def _line(block: Any) -> str | None:
    """The text of a paragraph without any style; None for any other block."""
    try:
        (inner,) = block["nodes"]
        (leaf,) = inner["leaves"]
        plain = (block["object"], block["type"], inner["object"], leaf.get("marks") or []) == ("block", "paragraph", "text", [])
        styled = block.get("data") or inner.get("data") or block.get("isVoid")
        return leaf["text"] if plain and not styled and isinstance(leaf["text"], str) and "\n" not in leaf["text"] else None
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _text(document: Any) -> str | None:
    """The text of a document of plain paragraphs, without blank lines at its ends; None for any other."""
    nodes = document.get("nodes") if isinstance(document, Mapping) and document.get("object") == "document" else None
    lines = [_line(block) for block in nodes] if isinstance(nodes, list) else [None]
    text = None if None in lines else "\n".join(str(line) for line in lines).strip("\n")
    return text or None


def _body(value: Any) -> Any:
    text = value if isinstance(value, str) else _text(value)
    return value if text is None else _document(text)


def _shown(value: Any) -> Any:
    text = _text(value)
    return value if text is None else text


def has_content(document: Any) -> bool:
    """Whether a document has any content."""
    return isinstance(document, Mapping) and bool(document.get("nodes"))


def written_instructions(raw: Mapping[str, Any]) -> Any:
    """The instructions of an object; None if nobody wrote any: the service then shows an empty document."""
    document = raw.get("instructions", UNSET)
    return document if document is UNSET or has_content(document) else None


_document_of_the_service = shaped(DOCUMENT)


def _checked(value: Any) -> Any:
    if isinstance(value, str) and value.strip():
        return _body(value)
    if isinstance(value, Mapping) and value.get("object") == "document" and has_content(value):
        return _body(_document_of_the_service(dict(value)))
    raise ValueError("expected a text, or the service's own document: {object: document, nodes: […]}")


RichText = Annotated[
    Any,
    WireForm(body=_body, show=_shown),
    Checked(_checked),
    JsonSchema(
        {
            "description": "Text, or a rich document as the service has it.",
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {"object": {"const": "document"}, "nodes": {"type": "array"}},
                    "required": ["object", "nodes"],
                },
            ],
        }
    ),
]
"""A rich document."""
