"""Values that some objects must always keep: an organization keeps its last admin, and the token's owner keeps the role. Pure.

In: what this run changes. Out: the same; changes that would leave too few admins are blocked, and those that would leave too few without
new ones require that the new ones have succeeded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from reconciler.address import bare
from reconciler.model import Observed
from reconciler.plan.decisions import Draft, Prerequisite, Removal
from reconciler.plan.world import Decisions, World
from reconciler.resource import Field, Kind


def last_admin(world: World, decisions: Decisions) -> Decisions:
    """Block changes that would leave fewer than `guards.minAdmins` admins in a container, or take the role from the token's owner.

    All others get as prerequisites the admins who remain, and the promotions of this run if too few remain without them.
    """
    for kind in world.kinds.values():
        for field in kind.fields.values():
            if field.scarce is not None:
                decisions = decisions.changed(_guarded(world, decisions, kind, field))
    return decisions


def _guarded(world: World, decisions: Decisions, kind: Kind, field: Field) -> Iterator[Draft | Removal]:
    """The changes that take the scarce value of a field from objects which need it, blocked or with their prerequisites."""
    least, holding = world.desired.guards.min_admins, defaultdict[str, list[str]](list)
    for observed in world.actual.objects.get(kind.name, {}).values():
        if _holds(field, observed):
            holding[_scope(kind, observed)].append(observed.id)
    drafts, removals = decisions.of_this_run()
    changing = [draft for draft in drafts.values() if draft.kind is kind and draft.active and _differs(draft, field)]
    losing: list[Draft | Removal] = [draft for draft in changing if _holds(field, draft.observed)]
    losing += [removal for removal in removals.values() if removal.kind is kind and removal.deletes and _holds(field, removal.observed)]
    lost = {entry.id for entry in losing}
    remaining = {scope: sorted(id for id in ids if id not in lost) for scope, ids in holding.items()}
    gaining: dict[str, list[Draft]] = defaultdict(list)
    for draft in changing:
        if not _holds(field, draft.observed) and draft.wants.get(field.name) == field.scarce:
            gaining[_scope(kind, draft.observed)].append(draft)
    for entry in losing:
        scope = _scope(kind, entry.observed)
        staying, gained = remaining[scope], gaining[scope]
        if len(staying) + len(gained) < least:
            reason = f"would leave {len(staying) + len(gained)} with {field.name} {field.scarce} in {entry.address.container}"
            remedy = f"make somebody else {field.scarce} first, or lower guards.minAdmins"
            yield entry.block(f"{reason}; guards.minAdmins is {least}", remedy, id="RC-last-admin")
        elif _owns_token(world, decisions, entry):
            reason = f"owns the token (service.member); without {field.name} {field.scarce} the next run could do nothing"
            yield entry.block(reason, f"set service.member to another {field.scarce}, and use their token", id="RC-own-token")
        else:
            name, enough = field.name if isinstance(entry, Draft) else "", max(least, 1)
            required = [Prerequisite(name, remains=(kind.name, id)) for id in staying[:enough]]
            if len(staying) < enough:  # even where the project allows none, a promotion that fails must not be what leaves none
                required += [Prerequisite(name, draft.address, field.name) for draft in gained]
            yield replace(entry, prerequisites=(*entry.prerequisites, *required))


def _differs(draft: Draft, field: Field) -> bool:
    return any(difference.field is field for difference in draft.sendable)


def _holds(field: Field, observed: Observed | None) -> bool:
    return observed is not None and observed.values.get(field.name) == field.scarce


def _scope(kind: Kind, observed: Observed | None) -> str:
    return observed.within.get(kind.within or "", "") if observed is not None else ""


def _owns_token(world: World, decisions: Decisions, entry: Draft | Removal) -> bool:
    """Whether it is the token's owner, in any container: the same key, now or in the YAML, or the same object under another key."""
    owner, key_is = world.desired.lister, entry.kind.place.key_is
    if owner is None or owner.kind != entry.kind.name or entry.observed is None:
        return False
    own = decisions.matches.ids.get(owner)
    key = str(entry.observed.values.get(key_is)) if key_is is not None else ""
    return owner.key in (entry.address.key, key) or (own is not None and bare(entry.observed.id) == bare(own))
