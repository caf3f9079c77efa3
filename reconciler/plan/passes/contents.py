"""Objects that must not be deleted although they are no longer declared: not empty, in use, or not read completely. Pure.

In: the removals and what was read. Out: the same removals, some of them blocked, each with what to do.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from reconciler.address import Address
from reconciler.model import Blocked, Desired, Observed, waiting
from reconciler.model.codec import title
from reconciler.plan.containment import Contents, deleted_with
from reconciler.plan.decisions import Delete, DeletedWith, Draft, Forget, Removal
from reconciler.plan.matching.natural_keys import listed
from reconciler.plan.world import Decisions, World
from reconciler.resource import FieldRole, Kind

UNREAD = "run again when the service answers"


def contents(world: World, decisions: Decisions) -> Decisions:
    """Settle what is deleted together with what, then block deletes until none is left that would delete what must stay."""
    keepers = {(change.kind.name, change.keeper_id) for change in decisions.rearrangements}
    removals = _covered(_with_container(world.desired, decisions.removals), keepers)
    check = _Check(world, decisions, removals)
    changed = True
    while changed:
        changed = False
        for address in removals:
            removal = check.removals[address]
            blocked = check.why(removal) if removal.deletes else None
            if blocked is not None:
                check.stay(address, blocked)
                changed = True
    return replace(decisions, removals=check.removals)


def _with_container(desired: Desired, removals: Mapping[Address, Removal]) -> dict[Address, Removal]:
    """Treat what a forgotten or protected container contains like the container, unless `removed` names it."""
    result = dict(removals)
    for address in sorted(removals):
        removal, outer = result[address], result.get(address.container) if address.container is not None else None
        if outer is None or removal.replaces is not None or removal.binding is None or address in desired.removed:
            continue
        if isinstance(removal.purpose, Forget):
            continue
        if outer.blocked is not None:
            result[address] = replace(removal, blocked=waiting(address, outer.blocked))
        elif isinstance(outer.purpose, Forget):
            result[address] = replace(removal, purpose=Forget(), blocked=None, reason=f"deleted with {outer.address}")
    return result


def _covered(removals: Mapping[Address, Removal], keepers: Collection[tuple[str, str | None]]) -> dict[Address, Removal]:
    """Mark what is deleted by the delete of its container, so that it sends nothing. `keepers`: objects whose contents outlive them."""
    result = dict(removals)
    for removal in removals.values():  # no request deletes an object without an id by itself
        container = removals.get(removal.address.container) if removal.kind.one_per and removal.address.container is not None else None
        if container is not None and container.deletes and removal.active and removal.observed is not None:
            result[removal.address] = replace(removal, purpose=Delete(), reason=f"deleted with {container.address}")
    leaving = {(removal.kind.name, removal.id): removal for removal in result.values() if removal.deletes}
    for removal in removals.values():  # nor what is only listed with the object that it names
        key = removal.kind.listed_with(removal.observed.values) if removal.observed is not None else None
        holder = leaving.get(key) if key is not None else None
        if holder is not None and removal.active:
            result[removal.address] = replace(removal, purpose=DeletedWith(holder.address))
    for removal in leaving.values():
        around = deleted_with(removal.kind, removal.observed) if removal.observed is not None else ()
        outer = next((leaving[key] for key in around if key in leaving), None)
        if outer is not None and outer.replaces is None and (outer.kind.name, outer.id) not in keepers:
            result[removal.address] = replace(removal, purpose=DeletedWith(outer.address))
    return result


class _Check:
    """The removals, and what is known of the rest. `leaving`: (kind, id) of all that is deleted."""

    def __init__(self, world: World, decisions: Decisions, removals: dict[Address, Removal]) -> None:
        self.kinds, self.desired, self.actual, self.removals = world.kinds, world.desired, world.actual, removals
        self.leaving = {(removal.kind.name, removal.id) for removal in removals.values() if removal.deletes}
        self.holders = {(draft.kind.name, draft.id): draft for draft in decisions.drafts.values() if draft.id is not None}
        self.keepers = {(change.kind.name, change.keeper_id): change.names for change in decisions.rearrangements}
        self.together = {address: change for change in decisions.rearrangements for address in change.leaving}
        self.stopped: dict[Address, Blocked] = {}
        self.tracked = {(removal.kind.name, removal.id) for removal in removals.values() if removal.binding is not None}
        self.contents = Contents(world.kinds, world.actual.objects)
        self.covered: dict[Address, list[Address]] = defaultdict(list)
        self.going = Counter(_beside(removal) for removal in removals.values() if (removal.kind.name, removal.id) in self.leaving)
        for removal in removals.values():
            if removal.deleted_with is not None:
                self.covered[removal.deleted_with].append(removal.address)
        self.waiting: dict[tuple[str, Any], list[Draft]] = defaultdict(list)
        for draft in decisions.drafts.values():
            if draft.blocked is not None and draft.kind.inside is not None:
                self.waiting[draft.kind.name, draft.wants.get(draft.kind.inside.name)].append(draft)

    def stay(self, address: Address, blocked: Blocked) -> None:
        """A blocked delete deletes none of its contents: what would have been deleted with it stays too, unless `removed` names it."""
        removal = self.removals[address] = replace(self.removals[address], blocked=blocked)
        if (removal.kind.name, removal.id) in self.leaving:
            self.leaving.discard((removal.kind.name, removal.id))
            self.going[_beside(removal)] -= 1
        self._stay_together(removal, blocked)
        for inner in self.covered[address]:
            covered = self.removals[inner]
            if covered.deleted_with != address or covered.blocked is not None:
                continue
            self.removals[inner] = covered.alone()
            if inner not in self.desired.removed:
                self.stay(inner, waiting(inner, blocked))

    def _stay_together(self, removal: Removal, blocked: Blocked) -> None:
        """Where one of them stays, none is the last to leave: those whose contents are declared elsewhere wait."""
        change = self.together.get(removal.address)
        if change is not None and change.top:
            self.stopped.setdefault(change.container, blocked)
        elif change is not None:
            self.keepers.pop((change.kind.name, change.keeper_id), None)

    def why(self, removal: Removal) -> Blocked | None:
        """Why the object must stay, and what to do; None where it may be deleted."""
        change = self.together.get(removal.address)
        stopped = self.stopped.get(change.container) if change is not None else None
        if stopped is not None:
            return waiting(removal.address, stopped)
        comer = self._awaited(removal)
        if comer is not None:
            return waiting(removal.address, comer, reason=f"waits for {comer.address}, which replaces it")
        stays = [inhabitant for inhabitant in self._inhabitants(removal) if not self._leaves(inhabitant)]
        if stays:
            return self._holds(removal, stays, "move its contents elsewhere, or declare and remove them too")
        taken = list(self._cascade_of(removal))
        kept = [observed for observed in taken if self._is_kept(observed)]
        if kept:
            stuck = (self.holders[key].blocked for observed in kept if (key := (observed.kind, observed.id)) in self.holders)
            way = next((blocked.remedy for blocked in stuck if blocked is not None), "move its contents elsewhere, or remove them too")
            return self._holds(removal, kept, way)
        missing = self._unread(removal)
        if missing is not None:
            return Blocked(removal.address, f"would be deleted, but {missing} in it could not be read", UNREAD, id="RC-unread")
        strange = [observed for observed in taken if self._is_strange(removal, observed)]
        if strange:
            line = f"{self.desired.list_of(removal.address)}: {{address: {removal.address}, action: delete-all}}"
            way = f"declare its contents, or delete them too with {line}"
            return self._holds(removal, strange, way, "unmanaged ")
        return self._in_use(removal)

    def _holds(self, removal: Removal, stays: list[Observed], remedy: str, what: str = "") -> Blocked:
        names = ", ".join(f"{what}{stay.kind} {title(stay)!r}" for stay in stays[:5]) + (f" and {len(stays) - 5} more" if stays[5:] else "")
        return Blocked(removal.address, f"would be deleted, but it still contains {names}", remedy, id="RC-still-contains")

    # -- what it holds -----------------------------------------------------------------------------------------------------------

    def _inhabitants(self, removal: Removal) -> Iterable[Observed]:
        """The objects that it contains and that would not be deleted with it."""
        for kind in self.kinds.values():
            inside = kind.inside
            if inside is not None and inside.role is FieldRole.INSIDE and inside.to == removal.kind.name and not inside.cascade:
                yield from (
                    observed for observed in self.contents.in_node(kind.name, removal.kind.name, removal.id) if observed.deleted_at is None
                )

    def _cascade_of(self, removal: Removal) -> Iterable[Observed]:
        """What the service deletes together with it."""
        moved = self.keepers.get((removal.kind.name, removal.id), frozenset())
        for kind in self.kinds.values():
            if kind.name not in moved:
                yield from self.contents.cascade(kind.name, removal.kind.name, removal.id)

    def _leaves(self, observed: Observed) -> bool:
        if (observed.kind, observed.id) in self.leaving:
            return True
        draft = self.holders.get((observed.kind, observed.id))
        return draft is not None and draft.active and any(diff.field.container for diff in draft.sendable)

    def _is_kept(self, observed: Observed) -> bool:
        """Whether it is managed, and is neither deleted nor recreated elsewhere."""
        key = (observed.kind, observed.id)
        return (key in self.holders or key in self.tracked) and key not in self.leaving

    def _is_strange(self, removal: Removal, observed: Observed) -> bool:
        """Whether the object is unmanaged and nothing allows its deletion: neither `delete-all` nor `prune: all` of its kind."""
        removed = self.desired.removed.get(removal.address)
        agreed = removal.binding is None or (removed is not None and removed.action == "delete-all")
        pruned = self.desired.prune.get(observed.kind) == "all" and observed.kind not in self.desired.protect
        return not agreed and not pruned and (observed.kind, observed.id) not in self.leaving

    def _unread(self, removal: Removal) -> str | None:
        """The objects in it that were not read completely; None where all were."""
        for kind in self.kinds.values():
            if self._lives_in(kind, removal) and not self._was_read(kind, removal):
                return f"the {kind.name}s"
        return None

    def _lives_in(self, kind: Kind, removal: Removal) -> bool:
        inside = kind.inside
        stands = inside is not None and inside.role is FieldRole.INSIDE and inside.to == removal.kind.name and not inside.cascade
        return stands or (kind.within == removal.kind.name and listed(kind) and removal.binding is not None)

    def _was_read(self, kind: Kind, removal: Removal) -> bool:
        within = removal.observed.within.get(kind.within or "", "") if removal.observed else ""
        return (kind.name, removal.id) in self.actual.complete or (listed(kind) and (kind.name, within) in self.actual.complete)

    def _awaited(self, removal: Removal) -> Blocked | None:
        """The blocked resource that would have joined the removed object: without both, nothing would be left there."""
        inside = removal.kind.inside
        if inside is None or not inside.cascade or removal.observed is None or removal.deleted_with is not None:
            return None
        parent = removal.observed.values.get(inside.name)
        for draft in self.waiting.get((removal.kind.name, parent), ()):
            parent_today = draft.observed.values.get(inside.name) if draft.observed is not None else None
            if parent != parent_today:
                return draft.blocked
        return None

    # -- what needs it -----------------------------------------------------------------------------------------------------------

    def _in_use(self, removal: Removal) -> Blocked | None:
        """Whether its container needs it: by the value of a field, or because no other would be left."""
        kind, needed, container = removal.kind, removal.kind.needed, removal.address.container
        if needed is None or removal.observed is None or kind.within is None or container is None:
            return None
        scope = removal.observed.within.get(kind.within, "")
        outer = self.actual.find(kind.within, scope)
        if outer is not None and outer.values.get(needed.field) == needed.value:
            value = "true" if needed.value is True else str(needed.value)
            way = f"turn {needed.field} of {container} off in an earlier run"
            return Blocked(removal.address, f"is in use: {needed.field} of {container} is {value}", way, id="RC-in-use")
        left = len(self.contents.within(kind.name, kind.within, scope)) - self.going[_beside(removal)]
        if left <= 0 and removal.address not in self.desired.removed:
            line = f"{{address: {removal.address}, action: delete}}"
            way = f"if this is intended, add to {self.desired.list_of(removal.address)}: {line}"
            return Blocked(removal.address, f"is the last {kind.name} of {container}", way, id="RC-last-of-its-kind")
        return None


def _beside(removal: Removal) -> tuple[str, str]:
    """What an object has in common with its siblings: the kind, and the id of the container."""
    return removal.kind.name, removal.observed.within.get(str(removal.kind.within), "") if removal.observed is not None else ""
