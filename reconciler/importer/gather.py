"""From Actual to things with keys and places: what will be written, in which map or list, and what cannot be, and why. Pure.

In: everything that was read, and the addresses that a project has given already. Out: `Gathered`. Not here: how it looks in YAML.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

from reconciler.address import Address, bare, is_key
from reconciler.config.resources.shapes import KindShape, shapes
from reconciler.config.source.nodes import lifted
from reconciler.config.values import INVALID, FieldReader
from reconciler.dataclass import dataclass
from reconciler.importer.excluded import removed_by
from reconciler.importer.keys import TakenKeys
from reconciler.importer.values import Unwritable, spelled, written
from reconciler.model import Actual, Observed, Source
from reconciler.model.codec import comparable, title
from reconciler.model.desired import Patch
from reconciler.plan.matching.natural_keys import listed
from reconciler.resource import UNSET, Field, Kind, Kinds

Ref = tuple[str, str]
"""Kind and id."""


@dataclass(eq=False)
class GatheredObject:
    """One object and where it goes: `host` is what it stands in in the YAML, `section` the name of that map or list.

    `declared`: the project has it already. `missed`: what stands in it and is not written, by section, as sentences.
    """

    kind: Kind
    one: Observed
    host: GatheredObject | None
    section: str
    address: Address | None = None
    declared: bool = False
    below: dict[str, list[GatheredObject]] = field(default_factory=lambda: defaultdict(list))
    missed: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def ref(self) -> Ref:
        return self.kind.name, self.one.id

    @property
    def key(self) -> str:
        assert self.address is not None
        return self.address.key

    @property
    def name(self) -> str:
        """What a sentence calls it."""
        return f"{self.kind.name} {title(self.one)!r} ({bare(self.one.id)})"


class Gathered:
    """Every object below the given roots, by kind and id. `known`: the addresses a project has for them already. `patches`: those of its
    environment."""

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
        self.things: dict[Ref, GatheredObject] = {}
        self.roots: list[GatheredObject] = []
        self._taken: dict[tuple[Address | None, str], TakenKeys] = defaultdict(TakenKeys)
        for address in keys:
            self._taken[(address.container, kinds.of(address).name)].add(address.key)
        self._order: dict[Ref, int] = {}
        self._hosted: dict[GatheredObject, list[GatheredObject]] = defaultdict(list)  # those that are written elsewhere now included
        self._meet()
        self._alone()
        self._names()
        self._place()

    def address(self, kind: str, id: str) -> Address | None:
        """Where an object is declared, or will be; None for what the project will not hold."""
        thing = self.things.get((kind, id))
        return thing.address if thing is not None else self.known.get((kind, id))

    def patched(self, address: Address) -> dict[str, Source]:
        """The fields of an address that patches of the environment set, and where."""
        return {name: at for patch in self.patches if patch.sets and patch.glob.matches(address) for name, at in patch.sets.items()}

    def _removed(self, address: Address | None) -> str | None:
        """What is said of an address that a patch of the environment removes; None of any other."""
        if address is None:
            return None
        patch = next((patch for patch in self.patches if patch.removes(address)), None)
        return removed_by(address, patch.source) if patch is not None else None

    def reference(self, thing: GatheredObject, kind: str, id: str) -> Any:
        """A reference to an object, as it is written on a thing."""
        address = self.address(kind, self.kinds[kind].identity(id, {**thing.one.within, thing.kind.name: thing.one.id}))
        removed = self._removed(address)
        if removed is not None:
            raise Unwritable(removed)
        if address is None or thing.address is None or self._named(thing.address, kind, address.key) != address:
            return {"id": id}
        return address.key

    def id_of(self, thing: GatheredObject, kind: str, key: str) -> str | None:
        """The id that a bare key on a thing means."""
        address = self._named(thing.address, kind, key) if thing.address is not None else None
        id = self._ids.get((kind, address)) if address is not None else None
        return bare(id) if id is not None else None

    def _named(self, scope: Address, kind: str, key: str) -> Address | None:
        try:
            return self.kinds.address(scope, kind, key)
        except (KeyError, ValueError):
            return None

    # -- who is there --------------------------------------------------------------------------------------------------------------

    def _meet(self) -> None:
        for kind in self.kinds.values():
            self._order |= {(kind.name, id): order for id, order in _orders(kind, self.actual).items()}
            objects = [observed for observed in self.actual.objects.get(kind.name, {}).values() if observed.deleted_at is None]
            for observed in sorted(objects, key=self._age):
                container = self.things.get((kind.within, observed.within.get(kind.within, ""))) if kind.within is not None else None
                if kind.within is None or container is not None:
                    thing = self.things[(kind.name, observed.id)] = GatheredObject(kind, observed, None, "")
                    self._stand(thing, container, kind.place.section_in(kind.within))
        for thing in list(self.things.values()):
            self._host(thing)
        for thing in list(self.things.values()):
            self._possible(thing)

    def _age(self, one: Observed) -> tuple[str, int, str]:
        """The older ones first; those of one moment as a listing has them."""
        return str(one.raw.get("createdAt", "")), self._order.get((one.kind, one.id), 0), one.id

    def _host(self, thing: GatheredObject) -> None:
        """Find the node that an object stands in."""
        inside = thing.kind.inside
        stands = thing.one.values.get(inside.name) if inside is not None else None
        if inside is None or not isinstance(stands, str):
            return
        node = self.things.get((inside.to or "", stands))
        if node is None or node is thing:
            self._leave(thing, f"the {inside.to} {stands} that contains it could not be read")
        else:
            self._stand(thing, node, thing.kind.place.section_in(node.kind.name))

    def _stand(self, thing: GatheredObject, host: GatheredObject | None, section: str) -> None:
        """Note what an object is written in, and the name of that map or list."""
        thing.host, thing.section = host, section
        if host is not None:
            self._hosted[host].append(thing)

    def _possible(self, thing: GatheredObject) -> None:
        """Leave out what lacks something that must be written."""
        if thing.ref not in self.things or thing.ref in self.known:
            return
        for name in thing.kind.fields:
            declared_field = thing.kind.fields[name]
            reader = self.shapes[thing.kind.name].readers.get(name)
            if not declared_field.required or reader is None:
                continue
            value = thing.one.values.get(name, UNSET)
            if value is UNSET:
                self._leave(thing, f"the service does not show its {name}")
                return
            if declared_field.sensitive:
                self._leave(thing, f"its {name} is a secret")
                return
            try:
                written(reader, value, lambda kind, id: {"id": id}, lambda kind, key: None)
            except Unwritable as error:
                self._leave(thing, str(error))
                return

    def _leave(self, thing: GatheredObject, why: str) -> None:
        """Leave an object out, and what stands in it; said where it would have stood."""
        if thing.ref not in self.things:
            return
        del self.things[thing.ref]
        if thing.host is not None:
            thing.host.missed[thing.section].append(f"not written: {thing.name}: {why}")
        for other in [gathered for gathered in self._hosted.pop(thing, ()) if gathered.host is thing]:
            if thing.host is not None:
                self._stand(other, thing.host, thing.section)
            self._leave(other, f"it is in {thing.name}, which was not written")

    def _alone(self) -> None:
        """A list of nodes that stand only beside their own kind holds nothing else."""
        lists: dict[tuple[Ref, str], list[GatheredObject]] = defaultdict(list)
        for thing in self.things.values():
            if thing.host is not None and thing.kind.place.in_list:
                lists[(thing.host.ref, thing.section)].append(thing)
        for some in lists.values():
            mixed = any(thing.kind is not some[0].kind for thing in some)
            for thing in some if mixed else ():
                if thing.kind.place.alone:
                    self._leave(thing, "its siblings are of other kinds")

    # -- what they are called ------------------------------------------------------------------------------------------------------

    def _names(self) -> None:
        self._ids = {(kind, address): id for (kind, id), address in self.known.items()}
        named_by_others = [kind for kind in self.kinds.values() if tag(kind) is not None]
        for kind in (*(kind for kind in self.kinds.values() if kind not in named_by_others), *named_by_others):
            for thing in [gathered for gathered in self.things.values() if gathered.kind is kind]:
                self._call(thing)

    def _call(self, thing: GatheredObject) -> None:
        if thing.ref not in self.things:
            return
        kind = thing.kind
        known = self.known.get(thing.ref)
        if known is not None:
            thing.address, thing.declared = known, True
            return
        container = self.things.get((kind.within, thing.one.within.get(kind.within, ""))) if kind.within is not None else None
        around = container.address if container is not None else None
        if kind.within is not None and around is None:
            self._leave(thing, "its container was not written")
            return
        if kind.one_per and around is not None:
            thing.address = kind.address(around, "")
            return
        taken = self._taken[(around, kind.name)]
        first = tag(kind)
        named = thing.one.values.get(first.name) if first is not None else None
        removed = self._removed(self.address(refers_to(first) or "", named)) if first is not None and isinstance(named, str) else None
        if removed is not None:
            self._leave(thing, removed)
            return
        key = self._settled(thing) if kind.place.key_is is not None else self._new(thing, container, taken)
        if key is None or not is_key(key) or (key in taken and kind.place.key_is is not None):
            self._leave(thing, "it cannot be used as a key")
            return
        taken.add(key)
        thing.address = Address((key,)) if around is None else around.child(kind.name, key)
        removed = self._removed(thing.address)
        if removed is not None:
            self._leave(thing, removed)
            return
        self._ids[(kind.name, thing.address)] = thing.one.id

    def _settled(self, thing: GatheredObject) -> str | None:
        """The key that a field gives, spelled as the configuration settles it; None where it cannot be one."""
        reader: FieldReader | None = self.shapes[thing.kind.name].key_reader
        assert reader is not None
        value = thing.one.values.get(reader.field.name)
        read = reader.read(lifted(value, Source("", 0)), lambda at, message, *, id: None) if isinstance(value, str) else INVALID
        return read if isinstance(read, str) else None

    def _new(self, thing: GatheredObject, container: GatheredObject | None, taken: TakenKeys) -> str:
        host = thing.host if thing.host is not None and thing.host is not container else None
        around = title(thing.host.one) if thing.host is not None and host is not None else ""
        first = tag(thing.kind)
        if first is not None:
            id = thing.one.values.get(first.name)
            shown = self.address(refers_to(first) or "", id) if isinstance(id, str) else None
            return taken.free(shown.key if shown is not None else "", thing.kind.name, around)
        return taken.free(_called(thing.one) or self._natural_name(thing), thing.kind.name, around)

    def _natural_name(self, thing: GatheredObject) -> str:
        """A name for what has no title: the keys of what its natural key refers to, and its texts, such as `guides en fr`."""
        observed, texts = thing.one, []
        ahead = [spelled(key.type, observed.values.get(key.name), self._key_of) for key in thing.kind.keys if key.name in observed.values]
        while ahead:
            value = ahead.pop(0)
            if isinstance(value, Mapping):
                ahead = [*value.values(), *ahead]
            elif isinstance(value, str):
                texts.append(value)
        return " ".join(texts)

    def _key_of(self, kind: str, id: str) -> str:
        """The key of an object, or its id where the project will not hold it."""
        address = self.address(kind, id)
        return address.key if address is not None else bare(id)

    # -- where they stand ----------------------------------------------------------------------------------------------------------

    def _place(self) -> None:
        for thing in self.things.values():
            if thing.host is None:
                self.roots.append(thing)
            else:
                thing.host.below[thing.section].append(thing)
        for thing in self.things.values():
            for section, some in thing.below.items():
                if any(gathered.kind.place.in_list for gathered in some):
                    thing.below[section] = sorted(some, key=self._position)

    def _position(self, thing: GatheredObject) -> tuple[float, tuple[str, int, str]]:
        """Its place in the listing; of what no listing ranks, the place of the first that stands in it and is ranked beside it."""
        ranks = [gathered.one.rank for gathered in self._within(thing) if gathered is thing or _ranked_widely(gathered.kind)]
        return min((float(rank) for rank in ranks if rank is not None), default=float("inf")), self._age(thing.one)

    def _within(self, thing: GatheredObject) -> Iterator[GatheredObject]:
        yield thing
        for other in thing.below.get(thing.section, ()):
            yield from self._within(other)

    # -- what tells them apart -----------------------------------------------------------------------------------------------------

    def needs_id(self, thing: GatheredObject) -> bool:
        """Whether its natural key does not name it: there is none, it is copied rather than made, or another has the same."""
        kind = thing.kind
        create = kind.api.get("create")
        if kind.needs_id or (create is not None and create.copies is not None):
            return True
        return self._alike[(kind.name, thing.one.within.get(kind.within or ""), _natural(kind, thing.one))] > 1

    @cached_property
    def _alike(self) -> Counter[tuple[Any, ...]]:
        return Counter(
            (name, observed.within.get(self.kinds[name].within or ""), _natural(self.kinds[name], observed))
            for name, some in self.actual.objects.items()
            for observed in some.values()
            if observed.deleted_at is None
        )


def tag(kind: Kind) -> Field | None:
    """The field that a node's first word is, for the kinds whose tag is a reference; None for others."""
    return kind.fields.get(kind.place.tag) if kind.place.tag is not None else None


def refers_to(one: Field) -> str | None:
    """The kind that a field's value is a reference to, None where it is none."""
    found: list[str] = []
    spelled(one.type, "", lambda kind, id: found.append(kind))
    return found[0] if found else None


def _natural(kind: Kind, one: Observed) -> tuple[str, ...]:
    return tuple(comparable(one.values.get(field.name, UNSET)) for field in kind.keys)


def _called(one: Observed) -> str:
    """What people call it; "" where it has no name but its id."""
    found = title(one)
    return "" if found == bare(one.id) else found


def _orders(kind: Kind, actual: Actual) -> dict[str, int]:
    """The order of a kind of which one listing shows all; of others nothing but their age is known."""
    return {id: index for index, id in enumerate(actual.objects.get(kind.name, {}))} if listed(kind) else {}


def _ranked_widely(kind: Kind) -> bool:
    """Whether one listing ranks all objects of the kind in their container."""
    return any(reading.ordered and reading.each is None for reading in kind.listings)
