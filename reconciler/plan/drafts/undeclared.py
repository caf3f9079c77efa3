"""What happens to tracked objects that are no longer declared, and to unmanaged ones where `prune: all` applies. Pure.

In: the world and what was matched. Out: one `Removal` per address: forget, delete, or blocked. Nothing is removed because of an absence
that is not proven. Each is decided by itself first; then everything in a container that stays stays too. Where an object is, is what was
read of it, not its address.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from reconciler.address import Address, bare
from reconciler.model import WHEN_READ, Actual, Binding, Desired, Observed, Removed, waiting
from reconciler.model.codec import title, why_unreadable
from reconciler.plan.containment import Key, makers, parent, service_copies
from reconciler.plan.decisions import Purpose, Removal
from reconciler.plan.drafts.synced import deletes_refused
from reconciler.plan.matching.matches import Matches
from reconciler.plan.matching.natural_keys import listed
from reconciler.plan.matching.renames import containing
from reconciler.plan.world import Decisions, World
from reconciler.resource import Kind


def undeclared(world: World, decisions: Decisions) -> Decisions:
    """Decide what happens to every undeclared object: tracked, unmanaged, or created by a request that completed late."""
    matches = decisions.matches
    containers = UndeclaredContainers(world, matches)
    removals = {removal.address: removal for removal in _tracked(world, matches, containers)}
    removals |= {removal.address: removal for removal in _pruned(world, containers, matches, removals)}
    removals |= {removal.address: removal for removal in _late(world, containers, matches)}
    deleted = {(removal.kind.name, removal.id) for removal in removals.values() if removal.deletes}
    # What the service created for objects that are not deleted is managed by whoever manages those.
    staying = {
        kind.name: {id: observed for id, observed in world.actual.objects.get(kind.name, {}).items() if (kind.name, id) not in deleted}
        for kind, _ in makers(world.kinds)
    }
    managed = world.state.addresses.keys() | containers.claimed | world.state.foreign | service_copies(world.kinds, staying)
    removals |= {removal.address: removal for removal in deleted_along(world, removals, managed)}
    refused = {removal.address: removal for removal in deletes_refused(world.kinds, world.actual, removals)}
    removals = {address: removal for address, removal in removals.items() if not (removal.pruned and address in refused)}
    removals |= {address: removal for address, removal in refused.items() if address in removals}
    return replace(decisions, removals=kept_with_containers(world.desired, removals))


def replaced_objects(world: World, decisions: Decisions) -> Decisions:
    """Delete the old object of every replacement."""
    orphans = []
    for draft in decisions.drafts.values():
        old = draft.old
        if old is not None and draft.active and draft.address.container is not None:
            orphan = draft.address.container.child(draft.kind.name, bare(old.id))
            orphans.append(Removal(orphan, draft.kind, old.id, Purpose.DELETE, "replaced", old, draft.binding, replaces=draft.address))
    return decisions.changed(orphans)


def _tracked(world: World, matches: Matches, containers: UndeclaredContainers) -> Iterator[Removal]:
    """The removals of tracked objects that are no longer declared."""
    kinds, desired, state = world.kinds, world.desired, world.state
    roots = {address for address in desired.resources if address.container is None}
    doubtful = {intent.address for intent in state.intents}
    for address, binding in containers.bindings.items():
        kind = kinds.get(binding.kind)
        if kind is None or (kind.name, binding.id) in containers.claimed:
            yield Removal(address, kind or kinds.roots[0], binding.id, Purpose.FORGET, "another address tracks it now", binding=binding)
            continue
        removal = _removal(world, matches, containers, binding, declared_root=address.root in roots)
        if removal.deletes and address in matches.renamed:
            removal = replace(removal, reason=f"{removal.reason} (was {matches.renamed[address]})")
        blocker = matches.former.rename_blocker(address, containing(state.bindings, address))
        if blocker is not None:
            removal = replace(removal, blocked=replace(blocker, address=address))
        if address in doubtful:
            removal = removal.block(
                "a request of an earlier run is in doubt", "reconciler apply finds out what happened to it", id="RC-in-doubt"
            )
        yield removal


def _removal(world: World, matches: Matches, containers: UndeclaredContainers, binding: Binding, *, declared_root: bool) -> Removal:
    """What happens to one tracked object that is no longer declared, by itself."""
    desired, kind, address = world.desired, world.kinds[binding.kind], binding.address
    removed = containers.removed(address)
    observed = world.actual.find(kind.name, binding.id)
    outer = containers.around(kind, address, observed, binding)
    with_contents = removed is not None and removed.action == "delete-all"

    def forget(reason: str) -> Removal:
        return Removal(address, kind, binding.id, Purpose.FORGET, reason, observed, binding, inside=outer, with_contents=with_contents)

    if not declared_root or "delete" not in kind.api:
        return forget("no longer declared; it is left unchanged")
    if removed is not None and removed.action == "forget":
        return _forgotten(desired, containers, forget("no longer managed, by removed:"))
    if desired.prune.get(kind.name, kind.prune) == "none" and removed is None:
        return forget(f"no longer declared; {kind.name}s are not pruned")
    container = containers.was_forgotten(kind, observed, binding) if removed is None else None
    if container is not None:
        return forget(f"no longer managed, like {container}, which contains it")
    if observed is not None and observed.deleted_at is not None:
        return forget("already deleted")
    if observed is None and matches[address].gone:
        return forget("already deleted")
    if observed is None:
        return forget("").block("is no longer declared, but it could not be read", WHEN_READ, id="RC-unread")
    if observed.unreadable:
        return forget("").block(f"is no longer declared, but {why_unreadable(observed)}", "then run again", id="RC-unread")
    says = "no longer declared" if removed is None else removed.says
    delete = replace(forget(says + left_behind(world.actual, kind, observed)), purpose=Purpose.DELETE)
    if binding.protected and removed is None:
        return replace(delete, reason="").block(
            f"is no longer declared, and {kind.name} {title(observed)!r} is protected",
            f"to delete it, add to {desired.list_of(address)}: {{address: {address:yaml}, action: delete}}; "
            "to stop managing it, action: forget",
            id="RC-protected",
        )
    lost = pruned_later(world, matches, kind, observed)
    return delete if lost is None else replace(delete, reason="").block(*lost, id="RC-result-would-be-pruned")


def _forgotten(desired: Desired, containers: UndeclaredContainers, removal: Removal) -> Removal:
    """The removal of what `removed` says is no longer managed, blocked where it would be deleted for that: now or by the next run."""
    address, kind, outer = removal.address, removal.kind, removal.inside
    around = containers.removed(outer) if outer is not None else None
    if around is not None and around.action == "delete-all":
        return removal.block(
            f"would no longer be managed, and then be deleted with {outer}, which is deleted with everything in it",
            f"move it elsewhere first, or delete {outer} with action: delete",
            id="RC-still-contains",
        )
    pruned = desired.prune.get(kind.name) == "all" and kind.name not in desired.protect
    if outer is None and pruned and (address.container, kind.name) in desired.written:
        return removal.block(
            "would no longer be managed, and the next run would delete it (prune: all)",
            f"write prune: {{{kind.name}: owned}}, or, to delete it, action: delete in {desired.list_of(address)}",
            id="RC-forgotten-would-be-pruned",
        )
    return removal


def _pruned(world: World, containers: UndeclaredContainers, matches: Matches, removals: Mapping[Address, Removal]) -> Iterator[Removal]:
    """The removals of unmanaged objects, of the kinds for which the project sets `prune: all`, unless an unmanaged one that stays contains
    them. `removals`: of what is tracked."""
    candidates = {(removal.kind.name, removal.id): removal for removal in _of_pruned_kinds(world, containers, matches)}
    deleted = candidates.keys() | {(removal.kind.name, removal.id) for removal in removals.values() if removal.deletes}
    for removal in candidates.values():
        assert removal.observed is not None
        if not containers.is_kept_elsewhere(removal.kind, removal.observed, deleted):
            node = parent(removal.kind, removal.observed)
            outer = candidates[node].address if node in candidates else removal.inside
            yield replace(removal, inside=outer)


def _of_pruned_kinds(world: World, containers: UndeclaredContainers, matches: Matches) -> Iterator[Removal]:
    """The removals of all unmanaged objects of the kinds for which the project sets `prune: all`."""
    kinds, desired, actual = world.kinds, world.desired, world.actual
    known = world.state.addresses.keys() | world.state.foreign | containers.claimed | service_copies(kinds, actual.objects)
    for container, name in sorted(desired.written, key=lambda pair: (pair[0], pair[1])):
        kind = kinds.get(name)
        if kind is None or desired.prune.get(name) != "all" or "delete" not in kind.api or container not in matches.ids:
            continue
        scope = matches.ids[container]
        if listed(kind) and (name, scope) not in actual.complete:
            continue
        if any((maker.name, scope) not in actual.complete for maker, _ in makers(kinds, (name,))):
            continue  # any of them may be the result of an object that was not read
        for observed in sorted(actual.objects.get(name, {}).values(), key=lambda observed: observed.id):
            if (name, observed.id) in known or observed.deleted_at is not None or observed.within.get(kind.within or "") != scope:
                continue
            if observed.unreadable:
                continue  # it may be a resource that is declared
            reason = f"unmanaged, and prune is all for {name}s"
            address = container.child(name, bare(observed.id))
            outer = containers.around(kind, address, observed, None)
            removal = Removal(address, kind, observed.id, Purpose.DELETE, reason, observed, pruned=True, inside=outer)
            if name in desired.protect:
                removal = removal.block(
                    f"{name} {title(observed)!r} is unmanaged and of a protected kind",
                    f"remove {name} from protect:, or declare it",
                    id="RC-protected",
                )
            yield removal


def _late(world: World, containers: UndeclaredContainers, matches: Matches) -> Iterator[Removal]:
    """The removals of objects created by requests that were considered lost, where another object has the address now."""
    for (name, id), meant in matches.late.items():
        container, kind = meant.container, world.kinds[name]
        if (name, id) in containers.claimed or container is None or container not in matches.ids or "delete" not in kind.api:
            continue
        address, observed = container.child(name, bare(id)), world.actual.find(name, id)
        reason, outer = f"created for {meant} by a late request of an earlier run", containers.around(kind, address, observed, None)
        yield Removal(address, kind, id, Purpose.DELETE, reason, observed, inside=outer)


# -- what the service created for an object, and keeps when that is deleted --------------------------------------------------------


def left_behind(actual: Actual, kind: Kind, observed: Observed | None) -> str:
    """What remains of a deleted object, as the end of a sentence; "" where nothing remains."""
    names = []
    for to, id in _results(kind, observed):
        result = actual.find(to, id)
        names.append(f"{to} {title(result) if result is not None else id!r}")
    return f"; its result, {' and '.join(names)}, is left unchanged and is unmanaged from then on" if names else ""


def pruned_later(world: World, matches: Matches, kind: Kind, observed: Observed | None) -> tuple[str, str] | None:
    """Why an object must not be deleted, and what to do: the next run would prune what remains of it. None where it would not."""
    desired = world.desired
    for to, id in _results(kind, observed):
        pruned = desired.prune.get(to) == "all" and to not in desired.protect and any(name == to for _, name in desired.written)
        if pruned and all((desired.resources[address].kind, known) != (to, id) for address, known in matches.ids.items()):
            return (
                f"would be deleted; its result, {to} {id}, would then be unmanaged, and the next run would delete it (prune: all)",
                f"declare that {to} with id: {id}, or write prune: {{{to}: owned}}",
            )
    return None


def _results(kind: Kind, observed: Observed | None) -> Iterator[tuple[str, str]]:
    for field in kind.service_copies:
        id = observed.values.get(field.name) if observed is not None else None
        if isinstance(id, str):
            yield str(field.to), id


# -- The containers that they are in -------------------------------------------------------------------------------------------------


class UndeclaredContainers:
    """The undeclared objects that may contain others: those that are tracked and exist. `claimed`: objects of declared resources."""

    def __init__(self, world: World, matches: Matches) -> None:
        self.world, self.claimed = world, {(world.desired.resources[address].kind, id) for address, id in matches.ids.items()}
        self.bindings = {address: binding for address, binding in world.state.bindings.items() if address not in world.desired.resources}
        self._addresses = {binding.key: address for address, binding in self.bindings.items() if not matches[address].gone}
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


def _is_last(world: World, removal: Removal, deleted: Collection[Key]) -> bool:
    """Whether no object of its kind is left in its container, which stays, and none is declared there."""
    observed, kind, container = removal.observed, removal.kind, removal.address.container
    if observed is None or kind.within is None or container is None:
        return False
    outer = (kind.within, str(observed.within.get(kind.within, "")))
    if outer in deleted or any((kind.name, sibling.id) not in deleted for sibling in world.contents.inside(kind.name, *outer)):
        return False
    return not any(declared.kind == kind.name and address.container == container for address, declared in world.desired.resources.items())


def deleted_along(world: World, removals: Mapping[Address, Removal], managed: Collection[Key]) -> Iterator[Removal]:
    """The removals of unmanaged objects in what is deleted with everything in it, if the service would not delete them with that.

    `managed`: objects that are not unmanaged.
    """
    ahead = [removal for removal in removals.values() if removal.with_contents and removal.deletes]
    deleted = {(removal.kind.name, removal.id) for removal in removals.values() if removal.deletes}
    met = {(removal.kind.name, removal.id) for removal in removals.values()}
    while ahead:
        outer = ahead.pop()
        for kind in world.kinds.values():
            inside = kind.inside
            if inside is None or inside.to != outer.kind.name or "delete" not in kind.api:
                continue
            # With the last of its kind, the service keeps what is in it.
            if inside.cascade and not (kind.name in outer.kind.reshapes and _is_last(world, outer, deleted)):
                continue
            for observed in world.contents.inside(kind.name, outer.kind.name, outer.id):
                key, container = (kind.name, observed.id), outer.address.container
                if key in met or key in managed or observed.deleted_at is not None or container is None:
                    continue
                met.add(key)
                removal = Removal(
                    kind.address(container, bare(observed.id)),
                    kind,
                    observed.id,
                    Purpose.DELETE,
                    f"unmanaged; in {outer.address}, which is deleted with everything in it",
                    observed,
                    inside=outer.address,
                    with_contents=True,
                )
                ahead.append(removal)
                yield removal
