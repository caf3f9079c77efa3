"""All kinds together: what follows from several declarations. Pure; built once from the classes that the command line passes in."""

from __future__ import annotations

from collections import Counter
from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeVar

from typing_extensions import is_typeddict

from reconciler.address import Address
from reconciler.errors import ReconcilerError
from reconciler.resource.field import Field, FieldRole
from reconciler.resource.kind import Kind
from reconciler.resource.requests import Sighting
from reconciler.text.names import did_you_mean

Outer = TypeVar("Outer")


class Kinds(Mapping[str, Kind]):
    """The kinds by name, containers before their contents. Raises `ReconcilerError` if there is no such order.

    `contradictions.combined` also refuses declarations that contradict each other; it asks these methods, which is why it is not done here.
    """

    def __init__(self, kinds: Iterable[Kind]) -> None:
        ordered = sorted(kinds, key=lambda kind: kind.name)
        self._kinds: dict[str, Kind] = {}
        pending = {kind.name: kind for kind in ordered}
        if len(pending) != len(ordered):
            twice = next(name for name, count in Counter(kind.name for kind in ordered).items() if count > 1)
            raise ReconcilerError(f"two kinds have the name {twice}; choose another for one of them", id="RC-kind-contradiction")
        while pending:
            ready = [kind for kind in pending.values() if kind.within is None or kind.within in self._kinds]
            if not ready:
                names = [kind.name for kind in ordered]
                kind = next((kind for kind in pending.values() if kind.within not in names), next(iter(pending.values())))
                circular = f"its container {kind.within} is within {kind.name} itself"
                unknown = f"its container {kind.within} does not exist{did_you_mean(kind.within or '', names)}"
                reason = circular if kind.within in names else unknown
                raise ReconcilerError(f"kind {kind.name}: {reason}", id="RC-kind-contradiction")
            for kind in ready:
                self._kinds[kind.name] = pending.pop(kind.name)

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

    def with_digest_key(self, key: bytes, secrets: frozenset[str] = frozenset()) -> Kinds:
        """The same kinds, storing secrets as digests with that key. `key`: the state's own. `secrets`: texts that the project has from
        secrets."""
        return Kinds(
            replace(kind, fields={name: replace(field, digest_key=key, secrets=secrets) for name, field in kind.fields.items()})
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

    @cached_property
    def publishers(self) -> frozenset[str]:
        """The kinds that are published, and contain what is published at a URL below theirs."""
        published = {kind.name: kind.within for kind in self.values() if kind.published is not None}
        return frozenset(str(within) for within in published.values() if within in published and published[within] not in published)

    def of(self, address: Address) -> Kind:
        """The kind of an address. Raises `KeyError` for a kind that is not declared."""
        return self.roots[0] if address.kind is None else self[address.kind]

    def addresses(self, ids: Mapping[Address, str]) -> dict[tuple[str, str], Address]:
        """The addresses by kind and id. `ids`: of objects, by address."""
        return {(self.of(address).name, id): address for address, id in ids.items()}

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
        lists: dict[str, tuple[Kind, ...]] = {}
        for kind in self.values():
            if kind.place.in_list and (section := kind.place.section_in(name)):
                lists[section] = (*lists.get(section, ()), kind)
        return lists

    def flags(self, name: str) -> Mapping[str, tuple[tuple[Kind, Field], ...]]:
        """The flags in a kind's YAML by which a parent chooses among its children: flag to the parents' choice fields."""
        return self._flags.get(name, {})

    @cached_property
    def _flags(self) -> Mapping[str, Mapping[str, tuple[tuple[Kind, Field], ...]]]:
        """The flags of every kind."""
        by_kind: dict[str, dict[str, tuple[tuple[Kind, Field], ...]]] = {}
        for kind in self.values():
            for field in kind.fields.values():
                if field.role is FieldRole.CHOICE and field.to is not None and field.flag is not None:
                    flags = by_kind.setdefault(field.to, {})
                    flags[field.flag] = (*flags.get(field.flag, ()), (kind, field))
        return by_kind

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


# -- what is kept of an object beside the values of its fields: a reading of 10,000 would keep what nobody asks for -----------------------

OF_EACH: Final = frozenset({"id", "title", "name", "label", "slug", "user", "createdAt", "permissions"})
"""What people call it, when it was created, and what the token may do with it."""


class Kept(NamedTuple):
    """`names`: of what is kept whole. `parts`: (name, name in it) of what is kept of the rest."""

    names: frozenset[str]
    parts: tuple[tuple[str, str], ...] = ()

    def of(self, raw: Mapping[str, Any]) -> Mapping[str, Any]:
        """The part of an object that is kept."""
        kept = {name: value for name, value in raw.items() if name in self.names}
        for name, inner in self.parts:
            value = raw.get(name)
            if isinstance(value, Mapping) and inner in value:
                kept[name] = {**kept.get(name, {}), inner: value[inner]}
        return kept


def kept_of(kind: Kind, kinds: Iterable[Kind]) -> Kept | None:
    """What is kept of each object of a kind; None for all of it, because functions of its declaration may read any part of it."""
    located = [field for field in kind.fields.values() if field.container or field is kind.transferable]
    if (
        kind.limited is not None
        or any(callable(field.usual) for field in kind.fields.values())
        or any(field.at is None for field in located)
    ):
        return None
    copied = [other.work for other in kinds if any(field.to == kind.name for field in other.service_copies)]
    worked = [word for word in (kind.work, *copied) if word is not None]
    updated = {field.name for verb in kind.update_verbs for field in kind.sent_by(verb.name)}
    partly = [field for field in kind.fields.values() if field.name in updated and is_typeddict(field.type)]
    paths = [
        *(field.at for field in partly if field.at is not None),
        *(str(field.at) for field in located),
        *(path for word in worked for path in (word.state, word.changed_at, word.error, word.label)),
        *(word.number for word in kind.counted),
        *(word.all[0] for word in kind.attached),
        *(name for verb in kind.api.values() for name in verb.brings.values()),
        *([kind.published.at] if kind.published is not None else ()),
        *([kind.synced.at] if kind.synced is not None else ()),
        *([kind.pages.revision] if kind.pages is not None else ()),
        kind.id_is,
    ]
    split = [tuple(path.split(".")[:2]) for path in paths if path]
    names = OF_EACH | {path[0] for path in split if len(path) == 1}
    return Kept(names, tuple(dict.fromkeys((path[0], path[1]) for path in split if len(path) == 2 and path[0] not in names)))
