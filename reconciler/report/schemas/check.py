"""The errors in data that should be one of the documents. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

PROBLEMS_MAX: Final = 1_000  # errors, of which the first is shown; pydantic needs seconds to describe a million

_MUST: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "dict_type": lambda _: "an object",
    "list_type": lambda _: "a list",
    "is_instance_of": lambda _: "text",
    "string_type": lambda _: "text",
    "int_type": lambda _: "a whole number",
    "float_type": lambda _: "a number",
    "bool_type": lambda _: "true or false",
    "literal_error": lambda about: f"one of {about['expected']}" if " or " in about["expected"] else about["expected"],
    "greater_than_equal": lambda about: f"at least {about['ge']}",
    "less_than_equal": lambda about: f"at most {about['le']}",
    "too_short": lambda about: f"a list of at least {about['min_length']}",
    "value_error": lambda about: str(about["error"]),
}


def problem(document: Any, data: Any) -> str | None:
    """The first error in data that should be a document: where, and what is expected. None if there is none."""
    try:
        _adapter(document).validate_python(data)
    except ValidationError as error:
        if error.error_count() > PROBLEMS_MAX:
            return f"it is wrong in {error.error_count():,} places"
        return _sentence(error.errors(include_url=False)[0])
    return None


# pydantic builds a validator in tenths of a second; a comment of many documents needs one for each kind.
@cache
def _adapter(document: Any) -> TypeAdapter[Any]:
    return TypeAdapter(document)


def _sentence(error: ErrorDetails) -> str:
    """`steps[0].id must be a whole number`."""
    *path, last = error["loc"] or ("",)
    if error["type"] == "missing":
        return f"{_where(path)} has no {last!r}"
    if error["type"] == "extra_forbidden":
        return f"{_where(path)} has an unknown key {_short(str(last))}"
    must = _MUST.get(error["type"])
    where, value = _where([*path, last]), error["input"]
    if must is None:
        return f"{where} is {_short(str(value))}, which is not valid there"
    return f"{where} must be {must(error.get('ctx', {}))}" + (f", not {_short(value)}" if isinstance(value, str) else "")


def _where(path: list[int | str]) -> str:
    """From the top: names of keys, and indices from 0."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path if part != "").lstrip(".") or "the document"


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
