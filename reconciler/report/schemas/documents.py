"""The JSON Schemas of the documents. Checked in as `schemas/*.schema.json`; a test fails if they are out of date.

The errors in data that should be one of the documents. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import ErrorDetails, core_schema

from reconciler.report.schemas.plan import PlanDocument, SavedPlanDocument
from reconciler.report.schemas.runs import FindingsDocument, HistoryDocument, OutcomeDocument, RunDocument
from reconciler.report.schemas.state import StateDocument, StateListDocument, StateShowDocument
from reconciler.resource import Kinds
from reconciler.seams import Seam
from reconciler.text.escape import as_json

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


class PrintedDocument(NamedTuple):
    """A document that commands print: the name of its schema, its title, its type."""

    name: str
    title: str
    shape: Any


_OURS: Final = (
    PrintedDocument("plan", "A plan", PlanDocument),
    PrintedDocument("saved-plan", "A saved plan", SavedPlanDocument),
    PrintedDocument("outcome", "What an apply did", OutcomeDocument),
    PrintedDocument("history", "Every run", HistoryDocument),
    PrintedDocument("run", "What one run did", RunDocument),
    PrintedDocument("findings", "Findings about a project", FindingsDocument),
    PrintedDocument("state", "A whole state", StateDocument),
    PrintedDocument("state-list", "What the state tracks", StateListDocument),
    PrintedDocument("state-show", "What the state remembers of an address", StateShowDocument),
)

DOCUMENTS: Final[Seam[PrintedDocument]] = Seam("documents", "documents of features")


def documents() -> dict[str, PrintedDocument]:
    """Every document by the name of its schema."""
    return {row.name: row for row in (*_OURS, *DOCUMENTS)}


class FileSchema(NamedTuple):
    """Files of a feature that editors check: the name of their schema, what they are, and the schema."""

    name: str
    says: str
    schema: Callable[[Kinds], dict[str, Any]]


class _Schema(GenerateJsonSchema):
    """Without titles: every name is a key or a definition already."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        json_schema = super().typed_dict_schema(schema)
        json_schema.pop("title", None)
        return json_schema


def schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schema of every document, by file name."""
    return {f"{name}.schema.json": schema_of(name) for name in documents()}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of one document; its `$id` changes only with the version of its format."""
    _, title, shape = documents()[name]
    schema = TypeAdapter(shape).json_schema(schema_generator=_Schema)
    form = str(schema.get("properties", {}).get("format", {}).get("const", ""))
    return {"$schema": DRAFT, "$id": f"urn:docs-reconciler:{name}:{form.partition('/')[2] or 1}", "title": title, **schema}


def dumped() -> dict[str, str]:
    """The texts of those files, by name."""
    return {name: as_json(schema) + "\n" for name, schema in schemas().items()}


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
