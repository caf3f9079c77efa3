"""What differs between a resource and its object, field by field: why, and what can be done about it. Pure.

The one rule: a field is unchanged when now equals desired, or when desired equals what was sent and now equals what was seen after it.
Of structured values, what is compared is in `resource.shapes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from reconciler.model import Binding, Cause, Observed
from reconciler.model.codec import comparable
from reconciler.resource import HOSTED, UNSET, Field, FieldRole, Kind


@dataclass(frozen=True)
class FieldDifference:
    """One field that is not as declared; all values in the request form. `note`: why no request is sent for it, None where one is."""

    field: Field
    before: Any
    after: Any
    cause: Cause
    note: str | None = None


def differences(
    kind: Kind, wants: Mapping[str, Any], now: Observed, binding: Binding | None, chosen: Mapping[str, Any]
) -> tuple[FieldDifference, ...]:
    """The fields of an existing object that are not as declared (request form), in the order of the declaration.

    `chosen`: for choice fields the id of the child that carries the flag now.
    """
    result = []
    for name, field in kind.fields.items():
        want = wants.get(name, UNSET)
        if want is UNSET or not field.compared:
            continue
        current = chosen.get(name, UNSET) if field.role is FieldRole.CHOICE else now.values.get(name, UNSET)
        difference = _compare(field, want, current, binding, now.id)
        if difference is not None:
            result.append(difference)
    return tuple(result)


def _compare(field: Field, want: Any, now: Any, binding: Binding | None, id: str) -> FieldDifference | None:
    sent = field.remembered(binding.sent.get(field.name, UNSET)) if binding else UNSET
    seen = field.reading(field.remembered(binding.seen.get(field.name, UNSET))) if binding else UNSET
    if field.readable and (field.same(want, now, want, sent) or (field.caseless and comparable(field, now) == comparable(field, want))):
        return None
    if sent is UNSET and seen is not UNSET and field.same(field.stored(want, id), seen, want):
        sent = seen  # adopted with the value that is declared now
    as_wanted, as_now = field.stored(want, id), field.stored(now, id)
    if field.gathered and now is not UNSET:
        if field.same(want, now, want, sent):
            return None
        return _noted(field, FieldDifference(field, now, want, Cause.DRIFT if sent == as_wanted else Cause.YOURS))
    if not field.readable:
        if sent == as_wanted or (sent is UNSET and field.on_change == "report"):
            return None
        return _noted(field, FieldDifference(field, sent, want, Cause.YOURS))
    yours = not field.same(as_wanted, sent, want, sent)
    drift = seen is not UNSET and not field.same(as_now, seen, want, sent)
    if not yours and (now is UNSET or (seen is not UNSET and not drift)):
        return None
    cause = Cause.BOTH if yours and drift and sent is not UNSET else Cause.DRIFT if drift and not yours else Cause.YOURS
    before = sent if sent and now == HOSTED else field.managed(now, want, sent)
    return _noted(field, FieldDifference(field, before, want, cause))


def _noted(field: Field, difference: FieldDifference) -> FieldDifference:
    if field.gathered and field.on_change == "report" and difference.cause is Cause.DRIFT:
        return replace(difference, note="no request changes it: correct it in the service, or write who is in it now")
    if field.on_change == "report":
        return replace(difference, note="differs from its value at creation, and cannot be changed later")
    return difference


# -- what can be done about it ------------------------------------------------------------------------------------------------------


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


def with_note(kind: Kind, difference: FieldDifference) -> FieldDifference:
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


# -- for people to read ----------------------------------------------------------------------------------------------------------


def explain(before: Any, after: Any) -> tuple[tuple[str, Any, Any], ...]:
    """Where two structured values differ: (path inside the value, before, after), sorted; UNSET where one side has no value.

    deepdiff computes the differences. It is imported here, because importing it is slow and most plans have nothing to explain.
    """
    if before == after:
        return ()
    if not isinstance(before, dict | list) or not isinstance(after, dict | list):
        return (("", before, after),)
    from deepdiff import DeepDiff

    places = []
    for group in DeepDiff(before, after, view="tree", verbose_level=2).values():
        for change in group:
            path = ".".join(str(part) for part in change.path(output_format="list"))
            t1, t2 = change.t1, change.t2
            places.append((path, UNSET if repr(t1) == "not present" else t1, UNSET if repr(t2) == "not present" else t2))
    return tuple(sorted(places, key=lambda entry: (entry[0], repr(entry[1:]))))
