"""Objects that must not be deleted although they are no longer declared: not empty, in use, or not read completely. Pure.

In: the removals and what was read. Out: the same removals, some of them blocked, each with what to do.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from reconciler.address import Address
from reconciler.model import WHEN_READ, Blocked, Observed, waiting
from reconciler.model.codec import title
from reconciler.plan.containment import Key, containers, deleted_with
from reconciler.plan.decisions import DeletedWith, Draft, Purpose, Removal
from reconciler.plan.drafts.undeclared import kept_with_containers
from reconciler.plan.matching.natural_keys import listed
from reconciler.plan.world import Decisions, Worklist, World
from reconciler.resource import FieldRole


def contents(world: World, decisions: Decisions) -> Decisions:
    """Settle what is deleted together with what, then block deletes until none is left that would delete what must stay.

    After a delete is blocked, only what it can prevent is looked at again: what contains the object, and what is rearranged with it.
    """
    triggers = {change.trigger_key for change in decisions.rearrangements}
    removals = kept_with_containers(world.desired, decisions.removals, decisions.left_alone)
    deletions = _Deletions(world, decisions, _covered(removals, triggers))
    pending = Worklist(deletions.removals)
    for address in pending:
        removal = deletions.removals[address]
        obstacle = deletions.obstacle(removal) if removal.deletes else None
        if obstacle is not None:
            for affected in deletions.block(address, obstacle):
                pending.add(affected)
    return replace(decisions, removals=deletions.removals)


def _covered(removals: Mapping[Address, Removal], triggers: Collection[tuple[str, str | None]]) -> dict[Address, Removal]:
    """Mark what is deleted by the delete of its container, so that it sends nothing. `triggers`: see `_Deletions`."""
    result = dict(removals)
    for removal in removals.values():  # no request deletes an object without an id by itself
        container = removals.get(removal.address.container) if removal.kind.one_per and removal.address.container is not None else None
        if container is not None and container.deletes and removal.active and removal.observed is not None:
            result[removal.address] = replace(removal, purpose=Purpose.DELETE, reason=f"deleted with {container.address}")
    deleted = {_key(removal): removal for removal in result.values() if removal.deletes}
    for removal in removals.values():  # nor what is only listed with the object that it names
        key = removal.kind.listed_with(removal.observed.values) if removal.observed is not None else None
        lister = deleted.get(key) if key is not None else None
        if lister is not None and removal.active:
            result[removal.address] = replace(removal, purpose=DeletedWith(lister.address))
    for removal in deleted.values():
        around = deleted_with(removal.kind, removal.observed) if removal.observed is not None else ()
        outer = next((deleted[key] for key in around if key in deleted), None)
        if outer is not None and outer.replaces is None and (outer.kind.name, outer.id) not in triggers:
            result[removal.address] = replace(removal, purpose=DeletedWith(outer.address))
    return result


class _Deletions:
    """The removals, and what prevents them. `deleted`: what is still to be deleted.

    `resources`: the declared resources that exist. `triggers`: the objects with whose delete the service rearranges a container, and the
    kinds that it keeps then. `rearrangements`: by address of what is deleted in it. `stopped`: why a container is not rearranged.
    `blocked_in`: by kind and node, what is blocked and would be there; `blocked_referrers`: by id, what is blocked and would no longer
    refer to it.
    """

    def __init__(self, world: World, decisions: Decisions, removals: dict[Address, Removal]) -> None:
        self.kinds, self.desired, self.actual, self.contents = world.kinds, world.desired, world.actual, world.contents
        self.removals = removals
        self.deleted = {_key(removal) for removal in removals.values() if removal.deletes}
        self.tracked = {_key(removal) for removal in removals.values() if removal.binding is not None}
        self.resources = {(draft.kind.name, draft.id): draft for draft in decisions.drafts.values() if draft.id is not None}
        self.addresses: dict[Key, list[Address]] = defaultdict(list)
        self.covered: dict[Address, list[Address]] = defaultdict(list)
        self.inside: dict[Address, list[Address]] = defaultdict(list)
        for removal in removals.values():
            self.addresses[_key(removal)].append(removal.address)
            if removal.inside is not None and removal.replaces is None:
                self.inside[removal.inside].append(removal.address)
            if removal.deleted_with is not None:
                self.covered[removal.deleted_with].append(removal.address)
        self.deleted_siblings = Counter(_siblings(removal) for removal in removals.values() if _key(removal) in self.deleted)
        self.triggers = {rearrangement.trigger_key: rearrangement.names for rearrangement in decisions.rearrangements}
        self.rearrangements = {address: rearrangement for rearrangement in decisions.rearrangements for address in rearrangement.leaving}
        self.stopped: dict[Address, Blocked] = {}
        self.blocked_in: dict[tuple[str, Any], list[Draft]] = defaultdict(list)
        self.blocked_referrers: dict[str, Draft] = {}
        for draft in decisions.drafts.values():
            if draft.blocked is None:
                continue
            if draft.kind.inside is not None:
                self.blocked_in[draft.kind.name, draft.wants.get(draft.kind.inside.name)].append(draft)
            for id in draft.released:
                self.blocked_referrers.setdefault(id, draft)

    # -- blocking --------------------------------------------------------------------------------------------------------------------

    def block(self, address: Address, blocked: Blocked) -> list[Address]:
        """Block a delete, and with it everything that is in the object, unless `removed` names that. Returns what may now be prevented
        too."""
        affected: list[Address] = []
        outer, ahead = blocked, [(address, blocked)]
        while ahead:
            address, blocked = ahead.pop()
            if self.removals[address].blocked is not None:
                continue  # it is in another object that was blocked with this one
            removal = self.removals[address] = replace(self.removals[address], blocked=blocked)
            if _key(removal) in self.deleted:
                self.deleted.discard(_key(removal))
                self.deleted_siblings[_siblings(removal)] -= 1
                affected += self._containers(removal)
            affected += self._stop_rearranging(removal, blocked)
            entries = [self.removals[inner] for inner in self.covered[address]]
            covered = [entry.address for entry in entries if entry.deleted_with == address and entry.blocked is None]
            for other in covered:
                self.removals[other] = self.removals[other].alone()
            affected += [other for other in covered if other in self.desired.removed]
            inner = dict.fromkeys([*covered, *(other for other in self.inside[address] if self.removals[other].deletes)])
            ahead += [(other, waiting(other, outer)) for other in reversed(inner) if other not in self.desired.removed]
        return affected

    def _containers(self, removal: Removal) -> Iterator[Address]:
        """The addresses of what contains an object and is no longer declared."""
        observed = self.actual.find(*_key(removal))
        if observed is not None:
            for outer in containers(removal.kind, observed):
                yield from self.addresses.get(outer, ())

    def _stop_rearranging(self, removal: Removal, blocked: Blocked) -> Iterable[Address]:
        """Where one of them is blocked, none is the last to be deleted: those whose contents are declared elsewhere wait."""
        rearrangement = self.rearrangements.get(removal.address)
        if rearrangement is None:
            return ()
        if rearrangement.top:
            self.stopped.setdefault(rearrangement.container, blocked)
        else:
            self.triggers.pop(rearrangement.trigger_key, None)
        return rearrangement.leaving

    # -- what prevents a delete ------------------------------------------------------------------------------------------------------

    def obstacle(self, removal: Removal) -> Blocked | None:
        """Why the object must not be deleted, and what to do; None where it may be."""
        rearrangement = self.rearrangements.get(removal.address)
        stopped = self.stopped.get(rearrangement.container) if rearrangement is not None else None
        if stopped is not None:
            return waiting(removal.address, stopped)
        successor = self._blocked_successor(removal)
        if successor is not None:
            return waiting(removal.address, successor, reason=f"waits for {successor.address}, which replaces it")
        referrer = self.blocked_referrers.get(removal.id)
        if referrer is not None and referrer.blocked is not None:
            reason = f"waits for {referrer.address}, which refers to it and is blocked"
            return waiting(removal.address, referrer.blocked, reason=reason)
        remaining = [observed for observed in self._not_deleted_with(removal) if not self._is_removed(observed)]
        remaining += [observed for observed in self._members(removal) if self._is_managed(observed) and not self._is_removed(observed)]
        if remaining:
            deletable = not removal.with_contents and not any(self._is_managed(observed) for observed in remaining)
            way = self._delete_all(removal) if deletable else "move its contents elsewhere, or declare and remove them too"
            return self._still_contains(removal, remaining, way)
        lost = list(self._deleted_with(removal))
        managed = [observed for observed in lost if self._is_managed(observed)]
        if managed:
            drafts = (self.resources.get(observed.key) for observed in managed)
            blocked = next((draft.blocked for draft in drafts if draft is not None and draft.blocked is not None), None)
            way = blocked.remedy if blocked is not None else "move its contents elsewhere, or remove them too"
            return self._still_contains(removal, managed, way)
        unread = self._unread(removal)
        if unread is not None:
            return Blocked(removal.address, f"would be deleted, but {unread} in it could not be read", WHEN_READ, id="RC-unread")
        unmanaged = [observed for observed in lost if self._is_unexpected(removal, observed)]
        if unmanaged:
            return self._still_contains(removal, unmanaged, self._delete_all(removal), "unmanaged ")
        return self._in_use(removal)

    def _delete_all(self, removal: Removal) -> str:
        """The way to delete an object with its unmanaged contents."""
        line = f"{self.desired.list_of(removal.address)}: {{address: {removal.address:yaml}, action: delete-all}}"
        return f"declare its contents, or delete them too with {line}"

    def _still_contains(self, removal: Removal, some: list[Observed], remedy: str, what: str = "") -> Blocked:
        names = ", ".join(f"{what}{observed.kind} {title(observed)!r}" for observed in some[:5])
        names += f" and {len(some) - 5} more" if some[5:] else ""
        return Blocked(removal.address, f"would be deleted, but it still contains {names}", remedy, id="RC-still-contains")

    # -- what it contains ------------------------------------------------------------------------------------------------------------

    def _not_deleted_with(self, removal: Removal) -> Iterable[Observed]:
        """The objects in it that would not be deleted with it."""
        for kind in self.kinds.values():
            inside = kind.inside
            if inside is not None and inside.role is FieldRole.INSIDE and inside.to == removal.kind.name and not inside.cascade:
                yield from (
                    observed for observed in self.contents.inside(kind.name, removal.kind.name, removal.id) if observed.deleted_at is None
                )

    def _members(self, removal: Removal) -> Iterable[Observed]:
        """The objects that are its members: the service would move them out of it."""
        for kind in self.kinds.values():
            if any(field.role is FieldRole.MEMBER and field.to == removal.kind.name for field in kind.location_fields):
                yield from self.contents.inside(kind.name, removal.kind.name, removal.id)

    def _deleted_with(self, removal: Removal) -> Iterable[Observed]:
        """The objects in it that the service deletes with it."""
        kept = self.triggers.get(_key(removal), frozenset())
        for kind in self.kinds.values():
            if kind.name not in kept:
                yield from self.contents.deleted_below(kind.name, removal.kind.name, removal.id)

    def _is_removed(self, observed: Observed) -> bool:
        """Whether the object is deleted, or moved elsewhere."""
        if observed.key in self.deleted:
            return True
        draft = self.resources.get(observed.key)
        return draft is not None and draft.active and any(diff.field.container for diff in draft.sendable)

    def _is_managed(self, observed: Observed) -> bool:
        """Whether it is managed, and is neither deleted nor recreated elsewhere."""
        key = observed.key
        return (key in self.resources or key in self.tracked) and key not in self.deleted

    def _is_unexpected(self, removal: Removal, observed: Observed) -> bool:
        """Whether the object is unmanaged and nothing allows its deletion: neither `delete-all` nor `prune: all` of its kind."""
        allowed = removal.binding is None or removal.with_contents
        pruned = self.desired.prune.get(observed.kind) == "all" and observed.kind not in self.desired.protect
        return not allowed and not pruned and observed.key not in self.deleted

    def _unread(self, removal: Removal) -> str | None:
        """The objects in it that were not read completely; None where all were."""
        for kind in self.kinds.values():
            inside = kind.inside
            in_node = inside is not None and inside.role is FieldRole.INSIDE and inside.to == removal.kind.name and not inside.cascade
            # What is in a fixed container is deleted with it, so that of a managed one must be known before.
            in_container = kind.within == removal.kind.name and listed(kind) and removal.binding is not None
            within = removal.observed.within.get(kind.within or "", "") if removal.observed else ""
            was_read = any(
                (kind.name, scope) in self.actual.complete for scope in ((removal.id, within) if listed(kind) else (removal.id,))
            )
            if (in_node or in_container) and not was_read:
                return f"the {kind.name}s"
        return None

    def _blocked_successor(self, removal: Removal) -> Blocked | None:
        """The blocked resource that would have come beside the deleted object, where without both nothing would be left."""
        inside = removal.kind.inside
        if inside is None or not inside.cascade or removal.observed is None or removal.deleted_with is not None:
            return None
        node = removal.observed.values.get(inside.name)
        scope = removal.observed.within.get(removal.kind.within or "", "")
        beside = self.contents.inside(removal.kind.name, removal.kind.within or "", scope)
        if any(
            observed.values.get(inside.name) == node and not self._is_removed(observed) for observed in beside if observed.id != removal.id
        ):
            return None
        for draft in self.blocked_in.get((removal.kind.name, node), ()):
            current_node = draft.observed.values.get(inside.name) if draft.observed is not None else None
            if node != current_node:
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
        left = self.contents.count(kind.name, kind.within, scope) - self.deleted_siblings[_siblings(removal)]
        if left <= 0 and removal.address not in self.desired.removed:
            line = f"{{address: {removal.address:yaml}, action: delete}}"
            way = f"if this is intended, add to {self.desired.list_of(removal.address)}: {line}"
            return Blocked(removal.address, f"is the last {kind.name} of {container}", way, id="RC-last-of-its-kind")
        return None


def _siblings(removal: Removal) -> tuple[str, str]:
    """What an object has in common with its siblings: the kind, and the id of the container."""
    return removal.kind.name, removal.observed.within.get(str(removal.kind.within), "") if removal.observed is not None else ""


def _key(removal: Removal) -> Key:
    """The removed object."""
    return removal.kind.name, removal.id
