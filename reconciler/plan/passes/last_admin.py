"""Values of which some must always be left: the last admin of an organization keeps the role, and whose token it is. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.address import Address
from reconciler.model import Actual, Blocked, Desired, Observed
from reconciler.plan.drafts.drafts import Draft
from reconciler.plan.removals import Removal
from reconciler.resource import Field, Kind, Kinds


def spare(kinds: Kinds, desired: Desired, actual: Actual, drafts: Mapping[Address, Draft], removals: Mapping[Address, Removal]) -> None:
    """Block whatever would leave fewer than `guards.minAdmins` objects with a scarce value in a container, or take it from the lister."""
    for kind in kinds.values():
        for field in kind.fields.values():
            if field.scarce is not None:
                _spare(kind, field, desired, actual, drafts, removals)


def _spare(
    kind: Kind, field: Field, desired: Desired, actual: Actual, drafts: Mapping[Address, Draft], removals: Mapping[Address, Removal]
) -> None:
    least = desired.guards.min_admins
    changing = [draft for draft in drafts.values() if draft.kind is kind and draft.active and _differs(draft, field)]
    losing: list[Draft | Removal] = [draft for draft in changing if _holds(field, draft.observed)]
    losing += [one for one in removals.values() if one.kind is kind and one.active and one.delete and _holds(field, one.observed)]
    for scope in sorted({_scope(kind, one.observed) for one in losing}):
        mine = [one for one in losing if _scope(kind, one.observed) == scope]
        held = [one for one in actual.objects.get(kind.name, {}).values() if _holds(field, one) and _scope(kind, one) == scope]
        gained = [draft for draft in changing if _scope(kind, draft.observed) == scope and not _holds(field, draft.observed)]
        gained = [draft for draft in gained if draft.wants.get(field.name) == field.scarce]
        left = len(held) - len(mine) + len(gained)
        for one in mine:
            source = one.declared.source if isinstance(one, Draft) else None
            if left < least:
                reason = f"would leave {left} with {field.name} {field.scarce} in {one.address.container}; guards.minAdmins is {least}"
                remedy = f"make somebody else {field.scarce} first, or lower guards.minAdmins"
                one.blocked = Blocked(one.address, reason, remedy, source)
            elif one.address == desired.lister:
                reason = f"is whose token this is (service.member); without {field.name} {field.scarce} the next run could do nothing"
                one.blocked = Blocked(one.address, reason, f"name another {field.scarce} in service.member, with that one's token", source)


def _differs(draft: Draft, field: Field) -> bool:
    return any(one.field is field for one in draft.sendable)


def _holds(field: Field, observed: Observed | None) -> bool:
    return observed is not None and observed.values.get(field.name) == field.scarce


def _scope(kind: Kind, observed: Observed | None) -> str:
    return observed.within.get(kind.within or "", "") if observed is not None else ""
