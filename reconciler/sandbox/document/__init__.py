"""The service's own OpenAPI document: what FastAPI knows of paths, parameters and bodies, with the answers described.

`operations.tsv` names every operation of the reference: method, path, status of success, shape of the answer, what it does.
`examples.json` has a body and an answer of each, as the service itself gave it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from fastapi.openapi.utils import get_openapi
from starlette.routing import BaseRoute

from reconciler.sandbox.document.shapes import MORE, SHAPES
from reconciler.sandbox.document.words import Schema, envelope, ref

PREFIX: Final = "/v1"
DESCRIPTION: Final = """The documentation service, embedded: every operation of its reference, on one SQLite file.

Every call needs `Authorization: Bearer <ACCESS_TOKEN>`. Lists answer `{next, count, items}`; `next.page` is passed on as `page`. A refusal
answers `{"error": {"code", "message"}}` with a message that names the field or the object. The `Date` header is the service's clock."""
_REFUSALS: Final = {
    "400": "The request is invalid; the message names the field.",
    "401": "The access token is missing or unknown.",
    "403": "The token or the role is not allowed to do this.",
    "404": "The object does not exist, or the caller cannot see it.",
    "409": "The state of the object does not allow this.",
}


@dataclass(frozen=True)
class Operation:
    """One operation of the reference. `path` is without the version, `shape` a name, `list NAME`, or `none`."""

    method: str
    path: str
    statuses: tuple[str, ...]
    shape: str
    summary: str


@cache
def operations() -> tuple[Operation, ...]:
    """All of them, in the order of the reference."""
    listed = []
    for line in Path(__file__).with_name("operations.tsv").read_text(encoding="utf-8").splitlines():
        method, path, statuses, shape, summary = line.split("\t")
        listed.append(Operation(method, path, tuple(statuses.split(",")), shape, summary))
    return tuple(listed)


@cache
def examples() -> Any:
    """By operation (`METHOD /path`): `request` and `answer`, where there are any."""
    return json.loads(Path(__file__).with_name("examples.json").read_text(encoding="utf-8"))


def answer(shape: str) -> Schema | None:
    """The schema of an answer; None where there is no body."""
    if shape == "none":
        return None
    listed = shape.removeprefix("list ")
    return envelope(ref(listed)) if listed != shape else ref(shape)


def document(routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """The OpenAPI 3.1 document of the service."""
    openapi = get_openapi(title="Documentation service (sandbox)", version="1", description=DESCRIPTION, routes=routes)
    openapi["servers"] = [{"url": "/", "description": "where the sandbox listens"}]
    openapi["security"] = [{"token": []}]
    parts = openapi.setdefault("components", {})
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    schemas = parts.setdefault("schemas", {})
    # FastAPI adds its own shape of a refusal, which this service never answers: every refusal has the shape of the reference
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas |= {**SHAPES, **MORE}
    named = {(operation.method.lower(), PREFIX + operation.path): operation for operation in operations()}
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            _describe(operation, named.get((method, path)))
    return openapi


def _describe(operation: dict[str, Any], known: Operation | None) -> None:
    refusals = {status: {"description": why, "content": _json(ref("error"))} for status, why in _REFUSALS.items()}
    # the API reference documents a 500 for these endpoints only
    if known is not None and "/adaptive-schema" in known.path:
        refusals["500"] = {"description": "Unexpected error.", "content": _json(ref("error"))}
    if known is None:
        operation["responses"] = {**operation["responses"], **refusals}
        return
    operation["summary"] = known.summary
    schema = answer(known.shape)
    success: dict[str, Any] = {"description": known.summary}
    example = examples().get(f"{known.method} {known.path}", {})
    if schema is not None:
        success["content"] = _json(schema, example.get("answer"))
    if "request" in example:
        operation["requestBody"]["content"]["application/json"]["example"] = example["request"]
    operation["responses"] = {**dict.fromkeys(known.statuses, success), **refusals}


def _json(schema: Schema, example: Any = None) -> dict[str, Any]:
    return {"application/json": {"schema": schema} | ({"example": example} if example is not None else {})}
