"""From Actual to objects with keys and locations: what is written, in which map or list, and what cannot be written, and why. Pure.

In: everything that was read, and the addresses that a project already has for it. Out: `Gathered`. Forbidden: the form of the YAML.

The premise: the files must describe what exists so completely that the next plan is empty, and they must be valid. Not everything fits: a
required value may be a secret, a title may give no key, a container may be unreadable. Such an object is skipped with a sentence, and so
is everything in it, because the YAML could not say where it belongs. So the passes go from what decides most to what depends on it:

    collect     every object that exists, older ones first, each with its host: the object whose lines contain its lines
    skip        what lacks a required value, and nodes that cannot be in one list with their siblings
    keys        first those that have names of their own, then those that are called after what they refer to
    sort        ordered lists by the service's rank

Skipping takes an object out of `items`; a key is taken only by what is still there when its turn comes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from reconciler.address import KEY_FORM, Address, bare, is_key
from reconciler.config.resources.shapes import KindShape, shapes
from reconciler.config.source.nodes import lifted
from reconciler.config.values import INVALID, FieldReader
from reconciler.features.importer.keys import LONG_MAX, TakenKeys, slug
from reconciler.features.importer.matched import removed_by
from reconciler.features.importer.values import Unwritable, in_yaml, written
from reconciler.model import Actual, Observed, Source
from reconciler.model.codec import comparable, title, why_unreadable
from reconciler.model.desired import Patch
from reconciler.plan.matching.natural_keys import listed
from reconciler.resource import UNSET, Field, Kind, Kinds

Ref = tuple[str, str]
"""Kind and id."""


@dataclass(eq=False)
class GatheredObject:
    """One object and its location: `host` contains it in the YAML, `section` is the name of that map or list.

    `declared`: the project already declares it. `missed`: sentences about contents that are not written, by section.
    """

    kind: Kind
    observed: Observed
    host: GatheredObject | None
    section: str
    address: Address | None = None
    declared: bool = False
    below: dict[str, list[GatheredObject]] = field(default_factory=lambda: defaultdict(list))
    missed: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def ref(self) -> Ref:
        return self.kind.name, self.observed.id

    @property
    def key(self) -> str:
        assert self.address is not None
        return self.address.key

    @property
    def name(self) -> str:
        """Its name in a sentence."""
        return f"{self.kind.name} {title(self.observed)!r} ({bare(self.observed.id)})"


class Gathered:
    """Every object below the given roots, by kind and id. `known`: the addresses a project has for them already. `patches`: those of its
    environment. `unwritable`: whether an object was left out although everything that is required of it is known."""

    def __init__(
        self,
        kinds: Kinds,
        actual: Actual,
        known: Mapping[Ref, Address],
        *,
        keys: frozenset[Address] = frozenset(),
        patches: Sequence[Patch] = (),
    ) -> None:
        self.patches = patches
        self.kinds, self.actual, self.known = kinds, actual, known
        self.shapes: Mapping[str, KindShape] = shapes(kinds)
        self.items: dict[Ref, GatheredObject] = {}
        self.roots: list[GatheredObject] = []
        self.unwritable = False
        self._taken: dict[tuple[Address | None, str], TakenKeys] = defaultdict(TakenKeys)
        for address in keys:
            self._taken[(address.container, kinds.of(address).name)].add(address.key)
        self._order: dict[Ref, int] = {}
        # Every object that was ever written in this one: the list is not shortened when an object gets another host.
        self._hosted: dict[GatheredObject, list[GatheredObject]] = defaultdict(list)
        self._collect_items()
        self._skip_mixed_lists()
        self._assign_keys()
        self._sort()

    def address(self, kind: str, id: str) -> Address | None:
        """The address at which an object is or will be declared; None where the project will not declare it."""
        item = self.items.get((kind, id))
        return item.address if item is not None else self.known.get((kind, id))

    def patched(self, address: Address) -> dict[str, Source]:
        """The fields of an address that patches of the environment set, and their lines."""
        return {name: at for patch in self.patches if patch.sets and patch.glob.matches(address) for name, at in patch.sets.items()}

    def _removed(self, address: Address | None) -> str | None:
        """The sentence about an address that a patch of the environment removes; None for any other."""
        if address is None:
            return None
        patch = next((patch for patch in self.patches if patch.removes(address)), None)
        return removed_by(address, patch.source) if patch is not None else None

    def reference(self, item: GatheredObject, kind: str, id: str) -> Any:
        """A reference to an object, as it is written on another one."""
        address = self.address(kind, self.kinds[kind].identity(id, {**item.observed.within, item.kind.name: item.observed.id}))
        removed = self._removed(address)
        if removed is not None:
            raise Unwritable(removed)
        if address is None or item.address is None or self._named(item.address, kind, address.key) != address:
            return {"id": id}
        return address.key

    def id_of(self, item: GatheredObject, kind: str, key: str) -> str | None:
        """The id for a bare key that is written on an object."""
        address = self._named(item.address, kind, key) if item.address is not None else None
        id = self._ids.get((kind, address)) if address is not None else None
        return bare(id) if id is not None else None

    def _named(self, scope: Address, kind: str, key: str) -> Address | None:
        try:
            return self.kinds.address(scope, kind, key)
        except (KeyError, ValueError):
            return None

    # -- objects -------------------------------------------------------------------------------------------------------------------

    def _collect_items(self) -> None:
        for kind in self.kinds.values():
            self._order |= {(kind.name, id): order for id, order in _orders(kind, self.actual).items()}
            objects = [observed for observed in self.actual.objects.get(kind.name, {}).values() if observed.deleted_at is None]
            for observed in sorted(objects, key=self._age):
                container = self.items.get((kind.within, observed.within.get(kind.within, ""))) if kind.within is not None else None
                if kind.within is None or container is not None:
                    item = self.items[(kind.name, observed.id)] = GatheredObject(kind, observed, None, "")
                    self._set_host(item, container, kind.place.section_in(kind.within))
        # Hosts are set before anything is skipped: whatever is skipped takes its contents along, wherever they were read.
        for item in list(self.items.values()):
            self._set_node(item)
        for item in list(self.items.values()):
            self._skip_incomplete(item)

    def _age(self, observed: Observed) -> tuple[str, int, str]:
        """The sort key: older objects first; those of the same time in the order of a listing."""
        return str(observed.raw.get("createdAt", "")), self._order.get(observed.key, 0), observed.id

    def _set_node(self, item: GatheredObject) -> None:
        """Find the node that contains an object."""
        inside = item.kind.inside
        container_id = item.observed.values.get(inside.name) if inside is not None else None
        if inside is None or not isinstance(container_id, str):
            return
        node = self.items.get((inside.to or "", container_id))
        if node is None or node is item:
            self._skip(item, f"the {inside.to} {container_id} that contains it could not be read")
        else:
            self._set_host(item, node, item.kind.place.section_in(node.kind.name))

    def _set_host(self, item: GatheredObject, host: GatheredObject | None, section: str) -> None:
        """Record where an object is written: the containing object, and the name of that map or list."""
        item.host, item.section = host, section
        if host is not None:
            self._hosted[host].append(item)

    def _skip_incomplete(self, item: GatheredObject) -> None:
        """Leave out an object that lacks a required value."""
        if item.ref not in self.items or item.ref in self.known:
            return
        if item.observed.unreadable:
            self.unwritable = True
            self._skip(item, why_unreadable(item.observed))
            return
        for name in item.kind.fields:
            declared_field = item.kind.fields[name]
            reader = self.shapes[item.kind.name].readers.get(name)
            if not declared_field.required or reader is None:
                continue
            value = item.observed.values.get(name, UNSET)
            if value is UNSET:
                self._skip(item, f"the service does not show its {name}")
                return
            if declared_field.sensitive:
                self._skip(item, f"its {name} is a secret")
                return
            # Tried with ids in place of references: whether these can be written is known once all keys are.
            try:
                written(reader, value, lambda kind, id: {"id": id}, lambda kind, key: None)
            except Unwritable as error:
                self._skip(item, str(error))
                return

    def _skip(self, item: GatheredObject, why: str) -> None:
        """Leave an object and its contents out, with a sentence in the section where it would have been."""
        if item.ref not in self.items:
            return
        del self.items[item.ref]
        if item.host is not None:
            item.host.missed[item.section].append(f"not written: {item.name}: {why}")
        for other in [gathered for gathered in self._hosted.pop(item, ()) if gathered.host is item]:
            if item.host is not None:  # its sentence is printed where people look for it: in the nearest container that is written
                self._set_host(other, item.host, item.section)
            self._skip(other, f"it is in {item.name}, which was not written")

    def _skip_mixed_lists(self) -> None:
        """Leave out nodes that may only have siblings of their own kind from lists that mix kinds."""
        lists: dict[tuple[Ref, str], list[GatheredObject]] = defaultdict(list)
        for item in self.items.values():
            if item.host is not None and item.kind.place.in_list:
                lists[(item.host.ref, item.section)].append(item)
        for some in lists.values():
            mixed = any(item.kind is not some[0].kind for item in some)
            for item in some:
                if mixed and item.kind.place.alone:
                    self._skip(item, "its siblings are of other kinds")

    # -- keys ----------------------------------------------------------------------------------------------------------------------

    def _assign_keys(self) -> None:
        self._ids = {(kind, address): id for (kind, id), address in self.known.items()}
        # A variant is called after its space and an installation after its integration, so those get their keys first.
        named_by_others = [kind for kind in self.kinds.values() if tag(kind) is not None]
        for kind in (*(kind for kind in self.kinds.values() if kind not in named_by_others), *named_by_others):
            items = [gathered for gathered in self.items.values() if gathered.kind is kind]
            names = self._namesakes(items) if kind not in named_by_others and kind.place.key_is is None else {}
            # Whoever has a name of its own gets it, also if namesakes could be called so after their containers.
            for item in sorted(items, key=lambda item: item.ref in names):
                self._assign_key(item, names.get(item.ref, ""))

    def _assign_key(self, item: GatheredObject, name: str) -> None:
        """Give an object its address. `name`: its name among namesakes, "" where it has none."""
        if item.ref not in self.items:
            return
        kind = item.kind
        known = self.known.get(item.ref)
        if known is not None:
            item.address, item.declared = known, True
            return
        container = self.items.get((kind.within, item.observed.within.get(kind.within, ""))) if kind.within is not None else None
        around = container.address if container is not None else None
        if kind.within is not None and around is None:
            self._skip(item, "its container was not written")
            return
        if kind.one_per and around is not None:
            item.address = kind.address(around, "")
            return
        taken = self._taken[(around, kind.name)]
        first = tag(kind)
        named = item.observed.values.get(first.name) if first is not None else None
        removed = self._removed(self.address(refers_to(first) or "", named)) if first is not None and isinstance(named, str) else None
        if removed is not None:
            self._skip(item, removed)
            return
        if kind.place.key_is is not None:
            key = self._key_from_value(item)
        else:
            key = taken.free([name] if name else self._names(item), kind.name)
        if kind.place.key_is is not None and not isinstance(item.observed.values.get(kind.place.key_is), str):
            # Nothing that the YAML could say would name it, and nothing is lost: it is left alone, as what nobody declares.
            self._skip(item, f"the service shows no {kind.place.key_is} of it, which is its key in the YAML")
            return
        if key is None or not is_key(key) or (key in taken and kind.place.key_is is not None):
            self.unwritable = True
            twice = key is not None and key in taken
            self._skip(item, "another one has the same key" if twice else f"that cannot be a key; {KEY_FORM}")
            return
        taken.add(key)
        item.address = Address((key,)) if around is None else around.child(kind.name, key)
        removed = self._removed(item.address)
        if removed is not None:
            self._skip(item, removed)
            return
        self._ids[(kind.name, item.address)] = item.observed.id

    def _key_from_value(self, item: GatheredObject) -> str | None:
        """The key from the value of a field, as the configuration spells it; None where it cannot be a key."""
        reader: FieldReader | None = self.shapes[item.kind.name].key_reader
        assert reader is not None
        value = item.observed.values.get(reader.field.name)
        read = reader.read(lifted(value, Source("", 0)), lambda at, message, *, id: None) if isinstance(value, str) else INVALID
        return read if isinstance(read, str) else None

    def _names(self, item: GatheredObject) -> list[str]:
        """The keys that suit an object, the best first: its own name, and that with the name of its host."""
        first = tag(item.kind)
        if first is not None:
            id = item.observed.values.get(first.name)
            shown = self.address(refers_to(first) or "", id) if isinstance(id, str) else None
            name = slug(shown.key) if shown is not None else ""
        else:
            name = slug(_called(item.observed) or self._natural_name(item))
        return list(dict.fromkeys((name, *(f"{host}-{name}" for host in self._hosts(item)[:1])))) if name else []

    def _hosts(self, item: GatheredObject) -> list[str]:
        """The names of the objects that contain it below the fixed container, the nearest first."""
        names, host = [], item.host
        while host is not None and host.ref != (item.kind.within, item.observed.within.get(item.kind.within or "")):
            names.append(slug(title(host.observed)))
            host = host.host
        return [name for name in names if name]

    def _namesakes(self, items: Sequence[GatheredObject]) -> dict[Ref, str]:
        """The keys of objects that have one name in one container: all of them with the names of as many hosts as tell them apart."""
        groups: dict[tuple[str, str], list[GatheredObject]] = defaultdict(list)
        for item in items:
            if item.ref not in self.known:
                name = slug(_called(item.observed) or self._natural_name(item))
                groups[(item.observed.within.get(item.kind.within or "", ""), name)].append(item)
        keys: dict[Ref, str] = {}
        for (_, name), some in groups.items():
            hosts = [self._hosts(item) for item in some]
            depths = [["-".join([*reversed(names[:depth]), name]) for names in hosts] for depth in range(max(map(len, hosts)) + 1)]
            depths = [names for names in depths if all(len(key) <= LONG_MAX for key in names)]
            if name and len(some) > 1:
                keys |= zip([item.ref for item in some], max(depths, key=lambda names: len(set(names))), strict=True)
        return keys

    def _natural_name(self, item: GatheredObject) -> str:
        """A name for what has no title: the keys of what its natural key refers to, and its texts, such as `guides en fr`."""
        observed, texts = item.observed, []
        ahead = [in_yaml(key.type, observed.values.get(key.name), self._key_of) for key in item.kind.keys if key.name in observed.values]
        while ahead:
            value = ahead.pop(0)
            if isinstance(value, Mapping):
                ahead = [*value.values(), *ahead]
            elif isinstance(value, str):
                texts.append(value)
        return " ".join(texts)

    def _key_of(self, kind: str, id: str) -> str:
        """The key of an object, or its id where the project will not declare it."""
        address = self.address(kind, id)
        return address.key if address is not None else bare(id)

    # -- positions -----------------------------------------------------------------------------------------------------------------

    def _sort(self) -> None:
        for item in self.items.values():
            if item.host is None:
                self.roots.append(item)
            else:
                item.host.below[item.section].append(item)
        for item in self.items.values():
            for section, some in item.below.items():
                if any(gathered.kind.place.in_list for gathered in some):
                    item.below[section] = sorted(some, key=self._position)
                elif all(gathered.kind.place.key_is is not None for gathered in some):  # people, by their e-mails
                    item.below[section] = sorted(some, key=lambda gathered: gathered.key)

    def _position(self, item: GatheredObject) -> tuple[float, tuple[str, int, str]]:
        """Its rank in the listing; without one, the lowest rank among its contents that are ranked with its siblings. Then its age."""
        # Whether one listing ranks all objects of the kind in their container.
        ranks = [
            gathered.observed.rank
            for gathered in self._within(item)
            if gathered is item or any(reading.ordered and reading.each is None for reading in gathered.kind.listings)
        ]
        return min((float(rank) for rank in ranks if rank is not None), default=float("inf")), self._age(item.observed)

    def _within(self, item: GatheredObject) -> Iterator[GatheredObject]:
        yield item
        for other in item.below.get(item.section, ()):
            yield from self._within(other)

    # -- identity ------------------------------------------------------------------------------------------------------------------

    def needs_id(self, item: GatheredObject) -> bool:
        """Whether its natural key does not identify it: there is none, it is copied rather than created, or another object in the same
        place has the same key."""
        kind = item.kind
        create = kind.api.get("create")
        if kind.needs_id or (create is not None and create.copies is not None):
            return True
        return self._alike[(kind.name, item.observed.within.get(kind.within or ""), _natural(kind, item.observed))] > 1

    @cached_property
    def _alike(self) -> Counter[tuple[Any, ...]]:
        return Counter(
            (name, observed.within.get(self.kinds[name].within or ""), _natural(self.kinds[name], observed))
            for name, some in self.actual.objects.items()
            for observed in some.values()
            if observed.deleted_at is None
        )


def tag(kind: Kind) -> Field | None:
    """The field given by the first key of a node, for the kinds whose tag is a reference; None for others."""
    return kind.fields.get(kind.place.tag) if kind.place.tag is not None else None


def refers_to(field: Field) -> str | None:
    """The kind that a field's value refers to, None where it is not a reference."""
    kinds: list[str] = []
    in_yaml(field.type, "", lambda kind, id: kinds.append(kind))
    return kinds[0] if kinds else None


def _natural(kind: Kind, observed: Observed) -> tuple[str, ...]:
    fields = kind.keys if kind.tells_apart is None else (*kind.keys, kind.tells_apart)
    return tuple(comparable(field, observed.values.get(field.name, UNSET)) for field in fields)


def _called(observed: Observed) -> str:
    """Its title; "" where it has no name other than its id."""
    name = title(observed)
    return "" if name == bare(observed.id) else name


def _orders(kind: Kind, actual: Actual) -> dict[str, int]:
    """The order of objects of a kind that one listing shows completely; of other kinds, only the age is known."""
    return {id: index for index, id in enumerate(actual.objects.get(kind.name, {}))} if listed(kind) else {}
