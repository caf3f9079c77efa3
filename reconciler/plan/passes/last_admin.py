"""Values that some objects must always keep: an organization keeps its last admin, and the token's owner keeps the role. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from reconciler.model import Observed
from reconciler.plan.decisions import Draft, Removal
from reconciler.plan.world import Decisions, World
from reconciler.resource import Field, Kind


def last_admin(world: World, decisions: Decisions) -> Decisions:
    """Block changes that would leave fewer than `guards.minAdmins` admins in a container, or take the role from the token's owner."""
    for kind in world.kinds.values():
        for field in kind.fields.values():
            if field.scarce is not None:
                decisions = decisions.changed(_blocked(world, decisions, kind, field))
    return decisions


def _blocked(world: World, decisions: Decisions, kind: Kind, field: Field) -> Iterator[Draft | Removal]:
    """The changes that would leave too few objects with the scarce value of a field, blocked."""
    least, held = world.desired.guards.min_admins, Counter[str]()
    for observed in world.actual.objects.get(kind.name, {}).values():
        if _holds(field, observed):
            held[_scope(kind, observed)] += 1
    changing = [draft for draft in decisions.drafts.values() if draft.kind is kind and draft.active and _differs(draft, field)]
    losing: list[Draft | Removal] = [draft for draft in changing if _holds(field, draft.observed)]
    losing += [
        removal for removal in decisions.removals.values() if removal.kind is kind and removal.deletes and _holds(field, removal.observed)
    ]
    lost = Counter(_scope(kind, entry.observed) for entry in losing)
    gained = Counter(
        _scope(kind, draft.observed)
        for draft in changing
        if not _holds(field, draft.observed) and draft.wants.get(field.name) == field.scarce
    )
    for entry in losing:
        scope = _scope(kind, entry.observed)
        left = held[scope] - lost[scope] + gained[scope]
        if left < least:
            reason = f"would leave {left} with {field.name} {field.scarce} in {entry.address.container}; guards.minAdmins is {least}"
            yield entry.block(reason, f"make somebody else {field.scarce} first, or lower guards.minAdmins", id="RC-last-admin")
        elif entry.address == world.desired.lister:
            reason = f"owns the token (service.member); without {field.name} {field.scarce} the next run could do nothing"
            yield entry.block(reason, f"set service.member to another {field.scarce}, and use their token", id="RC-own-token")


def _differs(draft: Draft, field: Field) -> bool:
    return any(difference.field is field for difference in draft.sendable)


def _holds(field: Field, observed: Observed | None) -> bool:
    return observed is not None and observed.values.get(field.name) == field.scarce


def _scope(kind: Kind, observed: Observed | None) -> str:
    return observed.within.get(kind.within or "", "") if observed is not None else ""
