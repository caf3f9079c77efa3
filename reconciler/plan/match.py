"""Which object is which resource: by binding, by `id`, by natural key. Pure.

In: Desired, State, Actual. Out: the ids that are known, and for every address without one why. Nothing is bound here; an adoption is
something the plan says. May be called while Actual is still growing: it then knows fewer ids.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from reconciler.address import Address
from reconciler.model import Actual, Binding, Blocked, Declared, Desired, Observed, State
from reconciler.plan.claims import wrong_ids
from reconciler.plan.former import renames
from reconciler.plan.late import late, may_lag, stands_there
from reconciler.plan.sequence import by_reference, key_references
from reconciler.reading import title, wanted
from reconciler.resource import UNSET, Kind, Kinds, Listing


@dataclass
class Matches:
    """`ids`: every declared address whose object is known. `adopted`: those not bound yet.

    `gone`: bound, and proven away. `replaced`: what will be made anew, with the id it still has; it is not in `ids`. `leaving`: bound, no
    longer declared, and still there. `renamed`: address to the one it was bound under. `late`: (kind, id) of what requests
    made that were taken for lost, with their addresses; where nothing else has the address, it is in `adopted` too. `unknown`: nothing can
    be said, and why. `blocked`: a decision people must take.
    """

    ids: dict[Address, str] = field(default_factory=dict)
    adopted: set[Address] = field(default_factory=set)
    gone: set[Address] = field(default_factory=set)
    replaced: dict[Address, str] = field(default_factory=dict)
    leaving: dict[Address, str] = field(default_factory=dict)
    renamed: dict[Address, Address] = field(default_factory=dict)
    late: dict[tuple[str, str], Address] = field(default_factory=dict)
    unknown: dict[Address, str] = field(default_factory=dict)
    blocked: dict[Address, Blocked] = field(default_factory=dict)

    def id(self, address: Address) -> str | None:
        """The id of an object that is there, declared or leaving."""
        return self.ids.get(address, self.leaving.get(address))

    def binding(self, state: State, address: Address) -> Binding | None:
        """The binding of an address, under the name it had before where it was renamed."""
        return state.bindings.get(self.renamed.get(address, address))


def match(kinds: Kinds, desired: Desired, state: State, actual: Actual) -> Matches:
    """Find the object of every declared resource, each after its container and after what its natural key refers to."""
    found = Matches(renamed=renames(desired, state))
    former = set(found.renamed.values())
    taken = {  # what an undeclared root lets go of is free
        (binding.kind, binding.id) for address, binding in state.bindings.items() if address.root in desired.resources or address in former
    }
    wrong = wrong_ids(kinds, desired, state, actual, found.renamed)
    taken |= {(one.kind, one.id) for address, one in desired.resources.items() if one.id is not None and address not in wrong}
    index = _Index(kinds, actual)
    found.late = late(kinds, state, actual, taken)
    taken |= set(found.late)
    free = {address: id for (_, id), address in sorted(found.late.items(), reverse=True)}
    for declared in by_reference(kinds, desired):
        address, kind = declared.address, kinds[declared.kind]
        binding = found.binding(state, address)
        if binding is not None:
            _bound(kind, declared, binding, state, actual, found, index)
        elif address in wrong:
            found.blocked[address] = wrong[address]
        elif declared.id is not None:
            _by_id(kind, declared, state, actual, found, index)
        elif _container_known(kinds, address, found) and stands_there(kind, declared, free.get(address), actual, found.ids):
            found.ids[address] = free[address]
            found.adopted.add(address)
        elif _container_known(kinds, address, found):
            _by_key(kinds, kind, declared, state, actual, found, index, taken)
    _undeclared(kinds, desired, state, actual, found)
    return found


def _undeclared(kinds: Kinds, desired: Desired, state: State, actual: Actual, found: Matches) -> None:
    """What is bound and no longer declared: still there, or proven gone; containers first, and with them what goes along."""
    former, inner = set(found.renamed.values()), dict[Address, Address]()
    for address in sorted(state.bindings):
        binding = state.bindings[address]
        kind = kinds.get(binding.kind)
        if kind is None or address in desired.resources or address in former:
            continue
        container = address.container
        scope = found.id(container) if container is not None else None
        if actual.find(kind.name, binding.id) is not None:
            found.leaving[address] = binding.id
            continue
        unlisted = scope is not None and listed(kind) and (kind.name, scope) in actual.complete and not may_lag(state, address, actual)
        if unlisted or (kind.name, binding.id) in actual.absent or container in found.gone:
            found.gone.add(address)
        elif kind.inside is not None and kind.inside.cascade and binding.place is not None:
            inner[address] = Address.parse(binding.place.parent)
    while along := {address for address, parent in inner.items() if parent in found.gone} - found.gone:
        found.gone |= along


def scope_id(kinds: Kinds, address: Address, ids: Mapping[Address, str]) -> str | None:
    """The id of the fixed container of an address; "" for a root, None where it is not known."""
    return "" if address.container is None else ids.get(address.container)


def _container_known(kinds: Kinds, address: Address, found: Matches) -> bool:
    """Whether the fixed container exists already; what stands within one that does not, does not either."""
    container = address.container
    if container is None or container in found.ids:
        return True
    _waits(address, container, found)
    return False


def _waits(address: Address, container: Address, found: Matches) -> bool:
    """Note that nothing can be said of an address because nothing can be said of its container."""
    if container in found.blocked:
        outer = found.blocked[container]
        found.blocked[address] = Blocked(address, f"waits for {container}, which is blocked", outer.remedy, outer.source)
    elif container in found.unknown:
        found.unknown[address] = f"{container} is not known"
    else:
        return False
    return True


def listed(kind: Kind) -> bool:
    """Whether one listing of the container shows all objects of the kind."""
    return any(isinstance(reading, Listing) and reading.each is None and not reading.lister for reading in kind.reads)


class _Index:
    """Objects by natural key and by title, made once per kind that needs it."""

    def __init__(self, kinds: Kinds, actual: Actual) -> None:
        self.kinds, self.actual = kinds, actual
        self._keys: dict[str, dict[tuple[str, ...], list[Observed]]] = {}

    def complete(self, kind: Kind, scope: str) -> bool:
        return (kind.name, scope) in self.actual.complete

    def candidates(self, kind: Kind, fields: tuple[str, ...], values: tuple[object, ...]) -> list[Observed]:
        name = f"{kind.name}/{','.join(fields)}"
        if name not in self._keys:
            table: dict[tuple[str, ...], list[Observed]] = defaultdict(list)
            for one in self.actual.objects.get(kind.name, {}).values():
                if one.deleted_at is None:
                    table[tuple(repr(one.values.get(field, UNSET)) for field in fields)].append(one)
            self._keys[name] = table
        return self._keys[name].get(tuple(repr(value) for value in values), [])


def _bound(kind: Kind, declared: Declared, binding: Binding, state: State, actual: Actual, found: Matches, index: _Index) -> None:
    address = declared.address
    if declared.id is not None and declared.id != binding.id:
        found.blocked[address] = Blocked(
            address,
            f"is bound to {binding.id}, but the YAML says id {declared.id}",
            f"write the id it is bound to, or let go of that: reconciler state forget {address}",
            declared.source,
        )
        return
    container = address.container
    if container is not None and container not in found.ids:
        if not _waits(address, container, found):
            found.gone.add(address)
        return
    if actual.find(kind.name, binding.id) is not None:
        found.ids[address] = binding.id
    elif (kind.name, binding.id) in actual.absent:
        found.gone.add(address)
    elif listed(kind) and index.complete(kind, found.ids[container] if container else ""):
        if may_lag(state, binding.address, actual):
            found.unknown[address] = "it was written a moment ago, and the list may not show it yet"
        else:
            found.gone.add(address)
    else:
        found.unknown[address] = _why(kind, found.ids.get(container) if container else None, binding.id, actual)


def _theirs(declared: Declared, id: str, other: str) -> Blocked:
    """Why an object is left to the project that has it; roots alone may be shared, as the place where projects meet."""
    return Blocked(
        declared.address,
        f"{id} is bound by another project or environment of this state database",
        f"leave it to that one, or let it go there: reconciler state forget; {other}",
        declared.source,
    )


def _by_id(kind: Kind, declared: Declared, state: State, actual: Actual, found: Matches, index: _Index) -> None:
    address, container = declared.address, declared.address.container
    assert declared.id is not None
    scope = found.ids.get(container) if container is not None else ""
    if (kind.name, declared.id) in state.foreign and container is not None:
        found.blocked[address] = _theirs(declared, declared.id, "or take the id out")
    elif (one := actual.find(kind.name, declared.id)) is not None:
        if kind.within is not None and one.within.get(kind.within, scope) != scope:
            found.blocked[address] = Blocked(
                address, f"{declared.id} is not in {container}", "correct the id, or write it below what it stands in", declared.source
            )
            return
        found.ids[address] = declared.id
        found.adopted.add(address)
    elif (kind.name, declared.id) in actual.absent or (scope is not None and listed(kind) and index.complete(kind, scope)):
        found.blocked[address] = Blocked(
            address,
            f"there is no {kind.name} with the id {declared.id}" + (f" in {container}" if container else ""),
            "correct the id, or remove it" if "create" in kind.api else "correct the id",
            declared.source,
        )
    else:
        found.unknown[address] = _why(kind, scope or None, declared.id, actual)


def _by_key(
    kinds: Kinds, kind: Kind, declared: Declared, state: State, actual: Actual, found: Matches, index: _Index, taken: set[tuple[str, str]]
) -> None:
    address = declared.address
    scope = scope_id(kinds, address, found.ids) or ""
    if listed(kind) and not index.complete(kind, scope):
        found.unknown[address] = _why(kind, scope, None, actual)
        return
    values = wanted(kind, declared, found.ids)
    names = tuple(field.name for field in kind.keys)
    if any(_waits(address, at, found) for at in key_references(declared, names)):
        return
    sought = tuple(values.get(name, UNSET) for name in names)
    inside = kind.inside
    stands = values.get(inside.name) if inside is not None else None
    unread = None if listed(kind) else _unread(kind, {None, stands if isinstance(stands, str) else None}, None, actual)
    if unread is not None:
        found.unknown[address] = unread
        return
    if not names or UNSET in sought:
        return

    def free(candidates: list[Observed]) -> list[Observed]:
        return [
            one
            for one in candidates
            if (kind.name, one.id) not in taken and (address.container is None or one.within.get(kind.within or "") == scope)
        ]

    here = free(index.candidates(kind, names, sought))
    theirs = [] if declared.implied else [one for one in here if (kind.name, one.id) in state.foreign]
    here = [one for one in here if one not in theirs]
    if theirs and not here and declared.adopt:
        found.blocked[address] = _theirs(declared, theirs[0].id, "to make another one, write adopt: never")
        return
    if len(here) > 1:
        listing = ", ".join(f"{one.id} ({title(one)!r})" for one in here[:5]) + (" …" if len(here) > 5 else "")
        found.blocked[address] = Blocked(
            address,
            f"{len(here)} objects could be meant: {listing}",
            f"name one: reconciler adopt {address} ID",
            declared.source,
        )
        return
    if here and (declared.adopt or declared.implied):
        found.ids[address] = here[0].id
        found.adopted.add(address)
        taken.add((kind.name, here[0].id))
        return
    if here:
        return
    if declared.implied or "create" not in kind.api:
        key = declared.address.key
        found.blocked[address] = Blocked(
            address,
            f"there is no {kind.name} {key} in {address.container}",
            f"correct the key, or let {key} join first: a {kind.name} cannot be made here",
            declared.source,
        )
        return
    if inside is not None and inside.key and declared.adopt and inside.on_change == "send":
        rest = tuple(name for name in names if name != inside.name)
        candidates = free(index.candidates(kind, rest, tuple(values[name] for name in rest)))
        elsewhere = [one for one in candidates if (kind.name, one.id) not in state.foreign]
        if elsewhere:
            found.blocked[address] = Blocked(
                address,
                f"would be made, but {elsewhere[0].id} in another place is called {title(elsewhere[0])!r} too",
                f"if it is the same: reconciler adopt {address} {elsewhere[0].id}; if not, write adopt: never",
                declared.source,
            )


def _why(kind: Kind, scope: str | None, id: str | None, actual: Actual) -> str:
    return _unread(kind, {None, scope}, id, actual) or f"no reading showed whether it exists ({kind.name})"


def _unread(kind: Kind, scopes: Collection[str | None], id: str | None, actual: Actual) -> str | None:
    """Why nothing of the kind is known in one of the scopes, or of the object; None where their readings came to an end."""
    failed = (one for one in actual.unknown if one.kind == kind.name and (one.scope in scopes if one.id is None else one.id == id))
    return next((one.reason for one in failed), None)
