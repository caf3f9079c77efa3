"""What can be done about a field that is not as declared, or why nothing can. Pure."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from reconciler.plan.drafts.diff import FieldDifference
from reconciler.resource import FieldRole, Kind


class Fate(Enum):
    """What can be done about a field that is not as declared."""

    SEND = "send"
    NOTHING = "nothing"
    BACK = "back"
    REPLACE = "replace"
    REFUSE = "refuse"


def fate(one: FieldDifference) -> Fate:
    """What can be done about this field."""
    field = one.field
    if one.note is not None or field.role is FieldRole.MEMBER:
        return Fate.SEND
    if field.one_way and not one.after:
        return Fate.BACK if one.before else Fate.NOTHING
    if any(verb not in ("create", "delete", "restore") for verb in field.on):
        return Fate.SEND
    return Fate.REPLACE if field.on_change == "replace" else Fate.REFUSE


def explained(kind: Kind, one: FieldDifference) -> FieldDifference:
    """The difference, with a note where no request corrects it."""
    match fate(one):
        case Fate.BACK:
            return replace(one, note="cannot be undone: the service has no request for it")
        case Fate.REPLACE:
            return replace(one, note=f"cannot be changed on an existing {kind.name}; it would be replaced")
        case Fate.REFUSE:
            return replace(one, note=f"cannot be changed on an existing {kind.name}")
        case _:
            return one
