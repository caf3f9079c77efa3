"""What happens to undeclared objects because of the containers that they are in. Pure.

In: what was matched, and removals, each decided by itself. Out: the undeclared object that contains each; and the removals once
everything in a container that stays stays too. Where an object is, is what was read of it, not its address.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from reconciler.address import Address, bare
from reconciler.model import Binding, Desired, Observed, Removed, waiting
from reconciler.plan.containment import Key, parent
from reconciler.plan.decisions import Purpose, Removal
from reconciler.plan.matching.matches import Matches
from reconciler.plan.world import World
from reconciler.resource import Kind


class UndeclaredContainers:
    """The undeclared objects that may contain others: those that are tracked and exist. `claimed`: objects of declared resources."""

    def __init__(self, world: World, matches: Matches) -> None:
        self.world, self.claimed = world, {(world.desired.resources[address].kind, id) for address, id in matches.ids.items()}
        self.bindings = {address: binding for address, binding in world.state.bindings.items() if address not in world.desired.resources}
        self._addresses = {(binding.kind, binding.id): address for address, binding in self.bindings.items() if not matches[address].gone}
        self._delete_all: dict[Address, Removed | None] = {}

    def around(self, kind: Kind, address: Address, observed: Observed | None, binding: Binding | None) -> Address | None:
        """The address of the nearest tracked object that contains this one and is undeclared; None where there is none.

        Unmanaged objects between them are ignored; a declared one ends the search. For what was not read, its last known place counts.
        """
        remembered = _remembered(kind, observed, binding)
        if remembered in self.bindings:
            return remembered
        for key in self._nodes(kind, observed, binding):
            if key in self.claimed:
                return None
            if (outer := self._addresses.get(key)) is not None and outer != address:
                return outer
        return address.container if address.container in self.bindings else None

    def is_kept_elsewhere(self, kind: Kind, observed: Observed, deleted: Collection[Key]) -> bool:
        """Whether an unmanaged object is in another unmanaged one, which is not deleted."""
        for key in self._nodes(kind, observed, None):
            if key in self.claimed or key in self._addresses:
                return False
            if key not in deleted:
                return True
        return False

    def was_forgotten(self, kind: Kind, observed: Observed | None, binding: Binding) -> Address | None:
        """The container that an earlier run stopped managing, by a `removed` that is still there, where the object is still in it."""
        place = binding.place.parent if binding.place is not None else None
        line = self.world.desired.removed.get(place) if place is not None else None
        if line is None or line.action != "forget" or place in self.world.state.bindings or place in self.world.desired.resources:
            return None
        node = parent(kind, observed) if observed is not None else None
        return place if node is not None and node not in self.claimed and node not in self._addresses else None

    def removed(self, address: Address) -> Removed | None:
        """What `removed` says about an address: a line of its own, or the `delete-all` of an object that contains it."""
        path: dict[Address, None] = {}
        at: Address | None = address
        while at is not None and at not in self._delete_all and at not in path:
            path[at] = None
            kind = self.world.kinds.get(self.bindings[at].kind)
            binding = self.bindings[at]
            at = self.around(kind, at, self.world.actual.find(kind.name, binding.id), binding) if kind is not None else None
        outer = self._delete_all.get(at) if at is not None else None
        for at in reversed(path):
            line = self.world.desired.removed.get(at)
            if line is None or line.action == "delete":
                outer = line if outer is None else replace(outer, address=at, says=f"{outer.address} is deleted with everything in it")
            else:
                outer = line
            outer = outer if outer is not None and outer.action == "delete-all" else None
            self._delete_all[at] = outer
        return self._delete_all[address] or self.world.desired.removed.get(address)

    def _nodes(self, kind: Kind, observed: Observed | None, binding: Binding | None) -> Iterator[Key]:
        """The nodes that an object is in, from the inside out, as far as they were read."""
        key = parent(kind, observed) if observed is not None else _seen_in(kind, binding)
        met: set[Key] = set()
        while key is not None and key not in met:
            yield key
            met.add(key)
            node = self.world.actual.find(*key)
            key = parent(self.world.kinds[key[0]], node) if node is not None else None


def _seen_in(kind: Kind, binding: Binding | None) -> Key | None:
    """The node that an object without a reading was seen in last."""
    id = binding.seen.get(kind.inside.name) if binding is not None and kind.inside is not None else None
    return (str(kind.inside.to), id) if kind.inside is not None and isinstance(id, str) else None


def _remembered(kind: Kind, observed: Observed | None, binding: Binding | None) -> Address | None:
    """The address of the node that an object without a reading was placed in last."""
    if observed is not None or binding is None or binding.place is None or kind.inside is None:
        return None
    return binding.place.parent


def kept_with_containers(
    desired: Desired, removals: Mapping[Address, Removal], left_alone: Collection[Address] = ()
) -> dict[Address, Removal]:
    """The removals, where everything in a container that stays stays too: it is no longer managed either, or waits for the container.

    A line of `removed` decides alone about what it names. What no binding tracks is left out where its container is no longer managed.
    `left_alone`: containers that the run is not about, which say nothing about what is in them.
    """
    settled: dict[Address, Removal | None] = {}
    causes: dict[Address, Removal | None] = {}  # by address, the outermost container because of which everything in it stays
    for address in removals:
        path: dict[Address, None] = {}
        at: Address | None = address
        while at is not None and at in removals and at not in settled and at not in path:
            path[at] = None
            at = removals[at].inside
        for at in reversed(path):
            removal = removals[at]
            alone = removal.replaces is not None or at in desired.removed
            outer = None if alone or removal.inside is None else causes.get(removal.inside)
            kept = settled[at] = removal if outer is None else _kept(removal, outer)
            stays = kept is not None and at not in left_alone and (kept.forgets or kept.blocked is not None)
            causes[at] = outer if outer is not None else kept if stays else None
    return {address: decided for address in removals if (decided := settled[address]) is not None}


def _kept(removal: Removal, outer: Removal) -> Removal | None:
    """A removal as that of the container `outer` has it; None where nothing happens."""
    if outer.forgets and removal.binding is None:
        return None
    if outer.forgets and not removal.forgets:
        return replace(removal, purpose=Purpose.FORGET, blocked=None, reason=f"no longer managed, like {outer.address}, which contains it")
    if outer.blocked is not None and removal.deletes:
        return replace(removal, blocked=waiting(removal.address, outer.blocked))
    return removal


def deleted_along(world: World, removals: Mapping[Address, Removal], managed: Collection[Key]) -> Iterator[Removal]:
    """The removals of unmanaged objects in what is deleted with everything in it, if the service would not delete them with that.

    `managed`: objects that are not unmanaged.
    """
    ahead = [removal for removal in removals.values() if removal.with_contents and removal.deletes]
    met = {(removal.kind.name, removal.id) for removal in removals.values()}
    while ahead:
        outer = ahead.pop()
        for kind in world.kinds.values():
            inside = kind.inside
            if inside is None or inside.to != outer.kind.name or inside.cascade or "delete" not in kind.api:
                continue
            for observed in world.contents.inside(kind.name, outer.kind.name, outer.id):
                key, container = (kind.name, observed.id), outer.address.container
                if key in met or key in managed or observed.deleted_at is not None or container is None:
                    continue
                met.add(key)
                removal = Removal(
                    kind.address(container, bare(observed.id)), kind, observed.id, Purpose.DELETE,
                    f"unmanaged; in {outer.address}, which is deleted with everything in it", observed,
                    inside=outer.address, with_contents=True,
                )  # fmt: skip
                ahead.append(removal)
                yield removal
