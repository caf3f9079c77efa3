"""Holds every body that the tool sends in these tests against the service's own document, more strictly than the service does.

`watching` stands around `Writer.send` for the whole session (see `conftest.py`): it looks at what is sent and changes nothing. A body must
be described by the document, hold no property that the document does not know, hold all that it requires, and hold at least one. Whoever
plays another program that sends what it likes says so with `foreign`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from reconciler.client import Answer
from reconciler.client.service import Writer
from tests.documents import service

SITE = "/orgs/{organizationId}/sites/{siteId}"
REQUIRED = {
    ("post", f"{SITE}/section-groups"): ("title",),
    ("post", f"{SITE}/sections"): ("spaceId",),
    ("patch", "/orgs/{organizationId}/openapi/{specSlug}"): ("visibility",),
}
"""What the service wants although the reference, and so the sandbox, can do without."""

WRONG: list[str] = []
"""What was found since the last test ended."""

_foreign: list[bool] = []


@contextmanager
def foreign() -> Iterator[None]:
    """Bodies that are sent inside are somebody else's."""
    _foreign.append(True)
    try:
        yield
    finally:
        _foreign.pop()


@contextmanager
def watching() -> Iterator[None]:
    """Hold against the document what every writer of this process sends."""
    plain = Writer.send

    async def send(self: Writer, method: str, path: str, body: Any | None, **more: Any) -> Answer:
        if not _foreign:
            WRONG.extend(f"{method} {path}: {problem}" for problem in problems(method, path, body))
        return await plain(self, method, path, body, **more)

    Writer.send = send  # type: ignore[method-assign]
    try:
        yield
    finally:
        Writer.send = plain  # type: ignore[method-assign]


def problems(method: str, path: str, body: Any) -> list[str]:
    """What is wrong with a body; nothing for an operation that the document does not have: those are held against it by `test_contract`."""
    name = operation(method, path)
    if name is None:
        return []
    described = _document()["paths"][name][method.lower()]
    if "requestBody" not in described:
        return [] if body is None else ["a body where the document has none"]
    if body is None:
        return ["no body where the document requires one"] if described["requestBody"].get("required") else []
    if not body:
        return ["a body with no property"]
    found = [f"{error.json_path}: {error.message[:300]}" for error in _validator(name, method.lower()).iter_errors(body)]
    wanted = REQUIRED.get((method.lower(), name.removeprefix("/v1")), ())
    return found + [f"$: '{field}' is a required property" for field in wanted if field not in body]


def operation(method: str, path: str) -> str | None:
    """The document's path of an operation; None where it does not have it."""
    return next((name for pattern, name in _patterns() if pattern.fullmatch(path) and method.lower() in _document()["paths"][name]), None)


@cache
def _document() -> dict[str, Any]:
    """The document, in which an object has no other properties than those it names."""
    found: dict[str, Any] = _closed(service())
    return found


def _closed(part: Any) -> Any:
    if isinstance(part, list):
        return [_closed(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    closed = {key: _closed(inner) for key, inner in part.items()}
    if isinstance(part.get("properties"), dict) and part.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """Paths without placeholders first: they win."""
    names = sorted(_document()["paths"], key=lambda name: (name.count("{"), name))
    return [(re.compile(re.sub(r"\{[^}]*\}", "[^/]+", name.removeprefix("/v1"))), name) for name in names]


@cache
def _validator(name: str, method: str) -> Draft202012Validator:
    schema = _document()["paths"][name][method]["requestBody"]["content"]["application/json"]["schema"]
    return Draft202012Validator({"components": _document()["components"], **schema}, format_checker=Draft202012Validator.FORMAT_CHECKER)
