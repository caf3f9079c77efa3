"""What happens to what is bound but no longer declared, and to the unmanaged where `prune: all` says so. Pure.

In: Desired, State, Actual, the drafts. Out: one `Removal` an address: forget, delete, or blocked. Absence that is not
proven removes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.address import Address
from reconciler.model import Actual, Binding, Blocked, Desired, Observed, State
from reconciler.plan.drafts import Draft
from reconciler.plan.match import Matches, listed
from reconciler.reading import title
from reconciler.resource import Field, Kind, Kinds, Role


@dataclass
class Removal:
    """One object that leaves.

    `delete`: it is deleted, else only forgotten. `covered_by`: the address whose delete takes it along, so that it sends nothing.
    `orphan`: the old object of a replacement. `reason`: one sentence.
    """

    address: Address
    kind: Kind
    id: str
    delete: bool
    reason: str
    observed: Observed | None = None
    binding: Binding | None = None
    replaces: Address | None = None
    covered_by: Address | None = None
    blocked: Blocked | None = None
    deferred: str | None = None
    fields: tuple[Field, ...] = field(default_factory=tuple)

    @property
    def active(self) -> bool:
        return self.blocked is None and self.deferred is None


def removals(
    kinds: Kinds, desired: Desired, state: State, actual: Actual, found: Matches, drafts: Mapping[Address, Draft]
) -> dict[Address, Removal]:
    """One removal an address that leaves, the old objects of replacements included."""
    made: dict[Address, Removal] = {}
    roots = {address for address in desired.resources if address.container is None}
    former = set(found.renamed.values())
    doubtful = {intent.address for intent in state.intents}
    claimed = {(kinds[desired.resources[address].kind].name, id) for address, id in found.ids.items()}
    for address, binding in state.bindings.items():
        if address in desired.resources or address in former:
            continue
        kind = kinds.get(binding.kind)
        if kind is None or (kind.name, binding.id) in claimed:
            made_kind = kind if kind is not None else kinds.roots[0]
            made[address] = Removal(address, made_kind, binding.id, False, "another address holds it now", binding=binding)
            continue
        made[address] = _undeclared(kinds, kind, desired, actual, found, address, binding, roots)
        if address in doubtful:
            made[address].blocked = Blocked(address, "a request of an earlier run is in doubt", "reconciler apply reads what became of it")
    for draft in drafts.values():
        if draft.old is not None and draft.active and draft.address.container is not None:
            orphan = draft.address.container.child(draft.kind.name, draft.old.id)
            made[orphan] = Removal(
                orphan, draft.kind, draft.old.id, True, "replaced", draft.old, draft.binding, replaces=draft.address
            )  # fmt: skip
    _prune_unmanaged(kinds, desired, state, actual, found, drafts, made)
    _cover(kinds, made, found, state)
    _keep_what_is_lived_in(kinds, actual, drafts, made)
    return made


def _undeclared(
    kinds: Kinds, kind: Kind, desired: Desired, actual: Actual, found: Matches, address: Address, binding: Binding, roots: set[Address]
) -> Removal:
    removed = desired.removed.get(address)
    scope = desired.prune.get(kind.name, kind.prune)
    observed = actual.find(kind.name, binding.id)
    removal = Removal(address, kind, binding.id, False, "", observed, binding)
    if address.root not in roots or "delete" not in kind.api:
        removal.reason = "no longer declared; it stays as it is"
    elif removed is not None and removed.action == "forget":
        removal.reason = "let go of by removed:"
    elif scope == "none" and removed is None:
        removal.reason = f"no longer declared; {kind.name}s are not pruned"
    elif observed is not None and observed.deleted_at is not None:
        removal.reason = "already deleted"
    elif observed is None:
        if address in found.gone:
            removal.reason = "already gone"
        else:
            removal.blocked = Blocked(
                address, "is no longer declared, but it is not known what is there", "run again when the service answers"
            )
    elif binding.protected and (removed is None or removed.action != "delete"):
        removal.delete = True
        removal.blocked = Blocked(
            address,
            f"is no longer declared, and {kind.name} {title(observed)!r} is protected",
            f"to delete it, add to removed: {{address: {address}, action: delete}}; to let go of it, action: forget",
        )
    else:
        removal.delete = True
        removal.reason = "no longer declared" if removed is None else "removed: says so"
    return removal


def _prune_unmanaged(
    kinds: Kinds,
    desired: Desired,
    state: State,
    actual: Actual,
    found: Matches,
    drafts: Mapping[Address, Draft],
    made: dict[Address, Removal],
) -> None:
    known = {(binding.kind, binding.id) for binding in state.bindings.values()} | state.foreign
    known |= {(drafts[address].kind.name, id) for address, id in found.ids.items()}
    for container, name in sorted(desired.written, key=lambda pair: (pair[0], pair[1])):
        kind = kinds.get(name)
        if kind is None or desired.prune.get(name) != "all" or "delete" not in kind.api or container not in found.ids:
            continue
        scope = found.ids[container]
        if listed(kind) and (name, scope) not in actual.complete:
            continue
        for one in sorted(actual.objects.get(name, {}).values(), key=lambda each: each.id):
            if (name, one.id) in known or one.deleted_at is not None or one.within.get(kind.within or "") != scope:
                continue
            address = container.child(name, one.id)
            removal = Removal(address, kind, one.id, True, f"unmanaged, and prune says all {name}s", one)
            if name in desired.protect:
                removal.blocked = Blocked(
                    address, f"{name} {title(one)!r} is unmanaged and of a protected kind", f"take {name} out of protect:, or declare it"
                )
            made[address] = removal


def _cover(kinds: Kinds, made: Mapping[Address, Removal], found: Matches, state: State) -> None:
    """Mark what goes along with the delete of what it stands in, so that it sends nothing."""
    leaving = {(removal.kind.name, removal.id): removal for removal in made.values() if removal.delete and removal.active}
    for removal in made.values():
        if not (removal.delete and removal.active):
            continue
        kind = removal.kind
        outer = None
        if kind.within is not None and removal.observed is not None:
            outer = leaving.get((kind.within, removal.observed.within.get(kind.within, "")))
        inside = kind.inside
        if outer is None and inside is not None and inside.cascade and removal.observed is not None:
            outer = leaving.get((str(inside.to), str(removal.observed.values.get(inside.name))))
        if outer is not None and outer.replaces is None:
            removal.covered_by = outer.address


def _keep_what_is_lived_in(kinds: Kinds, actual: Actual, drafts: Mapping[Address, Draft], made: Mapping[Address, Removal]) -> None:
    """Block the delete of a container in which something stays that the delete would take along against its will."""
    leaving = {(removal.kind.name, removal.id) for removal in made.values() if removal.delete and removal.active}
    holders: dict[tuple[str, str | None], Draft] = {(draft.kind.name, draft.id): draft for draft in drafts.values() if draft.id is not None}
    changed = True
    while changed:
        changed = False
        for removal in made.values():
            if not (removal.delete and removal.active):
                continue
            stays = [one for one in _inhabitants(kinds, actual, removal) if not _leaves(one, holders, leaving)]
            stays += [one for one in _taken_along(kinds, actual, removal) if _is_kept(one, holders, leaving)]
            comer = _awaited(drafts, removal)
            if comer is not None:
                removal.blocked = Blocked(removal.address, f"waits for {comer.address}, which is to take its place", comer.remedy)
                leaving.discard((removal.kind.name, removal.id))
                changed = True
                continue
            missing = _unread(kinds, actual, removal)
            if stays or missing:
                names = ", ".join(f"{one.kind} {title(one)!r}" for one in stays[:5]) + (" …" if len(stays) > 5 else "")
                removal.blocked = Blocked(
                    removal.address,
                    f"would be deleted, but it still holds {names}"
                    if stays
                    else f"would be deleted, but {missing} in it could not be read",
                    "move what it holds elsewhere, or declare and remove it too" if stays else "run again when the service answers",
                )
                leaving.discard((removal.kind.name, removal.id))
                changed = True


def _inhabitants(kinds: Kinds, actual: Actual, removal: Removal) -> list[Observed]:
    found = []
    for kind in kinds.values():
        inside = kind.inside
        if inside is not None and inside.role is Role.INSIDE and inside.to == removal.kind.name and not inside.cascade:
            found += [
                one
                for one in actual.objects.get(kind.name, {}).values()
                if one.values.get(inside.name) == removal.id and one.deleted_at is None
            ]
    return found


def _taken_along(kinds: Kinds, actual: Actual, removal: Removal) -> list[Observed]:
    """What the service deletes together with a container."""
    return [
        one
        for kind in kinds.values()
        if kind.inside is not None and kind.inside.cascade and kind.inside.to == removal.kind.name
        for one in actual.objects.get(kind.name, {}).values()
        if one.values.get(kind.inside.name) == removal.id
    ]


def _is_kept(one: Observed, holders: Mapping[tuple[str, str | None], Draft], leaving: set[tuple[str, str]]) -> bool:
    """Whether it is declared, and neither leaves nor is made anew elsewhere."""
    return (one.kind, one.id) in holders and (one.kind, one.id) not in leaving


def _awaited(drafts: Mapping[Address, Draft], removal: Removal) -> Blocked | None:
    """What is blocked and would have come where the removed object stands: without both, nothing would be left there."""
    inside = removal.kind.inside
    if inside is None or not inside.cascade or removal.observed is None or removal.covered_by is not None:
        return None
    stands = removal.observed.values.get(inside.name)
    for draft in drafts.values():
        stood = draft.observed.values.get(inside.name) if draft.observed is not None else None
        if draft.kind is removal.kind and draft.blocked is not None and draft.wants.get(inside.name) == stands != stood:
            return draft.blocked
    return None


def _unread(kinds: Kinds, actual: Actual, removal: Removal) -> str | None:
    """A kind whose objects in the container were not read completely; None where all were."""
    for kind in kinds.values():
        inside = kind.inside
        if inside is None or inside.role is not Role.INSIDE or inside.to != removal.kind.name or inside.cascade:
            continue
        within = removal.observed.within.get(kind.within or "", "") if removal.observed else ""
        if (kind.name, removal.id) not in actual.complete and (kind.name, within) not in actual.complete:
            return f"the {kind.name}s"
    return None


def _leaves(one: Observed, holders: Mapping[tuple[str, str | None], Draft], leaving: set[tuple[str, str]]) -> bool:
    if (one.kind, one.id) in leaving:
        return True
    draft = holders.get((one.kind, one.id))
    return draft is not None and draft.active and any(diff.field.container for diff in draft.sendable)
