"""Write the tables of fields in docs/configuration.md from the declarations: `python docs/fields.py`.

A test runs `tables` and compares, so the page cannot lag behind.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Len

from reconciler.kinds import load
from reconciler.resource import Field, Kind, Role, To

PAGE = Path(__file__).parent / "configuration.md"
BEGIN, END = "<!-- fields: begin -->", "<!-- fields: end -->"


def tables() -> str:
    """One table a kind, in the order of containers."""
    return "\n\n".join(_table(kind) for kind in load().values())


def _table(kind: Kind) -> str:
    lines = [f"#### {kind.name}", "", kind.doc, "", "| field | value | |", "|---|---|---|"]
    for field in kind.fields.values():
        if field.written and (field.on or field.on_change != "send"):
            lines.append(f"| `{field.name}` | {_type(field.type)} | {_notes(kind, field)} |")
    for flag in load().flags(kind.name):
        lines.append(f"| `{flag}` | true | One for each parent; readers land there. |")
    return "\n".join(lines)


def _type(hint: Any) -> str:
    """What may be written, in words."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        inner, *extras = args
        for extra in extras:
            if isinstance(extra, To):
                return f"a {extra.kind}"
        lengths = [f"{extra.min_length} to {extra.max_length} characters" for extra in extras if isinstance(extra, Len)]
        return f"text, {lengths[0]}" if lengths else _type(inner)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in args)
    if origin in (Union, UnionType):
        return " or ".join("`null`" if option is NoneType else _type(option) for option in args)
    if origin in (frozenset, set, list):
        return f"a list: {_type(args[0])}"
    if isinstance(hint, type) and hasattr(hint, "__annotations__") and hasattr(hint, "__total__"):
        return "`{" + ", ".join(hint.__annotations__) + "}`"
    return {str: "text", bool: "`true`, `false`", Any: "see below"}.get(hint, "text")


def _notes(kind: Kind, field: Field) -> str:
    notes = [field.doc]
    if field.required:
        notes.append("Required.")
    if field.role is Role.SEED:
        notes.append("Used once, when it is made.")
    elif field.on_change == "refuse":
        notes.append("Cannot be changed later.")
    elif field.on_change == "report":
        notes.append("Cannot be changed later; a difference is reported.")
    if field.clear and "null" not in _type(field.type):
        notes.append("`null` clears.")
    return " ".join(notes)


def page(text: str) -> str:
    """The page with fresh tables."""
    return re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n\n{tables()}\n\n{END}", text, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
