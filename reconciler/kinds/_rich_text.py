"""Rich documents of the service, which the YAML may contain as plain text: one paragraph per line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from reconciler.kinds._shapes import DOCUMENT, shaped
from reconciler.resource import UNSET, Checked, JsonSchema, WireForm


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
