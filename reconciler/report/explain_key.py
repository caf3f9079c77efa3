"""What a key at the top of the project file means, for people, as the schema describes it. In: the kinds. Out: spans."""

from __future__ import annotations

from typing import Any

from reconciler.config.schema import schema
from reconciler.report.layout import Page, Span, Style
from reconciler.resource import Kinds

COLUMN = 20  # where values begin


def keys(kinds: Kinds) -> dict[str, dict[str, Any]]:
    """The keys of the project file that the schema describes."""
    properties: dict[str, dict[str, Any]] = schema(kinds)["$defs"]["project"]["properties"]
    return {name: value for name, value in properties.items() if "description" in value}


def explain_key(kinds: Kinds, name: str, *, width: int) -> list[Span]:
    """One key: its description, and the keys of its value or of its items."""
    value = keys(kinds)[name]
    page = Page(width)
    page.head(name)
    page.line(str(value["description"]))
    inner = value.get("items", value).get("properties", {})
    if inner:
        page.blank()
        page.line("Keys of an item:" if "items" in value else "Keys:", Style.HEAD)
    for key, said in inner.items():
        page.field(Style.PLAIN, "", str(key), str(said.get("description", "")), column=COLUMN)
    return page.spans
