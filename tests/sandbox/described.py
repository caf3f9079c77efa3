"""Holds answers against the service's own document."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from reconciler.sandbox.app import Sandbox

_DOCUMENTS: list[Any] = []


def document(app: Sandbox) -> Any:
    """The document of the one application of all tests."""
    if not _DOCUMENTS:
        _DOCUMENTS.append(app.openapi())
        _DOCUMENTS.append([(re.compile(re.sub(r"\{[^}]*\}", "[^/]+", path)), path) for path in sorted(_DOCUMENTS[0]["paths"], key=_fixed)])
    return _DOCUMENTS[0]


def _fixed(path: str) -> tuple[int, str]:
    """Paths without placeholders first: they win."""
    return path.count("{"), path


@cache
def _validator(path: str, method: str, status: str) -> Draft202012Validator | None:
    responses = _DOCUMENTS[0]["paths"][path][method]["responses"]
    assert status in responses, f"{method.upper()} {path} answers {status}, which is not in the document"
    content = responses[status].get("content")
    if content is None:
        return None
    schema = {"components": _DOCUMENTS[0]["components"], **content["application/json"]["schema"]}
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


def check(app: Sandbox, method: str, path: str, status: int, body: Any) -> None:
    """Raise AssertionError where an answer is not as the document says. `body` is None where there was none."""
    operations = document(app)["paths"]
    found = next((name for pattern, name in _DOCUMENTS[1] if pattern.fullmatch(path) and method.lower() in operations[name]), None)
    if found is None:
        return
    validator = _validator(found, method.lower(), str(status))
    if validator is None:
        assert body is None, f"{method} {path} answers with a body that is not in the document"
        return
    problems = [f"{error.json_path}: {error.message[:300]}" for error in validator.iter_errors(body)]
    assert not problems, f"{method} {path} {status}: {problems[:3]}"
