"""Natural keys: which unmanaged object is a resource that neither a binding nor an id names. Pure.

In: one declared resource, what is matched already, Actual. Out: noted in Matches: its object, why that cannot be said, or a decision for
people. What was not seen is not absent: where no reading would have shown it, nothing is created.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from reconciler.address import Address
from reconciler.model import Actual, Binding, Blocked, Declared, Observed, State, waiting
from reconciler.model.codec import comparable, holder, title, wanted
from reconciler.plan.matching.projects import Projects
from reconciler.plan.matching.sequence import key_references
from reconciler.resource import UNSET, Kind, Kinds
from reconciler.text.suggest import a

if TYPE_CHECKING:
    from reconciler.plan.matching.match import Matches


def listed(kind: Kind) -> bool:
    """Whether one listing of the container shows all objects of the kind."""
    return bool(kind.whole_listings)


def scope_id(kinds: Kinds, address: Address, ids: Mapping[Address, str]) -> str | None:
    """The id of the fixed container of an address; "" for a root, None where it is not known."""
    return "" if address.container is None else ids.get(address.container)


def waits(address: Address, container: Address, found: Matches) -> bool:
    """Note that nothing can be said of an address because nothing can be said of its container."""
    if container in found.blocked:
        outer = found.blocked[container]
        found.blocked[address] = waiting(address, outer, outer.source)
    elif container in found.unknown:
        found.unknown[address] = f"{container} could not be read"
    else:
        return False
    return True


class Index:
    """Objects by container and natural key, made once per kind that needs it: the same title may be in thousands of containers."""

    def __init__(self, kinds: Kinds, actual: Actual) -> None:
        self.kinds, self.actual = kinds, actual
        self._keys: dict[str, dict[tuple[str | None, ...], list[Observed]]] = {}

    def complete(self, kind: Kind, scope: str) -> bool:
        return (kind.name, scope) in self.actual.complete

    def candidates(self, kind: Kind, scope: str, fields: tuple[str, ...], values: tuple[object, ...]) -> list[Observed]:
        """What is in the container with that id ("" for a root) and has these values."""
        name = f"{kind.name}/{','.join(fields)}"
        if name not in self._keys:
            table: dict[tuple[str | None, ...], list[Observed]] = defaultdict(list)
            for one in self.actual.objects.get(kind.name, {}).values():
                if one.deleted_at is None:
                    container = one.within.get(kind.within) if kind.within is not None else ""
                    table[(container, *(comparable(one.values.get(field, UNSET)) for field in fields))].append(one)
            self._keys[name] = table
        return self._keys[name].get((scope, *(comparable(value) for value in values)), [])


class Natural:
    """The search by natural key of one matching. `taken`: (kind, id) of what has an address already; it grows."""

    def __init__(
        self, kinds: Kinds, state: State, actual: Actual, found: Matches, index: Index, taken: set[tuple[str, str]], projects: Projects
    ) -> None:
        self.kinds, self.state, self.actual, self.found, self.index, self.taken = kinds, state, actual, found, index, taken
        self.projects = projects

    def find(self, kind: Kind, declared: Declared) -> None:
        """Adopt the one object that a resource without a binding can be, or note why none is."""
        if not self._settled(kind, declared) and not declared.implied and "create" in kind.api:
            self._unseen(kind, declared)
        elif declared.address not in self.found.ids and (declared.implied or "create" not in kind.api):
            self._cannot_be_made(kind, declared)

    def again(self, kind: Kind, declared: Declared, binding: Binding) -> None:
        """Adopt the one object that was created in place of a tracked one that is gone for certain, or note why none may be created."""
        if declared.id is None and declared.adopt and not self._settled(kind, declared, binding) and "create" in kind.api:
            self._unseen(kind, declared)

    def beside(self, kind: Kind, declared: Declared, binding: Binding) -> None:
        """Adopt the one object that was created in place of a tracked one that is deleted and can still be restored."""
        here = self._here(kind, declared) if declared.id is None and declared.adopt else None
        if here is not None and here[0]:
            self._decide(kind, declared, *here, binding)

    # -- what is seen --------------------------------------------------------------------------------------------------------------

    def _settled(self, kind: Kind, declared: Declared, binding: Binding | None = None) -> bool:
        """Whether something is noted: the object, that it is not known, or a decision for people."""
        address, found = declared.address, self.found
        scope = scope_id(self.kinds, address, found.ids) or ""
        if listed(kind) and not self.index.complete(kind, scope):
            found.unknown[address] = why(kind, scope, None, self.actual)
            return True
        shown = holder(kind, declared, binding, found.ids)
        if isinstance(shown, str) and not self.index.complete(kind, shown):
            found.unknown[address] = why(kind, shown, None, self.actual)
            return True
        if any(waits(address, at, found) for at in key_references(declared, tuple(field.name for field in kind.keys))):
            return True
        stands = self._parent(kind, declared)
        missing = None if listed(kind) else unread(kind, {None, stands if isinstance(stands, str) else None}, None, self.actual)
        if missing is not None:
            found.unknown[address] = missing
            return True
        here = self._here(kind, declared)
        if here is None or here[0] or not here[1]:
            tracked = None if binding is not None or "create" not in kind.api else self.projects.block(declared, found.ids)
            if tracked is not None:
                found.blocked[address] = tracked
                return True
        return here is None or self._decide(kind, declared, *here, binding)

    def _parent(self, kind: Kind, declared: Declared) -> object:
        """What it is declared to stand in, where that may change: an id, an address that has none yet, None for the root."""
        return wanted(kind, declared, self.found.ids).get(kind.inside.name) if kind.inside is not None else None

    def _here(self, kind: Kind, declared: Declared) -> tuple[list[Observed], list[Observed]] | None:
        """The objects with the natural key, where it is declared: free ones, and other projects'. None where it has no such key."""
        values = wanted(kind, declared, self.found.ids)
        names = tuple(field.name for field in kind.keys)
        sought = tuple(values.get(name, UNSET) for name in names)
        if (not names and not kind.one_per) or UNSET in sought:
            return None
        here = self._free(kind, declared, names, sought)
        others = [] if declared.implied else [one for one in here if (kind.name, one.id) in self.state.foreign]
        return [one for one in here if one not in others], others

    def _free(self, kind: Kind, declared: Declared, names: tuple[str, ...], values: tuple[object, ...]) -> list[Observed]:
        scope = scope_id(self.kinds, declared.address, self.found.ids) or ""
        candidates = self.index.candidates(kind, scope, names, values)
        return sorted(
            (candidate for candidate in candidates if (kind.name, candidate.id) not in self.taken), key=lambda candidate: candidate.id
        )

    # -- what follows --------------------------------------------------------------------------------------------------------------

    def _decide(self, kind: Kind, declared: Declared, here: list[Observed], others: list[Observed], binding: Binding | None) -> bool:
        address, found = declared.address, self.found
        if others and not here and declared.adopt:
            found.blocked[address] = self.projects.theirs(declared, others[0].id, "to create another, write adopt: never", found.ids)
        elif len(here) > 1:
            listing = ", ".join(f"{one.id} ({title(one)!r})" for one in here[:5]) + (" …" if len(here) > 5 else "")
            forget = f"reconciler state forget {address}, then " if binding is not None else ""
            found.blocked[address] = Blocked(
                address,
                f"{len(here)} objects match: {listing}",
                f"choose one: {forget}reconciler adopt {address} ID",
                declared.source,
                id="RC-several-match",
            )
        elif here and (declared.adopt or declared.implied):
            found.ids[address] = here[0].id
            found.adopted.add(address)
            self.taken.add((kind.name, here[0].id))
            if binding is not None:
                found.recreated[address] = binding.id
        else:
            return bool(here)
        return True

    def _cannot_be_made(self, kind: Kind, declared: Declared) -> None:
        if declared.address in self.found.unknown or declared.address in self.found.blocked:
            return
        key = declared.address.key
        self.found.blocked[declared.address] = Blocked(
            declared.address,
            f"{kind.name} {key} does not exist in {declared.address.container}",
            f"correct the key, or let {key} join first: {a(kind.name)} cannot be created",
            declared.source,
            id="RC-must-join-first",
        )

    def _unseen(self, kind: Kind, declared: Declared) -> None:
        """Note why something that no reading showed must not be created: it stands elsewhere, or no reading would have shown it."""
        address, inside = declared.address, kind.inside
        other = self.actual.elsewhere.get((kind.name, str(declared.values.get(kind.id_is))))
        if other is not None:
            says = f"{kind.id_is} {declared.values[kind.id_is]} belongs to another {kind.within} ({other})"
            self.found.blocked[address] = Blocked(
                address, says, f"choose another {kind.id_is}", declared.source, id="RC-name-taken-elsewhere"
            )
        if inside is None or not inside.key or not declared.adopt:
            return
        values = wanted(kind, declared, self.found.ids)
        if inside.on_change == "send":
            rest = tuple(field.name for field in kind.keys if field.name != inside.name)
            candidates = self._free(kind, declared, rest, tuple(values.get(name, UNSET) for name in rest))
            elsewhere = [one for one in candidates if (kind.name, one.id) not in self.state.foreign]
            if elsewhere:
                self.found.blocked[address] = Blocked(
                    address,
                    f"would be created, but {elsewhere[0].id} in another location is called {title(elsewhere[0])!r} too",
                    f"if it is the same object: reconciler adopt {address} {elsewhere[0].id}; if not, write adopt: never",
                    declared.source,
                    id="RC-may-exist-elsewhere",
                )
                return
        scope = scope_id(self.kinds, address, self.found.ids) or ""
        stands = values.get(inside.name)
        if listed(kind) or self.index.complete(kind, scope):
            return
        if isinstance(stands, str) and not self.index.complete(kind, stands):
            self.found.unknown[address] = why(kind, stands, None, self.actual)
        elif stands is None:
            reason = unread(kind, {scope}, None, self.actual)
            self.found.blocked[address] = Blocked(
                address,
                f"may exist already: no reading shows every {kind.name} of {address.container}" + (f" ({reason})" if reason else ""),
                "set service.member to an admin with access to all of them; if it does not exist, write adopt: never",
                declared.source,
                id="RC-may-exist-unseen",
            )


def why(kind: Kind, scope: str | None, id: str | None, actual: Actual) -> str:
    return unread(kind, {None, scope}, id, actual) or f"it could not be read whether it exists ({kind.name})"


def unread(kind: Kind, scopes: Collection[str | None], id: str | None, actual: Actual) -> str | None:
    """Why nothing of the kind is known in one of the scopes, or of the object; None where their readings came to an end."""
    failed = (one for one in actual.unknown if one.kind == kind.name and (one.scope in scopes if one.id is None else one.id == id))
    return next((one.reason for one in failed), None)
