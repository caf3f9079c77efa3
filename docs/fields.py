"""The reference of fields, from the declarations of the kinds."""

from __future__ import annotations

from reconciler.kinds import load
from reconciler.report.types import in_words
from reconciler.resource import Field, FieldRole, Kind

INTRO = """\
# Fields

The fields of every kind, generated from the declarations in [`reconciler/kinds`](../../reconciler/kinds/__init__.py). The
[common fields](configuration.md#common-fields) are allowed in every resource. `reconciler explain KIND.FIELD` shows more about a field.
"""


def page() -> str:
    """One table a kind, in the order of containers."""
    return "\n".join([INTRO, *(f"{_table(kind)}\n" for kind in load().values())])


def _table(kind: Kind) -> str:
    lines = [f"## {kind.name}", "", kind.doc, "", "| field | value | meaning |", "|---|---|---|"]
    for field in kind.fields.values():
        if field.written and field.name != kind.place.key_is:
            name = kind.place.section_in(kind.within) if field.name == kind.place.value_is else field.name
            lines.append(f"| `{name}` | {in_words(field.type, quote='`')} | {_notes(kind, field)} |")
    for flag in load().flags(kind.name):
        lines.append(f"| `{flag}` | true | The default: readers see it first. One per parent. |")
    return "\n".join(lines)


def _notes(kind: Kind, field: Field) -> str:
    notes = [field.doc]
    if field.required:
        notes.append("Required.")
    elif any(field.name in verb.whole for verb in kind.api.values()):
        notes.append("Nothing is sent without it.")
    if field.role is FieldRole.SEED:
        notes.append("Used once, at creation.")
    elif field.role is FieldRole.LOCAL:
        notes.append("Stored in the state, never sent.")
    elif field.on_change == "refuse":
        notes.append("Cannot be changed later.")
    elif field.on_change == "report":
        notes.append("Cannot be changed later; a difference is reported.")
    if field.clear and "null" not in in_words(field.type, quote="`"):
        notes.append("`null` clears.")
    return " ".join(notes)
