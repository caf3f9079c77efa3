"""What happens to what is bound but no longer declared, and to the unmanaged where `prune: all` says so. Pure.

In: Desired, State, Actual, the drafts. Out: one `Removal` an address: forget, delete, or blocked. Absence that is not
proven removes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from reconciler.address import Address, bare
from reconciler.model import Actual, Binding, Blocked, Desired, Observed, State
from reconciler.model.codec import title
from reconciler.plan.drafts.drafts import Draft
from reconciler.plan.matching.match import Matches
from reconciler.plan.matching.natural_keys import listed
from reconciler.plan.matching.renames import stands_in
from reconciler.resource import Field, Kind, Kinds


@dataclass
class Removal:
    """One object that leaves.

    `delete`: it is deleted, else only forgotten. `covered_by`: the address whose delete takes it along, so that it sends nothing.
    `orphan`: the old object of a replacement. `reason`: one sentence. `behind`: what must be deleted before it.
    `settles`: where the service moves it in this run. `pruned`: nobody declared it, and `prune: all` deletes it.
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
    behind: tuple[Address, ...] = ()
    settles: Address | None = None
    fields: tuple[Field, ...] = field(default_factory=tuple)
    pruned: bool = False

    @property
    def active(self) -> bool:
        return self.blocked is None and self.deferred is None


def removals(
    kinds: Kinds, desired: Desired, state: State, actual: Actual, found: Matches, drafts: Mapping[Address, Draft]
) -> dict[Address, Removal]:
    """One removal an address that leaves, the old objects of replacements included."""
    made: dict[Address, Removal] = {}
    roots = {address for address in desired.resources if address.container is None}
    doubtful = {intent.address for intent in state.intents}
    claimed = {(kinds[desired.resources[address].kind].name, id) for address, id in found.ids.items()}
    for address, binding in state.bindings.items():
        if address in desired.resources:
            continue
        kind = kinds.get(binding.kind)
        if kind is None or (kind.name, binding.id) in claimed:
            made_kind = kind if kind is not None else kinds.roots[0]
            made[address] = Removal(address, made_kind, binding.id, False, "another address holds it now", binding=binding)
            continue
        made[address] = _undeclared(kinds, kind, desired, actual, found, address, binding, roots)
        hindered = found.former.hindered(address, stands_in(state.bindings, address))
        if hindered is not None:
            made[address].blocked = replace(hindered, address=address)
        if address in doubtful:
            made[address].blocked = Blocked(address, "a request of an earlier run is in doubt", "reconciler apply reads what became of it")
    for draft in drafts.values():
        if draft.old is not None and draft.active and draft.address.container is not None:
            orphan = draft.address.container.child(draft.kind.name, bare(draft.old.id))
            made[orphan] = Removal(
                orphan, draft.kind, draft.old.id, True, "replaced", draft.old, draft.binding, replaces=draft.address
            )  # fmt: skip
    _prune_unmanaged(kinds, desired, state, actual, found, drafts, made)
    held = {(kinds[desired.resources[address].kind].name, id) for address, id in found.ids.items()}
    for (name, id), meant in found.late.items():
        container = meant.container
        if (name, id) not in held and container in found.ids and "delete" in kinds[name].api:
            extra = container.child(name, bare(id))
            reason = f"made for {meant} by an earlier run, whose request came late"
            made[extra] = Removal(extra, kinds[name], id, True, reason, actual.find(name, id))
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
    elif binding.protected and (removed is None or removed.action == "forget"):
        removal.delete = True
        removal.blocked = Blocked(
            address,
            f"is no longer declared, and {kind.name} {title(observed)!r} is protected",
            f"to delete it, add to removed: {{address: {address}, action: delete}}; to let go of it, action: forget",
        )
    else:
        removal.delete = True
        removal.reason = "no longer declared" if removed is None else removed.says
    if removal.delete and removal.blocked is None and address in found.renamed:
        removal.reason += f" (was {found.renamed[address]})"
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
            address = container.child(name, bare(one.id))
            removal = Removal(address, kind, one.id, True, f"unmanaged, and prune says all {name}s", one, pruned=True)
            if name in desired.protect:
                removal.blocked = Blocked(
                    address, f"{name} {title(one)!r} is unmanaged and of a protected kind", f"take {name} out of protect:, or declare it"
                )
            made[address] = removal
