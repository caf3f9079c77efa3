"""What can be done about a field that is not as declared, or why nothing can. Pure."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from reconciler.plan.drafts.diff import FieldDifference
from reconciler.resource import FieldRole, Kind


class Correction(Enum):
    """What can be done about a field that is not as declared."""

    SEND = "send"
    NOTHING = "nothing"
    IRREVERSIBLE = "irreversible"
    REPLACE = "replace"
    REFUSE = "refuse"


def correction_of(difference: FieldDifference) -> Correction:
    """How it is corrected, if it can be."""
    field = difference.field
    if difference.note is not None or field.role is FieldRole.MEMBER:
        return Correction.SEND
    if field.one_way and not difference.after:
        return Correction.IRREVERSIBLE if difference.before else Correction.NOTHING
    if any(verb not in ("create", "delete", "restore") for verb in field.on):
        return Correction.SEND
    return Correction.REPLACE if field.on_change == "replace" else Correction.REFUSE


def explained(kind: Kind, difference: FieldDifference) -> FieldDifference:
    """The difference, with a note where no request corrects it."""
    match correction_of(difference):
        case Correction.IRREVERSIBLE:
            return replace(difference, note="cannot be undone: the service has no request for it")
        case Correction.REPLACE:
            return replace(difference, note=f"cannot be changed on an existing {kind.name}; it would be replaced")
        case Correction.REFUSE:
            return replace(difference, note=f"cannot be changed on an existing {kind.name}")
        case _:
            return difference
