"""Rich documents as the service takes them: an object `document` of blocks, whatever the blocks are."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, WithJsonSchema

from reconciler.sandbox.body import Open

SCHEMA_VERSION = 1


def checked(document: dict[str, Any]) -> dict[str, Any]:
    """The document with `data` where it had none. Raises `ValueError` for what is not one."""
    if document.get("object") != "document":
        raise ValueError("object: expected document")
    data = document.get("data", {})
    if not isinstance(data, dict):
        raise ValueError("data: expected an object")
    version = data.get("schemaVersion", SCHEMA_VERSION)
    if isinstance(version, bool) or not isinstance(version, int | float):
        raise ValueError("data.schemaVersion: expected a number")
    waiting = [("nodes", document.get("nodes"), True)]
    while waiting:
        where, nodes, only_blocks = waiting.pop()
        if not isinstance(nodes, list):
            raise ValueError(f"{where}: expected a list")
        for index, node in enumerate(nodes):
            _node(f"{where}.{index}", node, only_blocks)
            if "nodes" in node:
                waiting.append((f"{where}.{index}.nodes", node["nodes"], False))
    return {**document, "data": {**data, "schemaVersion": version}}


def _node(where: str, node: Any, only_blocks: bool) -> None:
    if not isinstance(node, dict) or not isinstance(node.get("object"), str):
        raise ValueError(f"{where}: expected a node with an object")
    if only_blocks and node["object"] != "block":
        raise ValueError(f"{where}.object: expected block")
    if node["object"] == "block" and not isinstance(node.get("type"), str):
        raise ValueError(f"{where}.type: expected a text")
    for name, kind, expected in (("key", str, "a text"), ("isVoid", bool, "true or false"), ("data", dict, "an object")):
        if name in node and not isinstance(node[name], kind):
            raise ValueError(f"{where}.{name}: expected {expected}")


def empty() -> dict[str, Any]:
    return {"object": "document", "data": {"schemaVersion": SCHEMA_VERSION}, "nodes": []}


def _described(*objects: str, **more: Any) -> dict[str, Any]:
    """The JSON Schema of a node."""
    parts = {"type": {"type": "string"}, "key": {"type": "string"}, "isVoid": {"type": "boolean"}, "data": {"type": "object"}}
    return {"type": "object", "required": ["object", "type"], "properties": {"object": {"enum": list(objects)}, **parts, **more}}


_LEAF = {
    "type": "object",
    "required": ["object", "text"],
    "properties": {"object": {"const": "leaf"}, "text": {"type": "string"}, "marks": {"type": "array"}},
}
_TEXT = {
    "type": "object",
    "required": ["object", "leaves"],
    "properties": {"object": {"const": "text"}, "leaves": {"type": "array", "items": _LEAF}, "key": {"type": "string"}},
}
_INNER = {
    "type": "array",
    "items": {"anyOf": [_TEXT, _described("block", "inline", nodes={"type": "array", "items": {"anyOf": [_TEXT, _described("inline")]}})]},
}
_SCHEMA = {
    "type": "object",
    "required": ["object", "nodes"],
    "properties": {
        "object": {"const": "document"},
        "data": {"type": "object", "properties": {"schemaVersion": {"type": "number"}}},
        "nodes": {"type": "array", "items": _described("block", nodes=_INNER)},
    },
}
RichDocument = Annotated[dict[str, Any], AfterValidator(checked), WithJsonSchema(_SCHEMA)]


class InstructionsPut(Open):
    """Instructions that replace others: for agents, or for a translation."""

    instructions: RichDocument
