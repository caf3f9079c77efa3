"""All kinds together: what follows from several declarations. Pure; built once from the classes that the command line passes in."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from reconciler.address import Address
from reconciler.errors import DeclarationError
from reconciler.resource.kept import Kept, kept_of
from reconciler.resource.kind import Field, Kind
from reconciler.resource.words import FieldRole, Sighting

Outer = TypeVar("Outer")


class Kinds(Mapping[str, Kind]):
    """The kinds by name, containers before their contents. Raises `DeclarationError` if two declarations contradict each other."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        found = sorted(kinds, key=lambda kind: kind.name)
        self._kinds: dict[str, Kind] = {}
        pending = {kind.name: kind for kind in found}
        if len(pending) != len(found):
            raise DeclarationError("two kinds share a name: " + ", ".join(kind.name for kind in found), id="RC-kind-contradiction")
        while pending:
            ready = [kind for kind in pending.values() if kind.within is None or kind.within in self._kinds]
            if not ready:
                wrong = "unknown or circular containers: " + ", ".join(f"{k.name} within {k.within}" for k in pending.values())
                raise DeclarationError(wrong, id="RC-kind-contradiction")
            for kind in ready:
                self._kinds[kind.name] = pending.pop(kind.name)
        for kind in self._kinds.values():
            self._check(kind)

    def __eq__(self, other: object) -> bool:
        """Kinds are built once: results computed from them may be cached per object."""
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __getitem__(self, name: str) -> Kind:
        return self._kinds[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)

    def values(self) -> ValuesView[Kind]:
        """The kinds, each after its container; a view of the dictionary itself, because it is read once per resource."""
        return self._kinds.values()

    def items(self) -> ItemsView[str, Kind]:
        """The kinds by name; see `values`."""
        return self._kinds.items()

    @cached_property
    def kept(self) -> Mapping[str, Kept | None]:
        """By kind: what is kept of each of its objects beside the values of its fields; None for all of it."""
        return {name: kept_of(kind, self.values()) for name, kind in self.items()}

    @cached_property
    def seen_in(self) -> Mapping[str, tuple[tuple[Kind, Sighting], ...]]:
        """By kind: what its objects show of objects of other kinds."""
        return {
            name: tuple((other, reading) for other in self.values() for reading in other.sightings if reading.kind == name) for name in self
        }

    def _check(self, kind: Kind) -> None:
        def wrong(what: str) -> DeclarationError:
            return DeclarationError(f"kind {kind.name}: {what}", id="RC-kind-contradiction")

        if kind.within is not None and self[kind.within].local_ids:
            raise wrong(f"its container is {kind.within}, whose local_ids cannot fill a path")
        for field in kind.fields.values():
            if field.to is not None and field.to not in self:
                raise wrong(f"field {field.name} points to the unknown kind {field.to}")
            if field.derived is not None and field.derived.reference is not None:
                refers = kind.fields[field.derived.reference].refers
                if refers is None or refers not in self or field.derived.field not in self[refers].fields:
                    raise wrong(f"field {field.name} is derived from {field.derived.source}, which leads to no field")
            if field.container and field.to is not None and self[field.to].transferable is not None and kind.transferable is None:
                raise wrong(f"it cannot be transferred, but may be inside a {field.to}, which can")
        if kind.transferable is not None and kind.within not in {root.name for root in self.roots}:
            raise wrong(f"it is transferred between objects of the kind {kind.within}, which are in others themselves")
        for reading in kind.reads:
            if reading.names is not None and reading.names not in self:
                raise wrong(f"a reading names the unknown kind {reading.names}")
        for reading in kind.sightings:
            if reading.all and (self[reading.kind].within != kind.within or not kind.whole_listings):
                raise wrong(f"the list of {reading.kind} can only show all of them in a container of both, which has a list of each")
        for permission in (kind.permission, kind.create_permission):
            if permission is not None and permission.of is not None and permission.of not in self.containers(kind.name):
                raise wrong(f"requires a permission of {permission.of}, which does not contain it")
        for verb in kind.api.values():
            for name in (*verb.brings, *verb.reshapes, *verb.anchors):
                if name not in self:
                    raise wrong(f"verb {verb.name} names the unknown kind {name}")
            outer = set(self.containers(kind.name))
            for hole in verb.placeholders:
                if hole not in outer and hole not in kind.fields and hole != "id" and hole != (kind.inside.to if kind.inside else None):
                    raise wrong(f"nothing fills {{{hole}}} in {verb.method} {verb.path}")
        for host, section in kind.place.hosts(kind.within).items() if kind.place.in_list else ():
            if host not in self:
                raise wrong(f"is listed in the unknown kind {host}")
            beside = self.lists(host)[section]
            narrow = narrow_kinds(other for other in beside if not other.place.alone) if not kind.place.alone else frozenset()
            if kind.name in narrow and not narrow <= set(kind.api["move"].anchors):
                raise wrong(f"its moves can name neither all kinds beside it nor all of {', '.join(sorted(narrow))}")

    def sealed(self, key: bytes) -> Kinds:
        """The same kinds, storing sensitive fields as digests with that key; `key`: the state's own."""
        if not any(field.sensitive for kind in self.values() for field in kind.fields.values()):
            return self
        return Kinds(
            replace(kind, fields={name: replace(field, seal=key) if field.sensitive else field for name, field in kind.fields.items()})
            if any(field.sensitive for field in kind.fields.values())
            else kind
            for kind in self.values()
        )

    def containers(self, name: str) -> tuple[str, ...]:
        """The kinds of the fixed containers, innermost first: `section` -> `site`, `organization`."""
        chain: list[str] = []
        kind = self[name]
        while kind.within is not None:
            chain.append(kind.within)
            kind = self[kind.within]
        return tuple(chain)

    @cached_property
    def roots(self) -> tuple[Kind, ...]:
        return tuple(kind for kind in self.values() if kind.within is None)

    def of(self, address: Address) -> Kind:
        """The kind of an address. Raises `KeyError` for a kind that is not declared."""
        return self.roots[0] if address.kind is None else self[address.kind]

    def container(self, address: Address, kind: str) -> Address:
        """The container of that kind around an address (itself included). Raises `KeyError` if there is none."""
        at: Address | None = address
        while at is not None:
            if self.of(at).name == kind:
                return at
            at = at.container
        raise KeyError(f"{address} is not within any {kind}")

    def below(self, name: str) -> tuple[Kind, ...]:
        """The kinds whose fixed container is the named one, sorted by name."""
        return tuple(kind for kind in self.values() if kind.within == name)

    def sections(self, name: str) -> dict[str, Kind]:
        """The maps in the YAML of a kind: section name to the kind of its entries."""
        return {kind.place.section_in(name): kind for kind in self.below(name) if not kind.place.in_list and not kind.place.value_is}

    def singles(self, name: str) -> dict[str, Kind]:
        """The values in the YAML of a kind that are resources of their own: the name of each to its kind."""
        return {kind.place.section_in(name): kind for kind in self.below(name) if kind.place.value_is}

    def lists(self, name: str) -> dict[str, tuple[Kind, ...]]:
        """The ordered lists in the YAML of a kind: list name to the kinds of its nodes."""
        found: dict[str, list[Kind]] = {}
        for kind in self.values():
            if kind.place.in_list and (section := kind.place.section_in(name)):
                found.setdefault(section, []).append(kind)
        return {section: tuple(kinds) for section, kinds in found.items()}

    def flags(self, name: str) -> Mapping[str, tuple[tuple[Kind, Field], ...]]:
        """The flags in a kind's YAML by which a parent chooses among its children: flag to the parents' choice fields."""
        return self._flags.get(name, {})

    @cached_property
    def _flags(self) -> Mapping[str, Mapping[str, tuple[tuple[Kind, Field], ...]]]:
        """The flags of every kind."""
        found: dict[str, dict[str, tuple[tuple[Kind, Field], ...]]] = {}
        for kind in self.values():
            for field in kind.fields.values():
                if field.role is FieldRole.CHOICE and field.to is not None and field.flag is not None:
                    flags = found.setdefault(field.to, {})
                    flags[field.flag] = (*flags.get(field.flag, ()), (kind, field))
        return found

    def chooser(self, name: str, flag: str, outer: Iterable[tuple[str, Outer]]) -> tuple[Outer, Field] | None:
        """The parent that a flag of a child makes choose that child, and the choice field: the nearest one whose kind has such a field.

        `outer`: what contains the child, the nearest first, each with its kind. None if no parent chooses.
        """
        fields = {parent.name: field for parent, field in self.flags(name).get(flag, ())}
        return next(((candidate, fields[kind]) for kind, candidate in outer if kind in fields), None)

    def address(self, scope: Address, kind: str, key: str) -> Address:
        """The address that a bare key names inside `scope`: `guides` in a site of acme -> `acme/space/guides`."""
        container = self[kind].within
        if container is None:
            return Address((key,))
        return self.container(scope, container).child(kind, key)


def narrow_kinds(siblings: Iterable[Kind]) -> frozenset[str]:
    """The names of those sibling kinds whose moves cannot name siblings of every kind; these can name one another."""
    ordered = {kind.name: kind for kind in siblings if kind.ordered}
    return frozenset(name for name, kind in ordered.items() if not ordered.keys() <= kind.api["move"].anchors.keys())
