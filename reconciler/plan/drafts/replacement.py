"""The values that a replacement keeps from the object it replaces: those that the YAML does not manage and a request can write. Pure."""

from __future__ import annotations

from reconciler.model import Actual, Observed
from reconciler.resource import UNSET, Field, FieldRole, Kind


def carried_over(kind: Kind, old: Observed, wants: dict[str, object], actual: Actual) -> tuple[dict[str, object], tuple[str, ...]]:
    """The values that the new object gets in addition to the declared ones, and the names of the fields that are lost.

    `wants`: the declared values, in the request form. A value that must be unique among siblings is lost where a sibling has it.
    """
    values: dict[str, object] = {}
    lost: list[str] = []
    for name, field in kind.fields.items():
        value = old.values.get(name, UNSET)
        if field.role is not FieldRole.VALUE or wants.get(name, UNSET) is not UNSET or value in (UNSET, None, ""):
            continue
        if value == (field.usual(old.raw) if callable(field.usual) else field.usual):
            continue  # the service sets it again by itself
        if field.on and not field.sensitive and not (field.unique and _is_taken(kind, old, wants, actual, field)):
            values[name] = value
        else:
            lost.append(name)
    return values, tuple(lost)


def _is_taken(kind: Kind, old: Observed, wants: dict[str, object], actual: Actual, field: Field) -> bool:
    """Whether another object has the value in the location of the new one."""
    inside = kind.inside
    return any(
        observed.values.get(field.name) == old.values.get(field.name)
        and observed.within == old.within
        and (inside is None or observed.values.get(inside.name) == wants.get(inside.name))
        for observed in actual.objects.get(kind.name, {}).values()
        if observed.id != old.id
    )
