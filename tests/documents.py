"""The published schemas as validators, each made once in a process: making the schema of a document takes longer than most tests."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

from reconciler.config.schemas.document import schema
from reconciler.kinds import load as kinds
from reconciler.report.schemas.documents import schema_of
from reconciler.sandbox.app import service_document


@cache
def validator(name: str) -> Draft202012Validator:
    """Of the documents of that name, e.g. `plan`."""
    return Draft202012Validator(schema_of(name), format_checker=FormatChecker())


@cache
def configuration() -> Draft202012Validator:
    """Of project files."""
    return Draft202012Validator(schema(kinds()))


@cache
def service() -> dict[str, Any]:
    """The service's OpenAPI document, as `reconciler schema service` prints it."""
    printed: dict[str, Any] = json.loads(json.dumps(service_document()))
    return printed


def valid(document: Any, name: str) -> Any:
    """The document, which is as its schema says."""
    validator(name).validate(document)
    return document
