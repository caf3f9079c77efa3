"""The arguments of a program: limits, patterns and URLs, checked and in the form of options."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from reconciler.address import Glob
from reconciler.cli.option_table import ROWS
from reconciler.errors import UsageError
from reconciler.run.operation import Limits
from reconciler.text.backends import backend_of, file_of, url_of


def limits_of(limits: Limits) -> dict[str, Any]:
    """The options that these limits are, by their fields. Raises `UsageError` for a value of another form."""
    forms = {known.name: known.metadata["everything"] for known in fields(Limits)}
    for name, everything in forms.items():
        value = getattr(limits, name)
        if isinstance(everything, tuple):
            sort = type(everything[0])
            wrong = not isinstance(value, tuple) or not all(isinstance(part, sort) for part in value)
            example = "Glob.parse('acme/**')" if sort is Glob else "'/v1/**'"
            way = f"Write Limits({name}=({example},))."
        else:
            wrong, way = (
                value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0),
                f"Write Limits({name}=3).",
            )
        if wrong:
            raise UsageError(f"{name}={value!r} cannot be a limit", id="RC-option-value", hint=way)
    return {row.field: getattr(limits, row.limit) for row in ROWS if row.limit}


def globs(name: str, texts: str | Iterable[str]) -> tuple[Glob, ...]:
    """Patterns of addresses. Raises `UsageError`."""
    try:
        return tuple(Glob.parse(text) for text in ([texts] if isinstance(texts, str) else texts))
    except ValueError as error:
        raise UsageError(
            f"{name}: {error}", id="RC-option-value", hint="Write addresses or patterns of them, such as acme/site/**."
        ) from None


def absolute(state: str | None) -> str | None:
    """The URL of a state; of a file, with its absolute path."""
    backend = backend_of(state) if state is not None else None
    if state is None or backend is None or not backend.is_file:
        return state
    path = file_of(state)
    return url_of(os.path.abspath(path)) if path else state
