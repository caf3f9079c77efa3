"""Values as texts of rows, and back: what every part of the state understands by its rows.

In: plain values, and texts. Out: canonical JSON, or values; `StateError` where the database holds something else. Forbidden: connections.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from pydantic_core import from_json as shared

from reconciler.errors import StateError
from reconciler.resource import UNSET

RESTORE: Final = "Restore it from a backup, or move it away and track existing objects with `reconciler adopt ADDRESS ID`."
DONE: Final = ["done", "recovered"]  # statuses of a request that had its effect
# Sorted and compact, so that equal values are equal texts: lists of ids are stored under the digest of theirs. `json.dumps` would make a
# new encoder at each call.
_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def plain(text: str) -> str:
    """A text that every database can store: surrogates and NULs, as in arguments and errors, are escaped."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def to_json(value: Any, what: str) -> str:
    """Canonical JSON: sorted keys, compact, plain ASCII. Raises StateError for what JSON cannot say."""
    try:
        return _CANONICAL.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        wrong = f"{what} cannot be recorded: it is not plain JSON"
        raise StateError(wrong, id="RC-value-not-recorded", hint="This is a defect of Reconciler, please report it.") from error


def to_json_or_null(value: Any, what: str) -> str | None:
    """The same for a field: None for UNSET, which means that nothing is recorded."""
    return None if value is UNSET else to_json(value, what)


def from_json(text: str, what: str) -> Any:
    """The value; raises StateError naming `what` where the database holds something else."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise damaged(what) from error


def mapping(text: str, what: str) -> dict[str, Any]:
    """The object of JSON; raises StateError naming `what` where the database holds something else."""
    value = from_json(text, what)
    if not isinstance(value, dict):
        raise damaged(what)
    return value


def damaged(what: str) -> StateError:
    """The error for a row that this program did not write."""
    return StateError(f"the state is damaged: {what} cannot be read", id="RC-state-damaged", hint=RESTORE)


def decoded(texts: Sequence[Any], what: Callable[[int], str]) -> list[Any]:
    """The values of JSON texts; one call of the parser for all, because that is ten times faster.

    Short texts that several of them have, or the service's answers, are in memory once. `what`: names the broken one by its index, for
    StateError.
    """
    try:
        values: list[Any] = shared("[" + ",".join(texts) + "]", cache_strings="all")
    except (TypeError, ValueError, RecursionError):
        values = []
    if len(values) != len(texts):  # one of them is broken: find it
        return [from_json(text, what(number)) for number, text in enumerate(texts)]
    return values
