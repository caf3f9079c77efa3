"""Which object is which resource: by binding, by `id`, by natural key. Pure.

In: Desired, State, Actual. Out: the ids that are known, and for every address without one why. Nothing is bound here; an adoption is
something the plan says. May be called while Actual is still growing: it then knows fewer ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from reconciler.address import Address
from reconciler.model import Actual, Binding, Blocked, Declared, Desired, Origin, State
from reconciler.model.codec import holder
from reconciler.plan.drafts.restoration import deleted_before, match_deleted
from reconciler.plan.matching.claimed_ids import wrong_ids
from reconciler.plan.matching.late import late, may_lag, stands_there
from reconciler.plan.matching.natural_keys import Index, Natural, listed, waits, why
from reconciler.plan.matching.projects import Projects
from reconciler.plan.matching.renames import Former, follow
from reconciler.plan.matching.sequence import by_reference
from reconciler.resource import Kind, Kinds

REACHED: Final = 5  # ids that are named where one is wrong


@dataclass
class Matches:
    """`ids`: every declared address whose object is known. `adopted`: those not bound yet.

    `gone`: bound, and proven away. `recreated`: those, and what is deleted and could be restored, in whose place people created another
    object, which is in `ids`; with the id that was bound. `transferred`: those that are in another container now, with its id.
    `transfers`: those in `ids` that are still in the container which the YAML has them leave, with its id.
    `replaced`: what will be made anew, with the id it still has; it is not in `ids`. `leaving`: bound, no longer declared, and still
    there. `former`: the state under today's addresses, and what of it was renamed. `late`: (kind, id) of what requests made that were
    taken for lost, with their addresses; where nothing else has the address, it is in `adopted` too. `unknown`: nothing can be said, and
    why. `blocked`: a decision people must take.
    """

    former: Former
    ids: dict[Address, str] = field(default_factory=dict)
    adopted: set[Address] = field(default_factory=set)
    gone: set[Address] = field(default_factory=set)
    recreated: dict[Address, str] = field(default_factory=dict)
    transferred: dict[Address, str] = field(default_factory=dict)
    transfers: dict[Address, str] = field(default_factory=dict)
    replaced: dict[Address, str] = field(default_factory=dict)
    leaving: dict[Address, str] = field(default_factory=dict)
    late: dict[tuple[str, str], Address] = field(default_factory=dict)
    unknown: dict[Address, str] = field(default_factory=dict)
    blocked: dict[Address, Blocked] = field(default_factory=dict)

    def id(self, address: Address) -> str | None:
        """The id of an object that is there, declared or leaving."""
        return self.ids.get(address, self.leaving.get(address))

    @property
    def renamed(self) -> Mapping[Address, Address]:
        """Every address that changes now, with the one it had before."""
        return self.former.state.renamed

    def binding(self, address: Address) -> Binding | None:
        """The binding of an address, under the name it had before where it was renamed."""
        return self.former.state.bindings.get(address)


def match(kinds: Kinds, desired: Desired, state: State, actual: Actual, *, former: Former | None = None) -> Matches:
    """Find the object of every declared resource, each after its container and after what its natural key refers to.

    `former`: what became of the state's addresses, where that is known.
    """
    found = Matches(follow(kinds, desired, state) if former is None else former)
    state = found.former.state
    taken = {  # what an undeclared root lets go of is free
        (binding.kind, binding.id) for address, binding in state.bindings.items() if address.root in desired.resources
    }
    wrong = wrong_ids(kinds, desired, state, actual)
    taken |= {(one.kind, one.id) for address, one in desired.resources.items() if one.id is not None and address not in wrong}
    index = Index(kinds, actual)
    natural = Natural(kinds, state, actual, found, index, taken, Projects(desired, state))
    found.late = late(kinds, state, actual, taken)
    taken.update(found.late)
    free = {address: id for (_, id), address in sorted(found.late.items(), reverse=True)}
    for declared in by_reference(kinds, desired):
        address, kind = declared.address, kinds[declared.kind]
        binding = found.binding(address)
        if binding is not None:
            _bound(kind, declared, binding, state, actual, found, index)
            _created_again(kind, declared, binding, actual, found, natural)
        elif address in wrong:
            found.blocked[address] = wrong[address]
        elif declared.id is not None:
            _by_id(kind, declared, natural.projects, actual, found, index)
        elif _container_known(kinds, address, found) and stands_there(kind, declared, free.get(address), actual, found.ids):
            found.ids[address] = free[address]
            found.adopted.add(address)
        elif _container_known(kinds, address, found):
            _untracked(kind, declared, state, actual, natural)
    _undeclared(kinds, desired, state, actual, found)
    return found


def _untracked(kind: Kind, declared: Declared, state: State, actual: Actual, natural: Natural) -> None:
    """Restore what an earlier run deleted at the address, unless people created another in its place; else go by natural key."""
    found, id = natural.found, deleted_before(kind, declared, state)
    if id is None or (kind.name, id) in natural.taken or not match_deleted(kind, declared, id, actual, found):
        natural.find(kind, declared)
    elif declared.address in found.ids:
        natural.taken.add((kind.name, id))
        natural.beside(kind, declared, Binding(declared.address, kind.name, id, Origin.CREATED))


def _undeclared(kinds: Kinds, desired: Desired, state: State, actual: Actual, found: Matches) -> None:
    """What is bound and no longer declared: still there, or proven gone; containers first, and with them what goes along."""
    inner = dict[Address, Address]()
    for address in sorted(state.bindings):
        binding = state.bindings[address]
        kind = kinds.get(binding.kind)
        if kind is None or address in desired.resources:
            continue
        container = address.container
        scope = found.id(container) if container is not None else None
        now = actual.find(kind.name, binding.id)
        if now is not None and (scope is None or now.within.get(kind.within or "", scope) == scope):
            found.leaving[address] = binding.id
            continue
        if now is not None:
            found.gone.add(address)  # it is in another container now, and is left to whoever manages that
            continue
        unlisted = scope is not None and listed(kind) and (kind.name, scope) in actual.complete and not may_lag(state, address, actual)
        if unlisted or (kind.name, binding.id) in actual.absent or container in found.gone:
            found.gone.add(address)
        elif kind.inside is not None and kind.inside.cascade and binding.place is not None:
            inner[address] = Address.parse(binding.place.parent)
    while along := {address for address, parent in inner.items() if parent in found.gone} - found.gone:
        found.gone |= along


def _container_known(kinds: Kinds, address: Address, found: Matches) -> bool:
    """Whether the fixed container exists already; what stands within one that does not, does not either."""
    container = address.container
    if container is None or container in found.ids:
        return True
    waits(address, container, found)
    return False


def _bound(kind: Kind, declared: Declared, binding: Binding, state: State, actual: Actual, found: Matches, index: Index) -> None:
    address = declared.address
    if declared.id is not None and declared.id != binding.id:
        found.blocked[address] = Blocked(
            address,
            f"tracks {binding.id}, but the YAML says id {declared.id}",
            f"write the tracked id, or stop managing that object: reconciler state forget {address}",
            declared.source,
            id="RC-another-id-declared",
        )
        return
    container = address.container
    if container is not None and container not in found.ids:
        if not waits(address, container, found):
            found.gone.add(address)
        return
    now = actual.find(kind.name, binding.id)
    at = now.within.get(kind.within or "") if now is not None else actual.elsewhere.get((kind.name, binding.id))
    if container is not None and at is not None and at != found.ids[container]:
        origin = found.former.origin(address) if kind.transferable is not None and now is not None else None
        if origin is not None and found.ids.get(origin) == at:
            found.ids[address] = binding.id
            found.transfers[address] = at
            return
        if origin is not None and origin not in found.ids and waits(address, origin, found):
            return
        found.transferred[address] = at
        found.gone.add(address)
    elif now is not None:
        found.ids[address] = binding.id
    elif (kind.name, binding.id) in actual.absent:
        found.gone.add(address)
    elif _unlisted(kind, declared, binding, found, index):
        if may_lag(state, binding.address, actual):
            found.unknown[address] = "it was written a moment ago, and the list may not show it yet"
        else:
            found.gone.add(address)
    else:
        found.unknown[address] = why(kind, found.ids.get(container) if container else None, binding.id, actual)


def _unlisted(kind: Kind, declared: Declared, binding: Binding, found: Matches, index: Index) -> bool:
    """Whether a listing came to its end that would show the object of a resource, and did not."""
    container, shown = declared.address.container, holder(kind, declared, binding, found.ids)
    if isinstance(shown, Address):
        return shown not in found.unknown and shown not in found.blocked  # what fills the listing does not exist
    scope = shown if shown is not None else (found.ids[container] if container is not None else "")
    return (listed(kind) or shown is not None) and index.complete(kind, scope)


def _created_again(kind: Kind, declared: Declared, binding: Binding, actual: Actual, found: Matches, natural: Natural) -> None:
    """Where a tracked object is gone for certain, or deleted: look for the one that people created in its place."""
    address, container = declared.address, declared.address.container
    now = actual.find(kind.name, binding.id)
    if address in found.ids and now is not None and now.deleted_at is not None:
        natural.beside(kind, declared, binding)
    elif address in found.gone and (container is None or container in found.ids) and not declared.implied:
        natural.again(kind, declared, binding)
        if address in found.transferred and address not in found.ids and address not in found.blocked:
            where = found.transferred[address]
            root = next((other for other in found.ids if other.container is None and found.ids[other] == where), None)
            there = address.renamed(address.root, root) if root is not None and kind.transferable is not None else None
            line = f" as {there}, with {moved_line(address, there)}" if there is not None else ""
            found.blocked[address] = Blocked(
                address,
                f"{binding.id} belongs to another {kind.within} now ({where})",
                f"declare it there{line}, or stop managing it: reconciler state forget {address}",
                declared.source,
                id="RC-in-another-container",
            )


def moved_line(old: Address, new: Address) -> str:
    """The line of the YAML that says that an object goes from one address to another."""
    return f"moved: [{{from: {old}, to: {new}}}]"


def _by_id(kind: Kind, declared: Declared, projects: Projects, actual: Actual, found: Matches, index: Index) -> None:
    address, container = declared.address, declared.address.container
    assert declared.id is not None
    scope = found.ids.get(container) if container is not None else ""
    if container is not None and scope is None and waits(address, container, found):
        return
    if (kind.name, declared.id) in projects.state.foreign and container is not None:
        found.blocked[address] = projects.theirs(declared, declared.id, "or remove the id", found.ids)
    elif (one := actual.find(kind.name, declared.id)) is not None:
        if kind.within is not None and one.within.get(kind.within, scope) != scope:
            found.blocked[address] = Blocked(
                address,
                f"{declared.id} is not in {container}",
                "correct the id, or declare it in its container",
                declared.source,
                id="RC-in-another-container",
            )
            return
        found.ids[address] = declared.id
        found.adopted.add(address)
    elif (kind.name, declared.id) in actual.absent or (scope is not None and listed(kind) and index.complete(kind, scope)):
        found.blocked[address] = Blocked(
            address,
            f"no {kind.name} has the id {declared.id}" + (f" in {container}" if container else ""),
            _other_id(kind, actual),
            declared.source,
            id="RC-no-such-object",
        )
    else:
        found.unknown[address] = why(kind, scope or None, declared.id, actual)


def _other_id(kind: Kind, actual: Actual) -> str:
    """What to do about an id that nothing has."""
    if "create" in kind.api:
        return "correct the id, or remove it"
    within_reach = actual.within_reach.get(kind.name)
    if within_reach is None:
        return "correct the id"
    if not within_reach:
        return f"correct the id, or use another token: this one has access to no {kind.name}"
    more = f" and {len(within_reach) - REACHED:,} more" if len(within_reach) > REACHED else ""
    return f"correct the id: the token has access to {', '.join(within_reach[:REACHED])}{more}"
