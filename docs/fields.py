"""The reference of fields, from the declarations of the kinds: a listing, and for the site values and meanings."""

from __future__ import annotations

from reconciler.kinds import load
from reconciler.report.types import in_words
from reconciler.resource import Field, FieldRole, Kind

INTRO = """\
# Fields

The fields of every kind, generated from the declarations in [`reconciler/kinds`](../../reconciler/kinds/__init__.py). The
[common fields](configuration.md#common-fields) are allowed in every resource. `reconciler explain KIND` prints the meaning of each
field, and `reconciler explain KIND.FIELD` its values and what a change does. *Fields of every kind* on the site of this documentation
shows all values and meanings.
"""


def page() -> str:
    """The names of the fields of each kind, in the order of containers."""
    rows = [f"| `{kind.name}` | {_names(kind)} |" for kind in load().values()]
    return "\n".join([INTRO, "| kind | fields: required ones, and others |", "|---|---|", *rows, ""])


def _names(kind: Kind) -> str:
    required, others = [], [f"`{flag}`" for flag in load().flags(kind.name)]
    for field in _written(kind):
        (required if field.required else others).append(f"`{_name(kind, field)}`")
    return ", ".join([*([f"**{', '.join(required)}**"] if required else []), *others])


def all_fields() -> str:
    """One table a kind, in the order of containers."""
    intro = INTRO.partition(" `reconciler explain KIND` prints")[0].replace("# Fields", "# Fields of every kind")
    return "\n".join([f"{intro}\n", *(f"{_table(kind)}\n" for kind in load().values())])


def _written(kind: Kind) -> list[Field]:
    return [field for field in kind.fields.values() if field.written and field.name != kind.place.key_is]


def _name(kind: Kind, field: Field) -> str:
    return str(kind.place.section_in(kind.within)) if field.name == kind.place.value_is else field.name


def _table(kind: Kind) -> str:
    lines = [f"## {kind.name}", "", kind.doc, "", "| field | value | meaning |", "|---|---|---|"]
    for field in _written(kind):
        lines.append(f"| `{_name(kind, field)}` | {in_words(field.type, quote='`')} | {_notes(kind, field)} |")
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
