"""Natural keys: which unmanaged object is a resource that neither a binding nor an id names. Pure.

In: one declared resource, what is matched already, Actual. Out: its object, why it is unknown, or a decision for people. An object that was
not seen may exist: where no reading would have shown it, nothing is created.

Names are compared in the form that services keep (`text.names.canonical`): a service that trims a title shows another one than it was sent.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from reconciler.address import Address, bare
from reconciler.model import Actual, Binding, Blocked, Declared, Desired, Observed, State, waiting
from reconciler.model.codec import comparable, holder, is_chosen_name, request, title, unresolved_addresses, why_unreadable
from reconciler.plan.matching.claims import Projects
from reconciler.plan.matching.matches import NOTHING, Match, Matches
from reconciler.resource import UNSET, Field, Kind, Kinds
from reconciler.text.names import a, canonical

Name = tuple[Address | str | None, ...]
"""The container of a resource and its natural key, as services compare them."""


def listed(kind: Kind) -> bool:
    """Whether one listing of the container shows all objects of the kind."""
    return bool(kind.whole_listings)


def scope_id(kinds: Kinds, address: Address, ids: Mapping[Address, str]) -> str | None:
    """The id of the fixed container of an address; "" for a root, None where it is not known."""
    return "" if address.container is None else ids.get(address.container)


def waits(address: Address, container: Address, known: Matches) -> Match | None:
    """The match of an address whose container is unknown; None where the container is known."""
    outer = known[container].blocked
    if outer is not None:
        return Match(blocked=waiting(address, outer, outer.source))
    return Match(unknown=f"{container} could not be read") if known[container].unknown is not None else None


class Natural:
    """The search by natural key of one matching. `known`: what is matched already; `taken`: (kind, id) of what has an address."""

    def __init__(
        self, kinds: Kinds, state: State, actual: Actual, known: Matches, taken: Collection[tuple[str, str]], projects: Projects
    ) -> None:
        self.kinds, self.state, self.actual, self.known, self.taken, self.projects = kinds, state, actual, known, taken, projects
        # Objects and resources by container and natural key, each built once for a kind: thousands of containers may have the same title.
        self._keys: dict[str, dict[tuple[str | None, ...], list[Observed]]] = {}
        self._declared: dict[str, dict[Name, list[Declared]]] = {}
        self._altered_names: dict[str, AlteredNames] = {}

    def find(self, kind: Kind, declared: Declared) -> Match:
        """The one object that an untracked resource can be, or why there is none."""
        creatable = not declared.implied and "create" in kind.api
        settled = self._settled(kind, declared)
        if creatable:
            return settled if settled is not None else (self._altered(kind, declared) or self._unseen(kind, declared))
        match = settled if settled is not None else NOTHING
        unexplained = match.id is None and match.unknown is None and match.blocked is None
        return Match(blocked=_cannot_be_made(kind, declared)) if unexplained else match

    def again(self, kind: Kind, declared: Declared, binding: Binding) -> Match:
        """The one object that was created in place of a tracked one that certainly no longer exists, or why none may be created."""
        if declared.id is not None or not declared.adopt:
            return NOTHING
        settled = self._settled(kind, declared, binding)
        if settled is not None:
            return settled
        return self._unseen(kind, declared) if "create" in kind.api else NOTHING

    def beside(self, kind: Kind, declared: Declared, binding: Binding) -> Match:
        """The one object that was created in place of a tracked one that is deleted and can still be restored."""
        objects = self._matching_objects(kind, declared, binding) if declared.id is None and declared.adopt else None
        return (self._decide(kind, declared, *objects, binding) if objects is not None and objects[0] else None) or NOTHING

    # -- what is seen --------------------------------------------------------------------------------------------------------------

    def _settled(self, kind: Kind, declared: Declared, binding: Binding | None = None) -> Match | None:
        """The object, that it is unknown, or a decision for people; None where no object that was seen can be it."""
        address, known = declared.address, self.known
        scope = scope_id(self.kinds, address, known.ids) or ""
        if listed(kind) and (kind.name, scope) not in self.actual.complete:
            return Match(unknown=why(kind, scope, None, self.actual))
        shown = holder(kind, declared, binding, known.ids)
        if isinstance(shown, str) and (kind.name, shown) not in self.actual.complete:
            return Match(unknown=why(kind, shown, None, self.actual))
        for reference in key_references(declared, tuple(field.name for field in kind.keys)):
            if (waiting_for := waits(address, reference, known)) is not None:
                return waiting_for
        # The node that it is declared in: an id, or an address without an id yet.
        node = self._identifying(kind, declared).get(kind.inside.name) if kind.inside is not None else None
        missing = None if listed(kind) else unread(kind, {None, node if isinstance(node, str) else None}, None, self.actual)
        if missing is not None:
            return Match(unknown=missing)
        objects = self._matching_objects(kind, declared, binding)
        if objects is None or objects[0] or not objects[1]:
            tracked = None if binding is not None or "create" not in kind.api else self.projects.block(declared, known.ids)
            if tracked is not None:
                return Match(blocked=tracked)
        return NOTHING if objects is None else self._decide(kind, declared, *objects, binding)

    def _identifying(self, kind: Kind, declared: Declared) -> dict[str, Any]:
        """The request form of the fields by which it is found: those of its natural key, and the node that it is in."""
        fields = kind.keys if kind.inside is None or kind.inside.key else (*kind.keys, kind.inside)
        values = declared.values
        return {field.name: request(field, values[field.name], self.known.ids) for field in fields if field.name in values}

    def _matching_objects(self, kind: Kind, declared: Declared, binding: Binding | None) -> tuple[list[Observed], list[Observed]] | None:
        """The objects with the natural key in the declared location: (free ones, other projects'). None where the resource has no such key.

        `binding`: the object that they may replace, which is left out.
        """
        values = self._identifying(kind, declared)
        names = tuple(field.name for field in kind.keys)
        sought = tuple(values.get(name, UNSET) for name in names)
        if (not names and not kind.one_per) or UNSET in sought:
            return None
        objects = [candidate for candidate in self._free(kind, declared, names, sought) if binding is None or candidate.id != binding.id]
        others = [] if declared.implied else [candidate for candidate in objects if (kind.name, candidate.id) in self.state.foreign]
        return [candidate for candidate in objects if candidate not in others], others

    def _free(self, kind: Kind, declared: Declared, names: tuple[str, ...], values: tuple[object, ...]) -> list[Observed]:
        scope = scope_id(self.kinds, declared.address, self.known.ids) or ""
        candidates = self._candidates(kind, scope, names, values)
        return sorted(
            (candidate for candidate in candidates if (kind.name, candidate.id) not in self.taken), key=lambda candidate: candidate.id
        )

    def _candidates(self, kind: Kind, scope: str, fields: tuple[str, ...], values: tuple[object, ...]) -> list[Observed]:
        """What is in the container with that id ("" for a root) and has these values."""
        name = f"{kind.name}/{','.join(fields)}"
        if name not in self._keys:
            table: dict[tuple[str | None, ...], list[Observed]] = defaultdict(list)
            for observed in self.actual.objects.get(kind.name, {}).values():
                if observed.deleted_at is None:
                    container = observed.within.get(kind.within) if kind.within is not None else ""
                    key = (comparable(kind.fields[field], observed.values.get(field, UNSET)) for field in fields)
                    table[(container, *key)].append(observed)
            self._keys[name] = table
        key = (comparable(kind.fields[field], value) for field, value in zip(fields, values, strict=True))
        return self._keys[name].get((scope, *key), [])

    def _rivals(self, kind: Kind, declared: Declared) -> list[Declared]:
        """The other resources that may be the same object: their names differ from this one's only in what services normalize."""
        alike = self._alike(kind, declared)
        return [resource for resource in alike if any(resource.values.get(key.name) != declared.values.get(key.name) for key in kind.keys)]

    def _alike(self, kind: Kind, declared: Declared) -> list[Declared]:
        """The resources with its natural key that are neither tracked nor have an id, itself among them."""
        if kind.name not in self._declared:
            table: dict[Name, list[Declared]] = defaultdict(list)
            for resource in self.projects.desired.resources.values():
                tracked = resource.address in self.state.bindings or resource.id is not None
                if resource.kind == kind.name and resource.adopt and not (tracked or resource.implied):
                    table[_name(kind, resource)].append(resource)
            self._declared[kind.name] = table
        return self._declared[kind.name].get(_name(kind, declared), [])

    # -- what follows --------------------------------------------------------------------------------------------------------------

    def _decide(
        self, kind: Kind, declared: Declared, objects: list[Observed], others: list[Observed], binding: Binding | None
    ) -> Match | None:
        """The one of these objects that it is, or a decision for people; None where it is none of them and it may be created."""
        address, objects = declared.address, self._in_its_place(kind, declared, objects)
        unclear = next((candidate for candidate in objects if candidate.unreadable), None)
        if unclear is not None:
            return Match(unknown=why_unreadable(unclear))
        if others and not objects and declared.adopt:
            theirs = self.projects.theirs(declared, others[0].id, "to create another, write adopt: never", self.known.ids)
            return Match(blocked=theirs)
        if len(objects) > 1:
            listing = ", ".join(f"{candidate.id} ({title(candidate)!r})" for candidate in objects[:5]) + (" …" if len(objects) > 5 else "")
            forget = f"reconciler state forget {address:sh}, then " if binding is not None else ""
            blocked = Blocked(
                address,
                f"{len(objects)} objects match: {listing}",
                f"choose one: {forget}reconciler adopt {address:sh} ID",
                declared.source,
                id="RC-several-match",
            )
            return Match(blocked=blocked)
        rivals = self._rivals(kind, declared) if objects and declared.adopt and not declared.implied else []
        if rivals:
            names = " and ".join(f"{rival.address} ({rival.source.file_and_line})" for rival in rivals[:5])
            blocked = Blocked(
                address,
                f"{bare(objects[0].id)} ({title(objects[0])!r}) matches it and {names}: their names differ only in what services normalize",
                f"choose one: reconciler adopt {address:sh} {bare(objects[0].id)}, or give one of them another name",
                declared.source,
                id="RC-matches-several",
            )
            return Match(blocked=blocked)
        if objects and (declared.adopt or declared.implied):
            return Match(id=objects[0].id, adopted=True, recreated=binding.id if binding is not None else None)
        return NOTHING if objects else None

    def _in_its_place(self, kind: Kind, declared: Declared, objects: list[Observed]) -> list[Observed]:
        """The objects among which it is: those in its place, else those that are not in the place of another resource with the same key."""
        inside = kind.tells_apart
        if inside is None or not objects:
            return objects
        place = self._place(inside, declared)
        own = [observed for observed in objects if observed.values.get(inside.name) == place]
        if own or declared.implied or not declared.adopt:
            return own or objects
        others = {self._place(inside, resource) for resource in self._alike(kind, declared)} - {place}
        return [observed for observed in objects if observed.values.get(inside.name) not in others]

    def _place(self, inside: Field, declared: Declared) -> Any:
        """The id of the node that a resource is declared in, or its address where it has none yet; None outside of all."""
        return request(inside, declared.values.get(inside.name), self.known.ids)

    def _altered(self, kind: Kind, declared: Declared) -> Match | None:
        """Why nothing is created beside an object that may be the resource under an altered name; None where there is none."""
        if kind.name not in self._altered_names:
            self._altered_names[kind.name] = AlteredNames(kind, self.projects.desired, self.actual)
        address = declared.address
        scope = scope_id(self.kinds, address, self.known.ids) or ""
        if declared.adopt:
            for observed in self._altered_names[kind.name].of(scope, declared):
                if (kind.name, observed.id) in self.taken or (kind.name, observed.id) in self.state.foreign:
                    continue
                blocked = Blocked(
                    address,
                    f"would be created, but {bare(observed.id)} is called {title(observed)!r}, which a service may have made of its name",
                    f"if it is the same object: reconciler adopt {address:sh} {bare(observed.id)}; if not, write adopt: never",
                    declared.source,
                    id="RC-may-exist-altered",
                )
                return Match(blocked=blocked)
        return None

    def _unseen(self, kind: Kind, declared: Declared) -> Match:
        """Why an object that no reading showed must not be created: it is in another location, or no reading would have shown it."""
        address, inside = declared.address, kind.inside
        name = declared.values.get(kind.id_is)
        other = self.actual.elsewhere.get((kind.name, str(name)))
        elsewhere = NOTHING
        if other is not None:
            says = f"{kind.id_is} {name} belongs to another {kind.within} ({other})"
            elsewhere = Match(blocked=Blocked(address, says, f"choose another {kind.id_is}", declared.source, id="RC-name-taken-elsewhere"))
        if inside is None or not inside.key or not declared.adopt:
            return elsewhere
        values = self._identifying(kind, declared)
        if inside.on_change == "send":
            rest = tuple(field.name for field in kind.keys if field.name != inside.name)
            candidates = self._free(kind, declared, rest, tuple(values.get(name, UNSET) for name in rest))
            same = [candidate for candidate in candidates if (kind.name, candidate.id) not in self.state.foreign]
            if same:
                blocked = Blocked(
                    address,
                    f"would be created, but {same[0].id} in another location is called {title(same[0])!r} too",
                    f"if it is the same object: reconciler adopt {address:sh} {same[0].id}; if not, write adopt: never",
                    declared.source,
                    id="RC-may-exist-elsewhere",
                )
                return Match(blocked=blocked)
        scope = scope_id(self.kinds, address, self.known.ids) or ""
        node = values.get(inside.name)
        if listed(kind) or (kind.name, scope) in self.actual.complete:
            return elsewhere
        if isinstance(node, str) and (kind.name, node) not in self.actual.complete:
            return elsewhere._replace(unknown=why(kind, node, None, self.actual))
        if node is not None:
            return elsewhere
        reason = unread(kind, {scope}, None, self.actual)
        blocked = Blocked(
            address,
            f"may exist already: no reading shows every {kind.name} of {address.container}" + (f" ({reason})" if reason else ""),
            "set service.member to an admin with access to all of them; if it does not exist, write adopt: never",
            declared.source,
            id="RC-may-exist-unseen",
        )
        return Match(blocked=blocked)


def _cannot_be_made(kind: Kind, declared: Declared) -> Blocked:
    key = declared.address.key
    return Blocked(
        declared.address,
        f"{kind.name} {key} does not exist in {declared.address.container}",
        f"correct the key, or let {key} join first: {a(kind.name)} cannot be created",
        declared.source,
        id="RC-must-join-first",
    )


def why(kind: Kind, scope: str | None, id: str | None, actual: Actual) -> str:
    return unread(kind, {None, scope}, id, actual) or f"it could not be read whether it exists ({kind.name})"


def unread(kind: Kind, scopes: Collection[str | None], id: str | None, actual: Actual) -> str | None:
    """Why nothing of the kind is known in one of the scopes, or of the object; None where they were read completely."""
    failed = (
        unknown
        for unknown in actual.unknown
        if unknown.kind == kind.name and (unknown.scope in scopes if unknown.id is None else unknown.id == id)
    )
    return next((unknown.reason for unknown in failed), None)


# -- the order in which resources are matched --------------------------------------------------------------------------------------


def by_reference(kinds: Kinds, desired: Desired) -> Iterable[Declared]:
    """Every declared resource once, the roots first: an object may be in another one than its address says. The order of Desired is kept
    where references allow it; a cycle of references is broken."""
    keys = {name: tuple(field.name for field in kind.keys) for name, kind in kinds.items()}
    places = _places(kinds, desired)
    resources = desired.resources
    opened: set[Address] = set()
    done = {address for address in resources if address.container is None}
    yield from [declared for address, declared in resources.items() if address in done]
    for start in resources.values():
        container, names = start.address.container, keys[start.kind]
        if start.address in done:
            continue
        is_waiting = start.kind in places or any(True for name in names for _ in unresolved_addresses(start.values.get(name)))
        if not is_waiting and (container is None or container in done):
            done.add(start.address)  # as for nearly all: it waits for nothing
            yield start
            continue
        waiting = [start]
        while waiting:
            declared = waiting[-1]
            again = declared.address in opened
            references = () if again else _references(kinds, declared, keys[declared.kind], places)
            ahead = [at for at in references if at in resources and at not in done]
            opened.add(declared.address)
            if ahead:
                waiting += [resources[at] for at in reversed(ahead)]
                continue
            waiting.pop()
            if declared.address not in done:
                done.add(declared.address)
                yield declared


Places = Mapping[str, dict[Name, list[Address]]]
"""By kind and natural key: the nodes in which the resources with that key are declared."""


def _places(kinds: Kinds, desired: Desired) -> Places:
    """The nodes that tell objects with the same natural key apart, for the kinds whose key does not contain it."""
    found: dict[str, dict[Name, list[Address]]] = {kind.name: defaultdict(list) for kind in kinds.values() if kind.tells_apart is not None}
    for resource in desired.resources.values():
        kind = kinds[resource.kind]
        if kind.tells_apart is not None:
            found[kind.name][_name(kind, resource)] += unresolved_addresses(resource.values.get(kind.tells_apart.name))
    return found


def _name(kind: Kind, declared: Declared) -> Name:
    return declared.address.container, *(comparable(key, declared.values.get(key.name, UNSET)) for key in kind.keys)


def _references(kinds: Kinds, declared: Declared, names: Iterable[str], places: Places) -> Iterable[Address]:
    """What must be known before its object is looked for: also where the others with the same key are, which could be that object."""
    alike, references = places.get(declared.kind), key_references(declared, names)
    # Taken away: once they are known, the others with the same key need not wait for them again.
    return references if alike is None else [*references, *alike.pop(_name(kinds[declared.kind], declared), ())]


def key_references(declared: Declared, names: Iterable[str]) -> list[Address]:
    """The addresses that must be known before the natural key of a resource is: its container and what the key fields refer to."""
    references = [address for name in names for address in unresolved_addresses(declared.values.get(name))]
    return references if declared.address.container is None else [declared.address.container, *references]


# -- names that the service altered ------------------------------------------------------------------------------------------------


CUT_MIN: Final = 20  # characters: shorter names that begin alike are usually two names
_NUMBERED: Final = re.compile(r"(.*\S) \(\d+\)")


class AlteredNames:
    """The names of a kind that services may have made of others, by fixed container."""

    def __init__(self, kind: Kind, desired: Desired, actual: Actual) -> None:
        self.field = next(filter(is_chosen_name, kind.keys), None)
        self._declared: set[tuple[Address | None, str]] = set()
        # By container and the name without its number: `Docs (1)` may be `Docs`.
        self._numbered: dict[tuple[str, str], list[Observed]] = defaultdict(list)
        # By container: those with the longest name. A service that cuts names leaves none that is longer.
        self._longest: dict[str, list[tuple[str, Observed]]] = defaultdict(list)
        if self.field is None:
            return
        for resource in desired.resources.values():
            name = resource.values.get(self.field.name)
            if resource.kind == kind.name and isinstance(name, str):
                self._declared.add((resource.address.container, canonical(name)))
        for observed in actual.objects.get(kind.name, {}).values():
            shown, scope = observed.values.get(self.field.name), observed.within.get(kind.within or "", "")
            if observed.deleted_at is not None or not isinstance(shown, str):
                continue
            name, longest = canonical(shown), self._longest[scope]
            if (numbered := _NUMBERED.fullmatch(name)) is not None:
                self._numbered[scope, numbered[1]].append(observed)
            if longest and len(name) > len(longest[0][0]):
                longest.clear()
            if len(name) >= CUT_MIN and (not longest or len(name) == len(longest[0][0])):
                longest.append((name, observed))

    def of(self, scope: str, declared: Declared) -> Iterator[Observed]:
        """The objects whose name may have been made of that of a resource, and is not the name of another one."""
        name = declared.values.get(self.field.name) if self.field is not None else None
        if self.field is None or not isinstance(name, str):
            return
        sent = canonical(name)
        cut = [observed for shown, observed in self._longest.get(scope, ()) if sent != shown and sent.startswith(shown)]
        for observed in (*self._numbered.get((scope, sent), ()), *cut):
            if (declared.address.container, canonical(str(observed.values[self.field.name]))) not in self._declared:
                yield observed
