"""`/docs`: the service's OpenAPI document for people, made on the server; nothing is fetched from anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import HTMLResponse

from reconciler.sandbox.endpoints import Request, Router
from reconciler.sandbox.pages.render import rendered

router = Router(include_in_schema=False)
ALTERNATIVES = ("anyOf", "oneOf", "allOf")


def whole(document: Mapping[str, Any]) -> dict[str, Any]:
    """What the page shows of one document, as plain data."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tag = (operation.get("tags") or ["Other"])[0]
            groups.setdefault(tag, []).append(_operation(document, method.upper(), path, operation))
    count = sum(map(len, groups.values()))
    return {"title": document["info"]["title"], "about": document["info"]["description"], "groups": groups, "count": count}


def _operation(document: Mapping[str, Any], method: str, path: str, operation: Mapping[str, Any]) -> dict[str, Any]:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    return {
        "method": method,
        "path": path,
        "summary": operation.get("summary", ""),
        "parameters": [
            {"name": item["name"], "type": type_of(item["schema"]), "required": item.get("required", False), "where": item["in"]}
            for item in operation.get("parameters", [])
        ],
        "body": _fields(document, body) if body else [],
        "answers": [
            {"status": status, "type": _answer(response), "about": response["description"]}
            for status, response in operation["responses"].items()
        ],
    }


def _answer(response: Mapping[str, Any]) -> str:
    schema = response.get("content", {}).get("application/json", {}).get("schema")
    return type_of(schema) if schema else ""


def _fields(document: Mapping[str, Any], schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    schema = _resolved(document, schema)
    shown = [
        {"name": name, "type": type_of(field), "required": name in schema.get("required", ())}
        for name, field in schema.get("properties", {}).items()
    ]
    for word in ALTERNATIVES:
        for part in schema.get(word, ()):
            shown += [field for field in _fields(document, part) if field not in shown]
    return shown


def _resolved(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    # a reference may lead to another one, as the shapes of answers name each other
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


def type_of(schema: Mapping[str, Any]) -> str:
    """A schema in a few words: `text, 1 to 64 characters`."""
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[1])
    for word in ALTERNATIVES:
        if word in schema:
            return " or ".join(dict.fromkeys(type_of(option) for option in schema[word]))
    if "const" in schema:
        return repr(schema["const"])
    if "enum" in schema:
        return ", ".join(str(option) for option in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    if schema.get("type") == "object" and "items" in schema.get("properties", {}):
        return f"page: {type_of(schema['properties']['items'])}"
    names = {"string": "text", "integer": "whole number", "boolean": "true or false", "object": "object", "null": "null"}
    kind = names.get(str(schema.get("type")), str(schema.get("type", "anything")))
    return ", ".join([kind, *_limits(schema)])


def _limits(schema: Mapping[str, Any]) -> list[str]:
    limits = []
    least, most = schema.get("minLength"), schema.get("maxLength")
    if least is not None or most is not None:
        limits.append(f"{least or 0} to {most} characters" if most is not None else f"{least} characters or more")
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None or most is not None:
        limits.append(f"{least} to {most}" if most is not None else f"{least} or more")
    if "format" in schema:
        limits.append(str(schema["format"]))
    if "default" in schema and schema["default"] is not None:
        limits.append(f"default {schema['default']}")
    return limits


@router.get("/docs")
async def reference(request: Request) -> HTMLResponse:
    return rendered("reference.html", request, whole(request.app.openapi()))
