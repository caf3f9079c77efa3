"""What happens to tracked objects that are no longer declared, and to unmanaged ones where `prune: all` applies. Pure.

In: the world and what was matched. Out: one `Removal` per address: forget, delete, or blocked. Nothing is removed because of an absence
that is not proven.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from reconciler.address import Address, bare
from reconciler.model import Actual, Binding, Desired, Observed
from reconciler.model.codec import title, why_unreadable
from reconciler.plan.containment import makers, parent, service_copies
from reconciler.plan.decisions import Purpose, Removal
from reconciler.plan.drafts.containers import UndeclaredContainers, deleted_along, kept_with_containers
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
    tracked = {(binding.kind, binding.id) for binding in world.state.bindings.values()}
    deleted = {(removal.kind.name, removal.id) for removal in removals.values() if removal.deletes}
    # What the service created for objects that are not deleted is managed by whoever manages those.
    staying = {
        kind.name: {id: observed for id, observed in world.actual.objects.get(kind.name, {}).items() if (kind.name, id) not in deleted}
        for kind, _ in makers(world.kinds)
    }
    managed = tracked | containers.claimed | world.state.foreign | service_copies(world.kinds, staying)
    removals |= {removal.address: removal for removal in deleted_along(world, removals, managed)}
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
        removal = _removal(world, matches, containers, kind, address, binding, declared_root=address.root in roots)
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


def _removal(
    world: World, matches: Matches, containers: UndeclaredContainers, kind: Kind, address: Address, binding: Binding, *, declared_root: bool
) -> Removal:  # fmt: skip
    """What happens to one tracked object that is no longer declared, by itself."""
    desired = world.desired
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
        return forget("").block("is no longer declared, but it could not be read", "run again when the service answers", id="RC-unread")
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


def _pruned(
    world: World, containers: UndeclaredContainers, matches: Matches, removals: Mapping[Address, Removal]
) -> Iterator[Removal]:  # fmt: skip
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
    known = {(binding.kind, binding.id) for binding in world.state.bindings.values()} | world.state.foreign | containers.claimed
    known |= service_copies(kinds, actual.objects)
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
