"""The meaning of a key at the top of the project file or of an environment's file, for people, as its schema describes it; for `policies`,
`use` and `exceptions` also what their expressions can use, and an example. In: the kinds. Out: spans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reconciler.config.policies.keys import EXAMPLES, NAMES, SECTIONS, TABLES
from reconciler.config.schemas.document import schema
from reconciler.report.layout import ReportPage, Span, Style
from reconciler.resource import Kinds

COLUMN = 20  # the column of values
ENVIRONMENTS = "environments"
"""The name that explains the files of environments; not a key of any file."""


def keys(kinds: Kinds) -> dict[str, dict[str, Any]]:
    """The keys of the project file and of environments that the schema describes."""
    every = schema(kinds)["$defs"]
    properties: dict[str, dict[str, Any]] = {**every["environment"]["properties"], **every["project"]["properties"]}
    properties[ENVIRONMENTS] = every["environment"]
    return {name: value for name, value in properties.items() if "description" in value}


def explain_key(kinds: Kinds, name: str, *, width: int) -> list[Span]:
    """One key: its description, and the keys of its value, of its items or of its entries."""
    every, value = schema(kinds)["$defs"], keys(kinds)[name]
    page = ReportPage(width)
    page.head(name)
    page.line(str(value["description"]))
    entries = value.get("additionalProperties")
    inner, whose = (
        (_properties(every, value["items"]), "Keys of an item:")
        if "items" in value
        else (_properties(every, entries), "Keys of an entry:")
        if isinstance(entries, dict)
        else (_properties(every, value), "Keys:")
    )
    if inner:
        page.blank()
        page.line(whose, Style.HEAD)
    for key, said in inner.items():
        page.field(Style.PLAIN, "", str(key), str(said.get("description", "")), column=COLUMN)
    return page.spans


def _properties(every: dict[str, Any], value: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The keys of a map, and of all its forms if there are several."""
    if "$ref" in value:
        value = every[str(value["$ref"]).rpartition("/")[2]]
    alternatives = [*value.get("anyOf", []), *(value[word] for word in ("then", "else") if word in value)]
    forms = [_properties(every, form) for form in alternatives]
    return {**value.get("properties", {}), **{key: said for form in forms for key, said in form.items()}}


SECTION_COLUMN: Final = 30


def explain_policies(name: str, *, width: int) -> list[Span]:
    """One of the sections of policies."""
    page = ReportPage(width)
    page.line(f"{name}: {SECTIONS[name]}", Style.HEAD)
    page.blank()
    _table(page, "Keys", TABLES[name])
    if name == "policies":
        _table(page, "Expressions can use", NAMES)
    page.line("Example")
    for line in EXAMPLES[name].splitlines():
        page.add(Style.PLAIN, f"  {line}\n")
    return page.spans


def _table(page: ReportPage, title: str, rows: Mapping[str, str]) -> None:
    page.line(title)
    for key, text in rows.items():
        page.field(Style.PLAIN, "", key, text, column=SECTION_COLUMN)
    page.blank()
