"""From items to `Declared`: defaults, references to addresses, seeds, first children, and required fields.

In: the items of the tree. Out: Desired's resources, implied ones last. Forbidden: knowledge of any kind, I/O.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from reconciler.address import Address, is_key
from reconciler.config.canonical import canonical
from reconciler.config.resources.shapes import Item, KindShape
from reconciler.config.source.nodes import MapEntry, Node, Scalar, plain, scalars
from reconciler.config.source.problems import EACH_ITS_OWN, Problems, entries_of, shown
from reconciler.config.values import INVALID
from reconciler.model import Declared, Source
from reconciler.model.codec import path_ids
from reconciler.model.desired import Excluded
from reconciler.resource import UNSET, Field, FieldRole, Foreign, Kind, Kinds, Named
from reconciler.text.names import a, closest, did_you_mean

_ATOMS: Final = frozenset({str, int, float, bool, type(None), Address, Foreign})  # types of values that contain no reference


@dataclass(frozen=True, eq=False)
class Default:
    """A value that `defaults` gives a field of a kind."""

    value: Any
    node: Node
    at: Source


def read_defaults(shapes: Mapping[str, KindShape], entry: MapEntry | None, problems: Problems) -> dict[str, dict[str, Default]]:
    """The `defaults` of the project file, by kind and field."""
    defaults: dict[str, dict[str, Default]] = defaultdict(dict)
    for fields in entries_of(entry, "write {} for an empty one", problems.add, name="defaults"):
        name, shape = fields.key, shapes.get(fields.key)
        if shape is None:
            wrong = f'kind "{name}" does not exist{did_you_mean(name, shapes)}'
            problems.add(fields.at, wrong, "defaults", id="RC-unknown-kind")
            # The values are read as those of the kind that was meant: what else is wrong with them is reported now, not by the next run.
            shape = shapes.get(closest(name, shapes) or "")
            if shape is None:
                continue
        about = f"defaults.{name}"
        for value in entries_of(fields, "write {} for an empty one", problems.add, name=about):
            reader = shape.readers.get(value.key)
            if reader is None:
                wrong = f'unknown field "{value.key}"{did_you_mean(value.key, shape.readers)}'
                problems.add(value.at, wrong, about, id="RC-unknown-field")
            elif (data := reader.read(value.node, problems.about(about))) is not INVALID:
                defaults[shape.kind.name][value.key] = Default(data, value.node, value.at)
    return defaults


class Positions(Mapping[str, Source]):
    """The positions of the values of a resource, by field. Computed on request, because few are needed."""

    __slots__ = ("_nodes",)

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes

    def __getitem__(self, name: str) -> Source:
        return self._nodes[name].at

    def node(self, name: str) -> Node:
        """The value of a field as the files have it, expressions evaluated."""
        return self._nodes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)


@dataclass(eq=False)
class Linker:
    """Turns items into `Declared`, resolving every reference.

    items, with Named("space", "guides")          of the tree, in the order of the files
      |  defaults: fields that are not written
      |  references: Address, or Foreign, or INVALID and a problem
      |  first children, required fields, seeds in a circle, ids and names that two resources use
    Declared, containers before contents          what nothing declares and something refers to is implied
    """

    kinds: Kinds
    shapes: Mapping[str, KindShape]
    problems: Problems
    items: Mapping[Address, Item]
    defaults: Mapping[str, Mapping[str, Default]]
    # The resources that the environment removes, and where it says so.
    gone: Mapping[Address, Source] = field(default_factory=dict)
    # The defaults, by kind and field, that a resource takes.
    taken: set[tuple[str, str]] = field(default_factory=set)
    implied: dict[Address, Declared] = field(default_factory=dict, init=False)
    # What each seeded resource is a copy of.
    _seeds: dict[Address, tuple[Address, Source]] = field(default_factory=dict, init=False)
    # By a node's identity, the first position of each text in it: a list of 1,000 members is searched once, not for each member.
    _places: dict[int, dict[str, Source]] = field(default_factory=dict, init=False)
    # What each key means in a container: most references of a project name the same few resources.
    _known: dict[tuple[Address | None, str, str], Address | None] = field(default_factory=dict, init=False)

    def link(self) -> dict[Address, Declared]:
        """Every resource in its canonical order, containers before contents; call it once."""
        self._complete(self.items.values())
        # Only now has every resource its final values: a circle or a name that is used twice may come from a default.
        for item in self.items.values():
            self._first(item)
            self._check(item)
        self._loops()
        self._twice()
        resources = {item.address: self._declared(item) for item in canonical(self.kinds, self.items)}
        self.implied = {address: replace(self.implied[address], index=index) for index, address in enumerate(sorted(self.implied))}
        return {**resources, **self.implied}

    def _complete(self, items: Iterable[Item]) -> None:
        """Apply defaults, and resolve references."""
        named = self._named_by_default()
        for item in items:
            if item.kind.name in self.defaults:
                self._default(item, named)
            self._resolve_all(item)

    def excluded(self, items: Sequence[Item]) -> dict[Address, Excluded]:
        """The resources that the environment removes, as the files declare them; their errors are not reported."""
        # A linker of its own: they may refer to one another, and nothing that remains may refer to them.
        every = {**self.items, **{item.address: item for item in items}}
        linker = Linker(self.kinds, self.shapes, Problems([], silent=True), every, self.defaults, taken=self.taken)
        linker._complete(items)
        return {item.address: Excluded(linker._declared(item), self.gone[item.address]) for item in items}

    # -- defaults ------------------------------------------------------------------------------------------------------------------

    def _named_by_default(self) -> set[Address]:
        """The resources that a default seed names: the default is not applied to them."""
        addresses: set[Address] = set()
        for name, given in self.defaults.items():
            seed = self.kinds[name].seed
            default = given.get(seed.name) if seed is not None else None
            if default is not None and isinstance(default.value, Named):
                for root in [item for item in self.items.values() if item.parent is None]:
                    address = self._address(root, default.value)
                    if address is not None:
                        addresses.add(address)
        return addresses

    def _default(self, item: Item, named: set[Address]) -> None:
        for name, default in self.defaults[item.kind.name].items():
            if name in item.patched:
                self.taken.add((item.kind.name, name))  # in other environments
            if name in item.values:
                continue
            if item.kind.fields[name].role is FieldRole.SEED and (item.id is not None or item.address in named):
                continue
            item.values[name] = default.value
            item.nodes[name] = default.node
            item.given |= {name}
            self.taken.add((item.kind.name, name))

    def given(self) -> dict[str, dict[str, Any]]:
        """The defaults as written, by kind and field; UNSET for what may be a secret."""
        return {
            kind: {name: UNSET if self._may_be_secret(kind, name) else plain(default.node) for name, default in given.items()}
            for kind, given in self.defaults.items()
        }

    def _may_be_secret(self, kind: str, name: str) -> bool:
        field = self.kinds[kind].fields[name]
        return field.sensitive or field.secret_allowed

    def unused(self) -> dict[str, Source]:
        """The defaults that no resource uses, by their names in the project file."""
        every = [(kind, name, default.at) for kind, given in self.defaults.items() for name, default in given.items()]
        return {f"defaults.{kind}.{name}": at for kind, name, at in every if (kind, name) not in self.taken}

    # -- references ----------------------------------------------------------------------------------------------------------------

    def _resolve_all(self, item: Item) -> None:
        values = item.values
        for name, value in values.items():
            if value.__class__ not in _ATOMS and value is not INVALID:
                values[name] = self._resolve(value, item, item.kind.fields[name])
        seed = item.kind.seed
        if seed is not None and isinstance(values.get(seed.name), Address):
            self._seeds[item.address] = (values[seed.name], item.nodes[seed.name].at)

    def _resolve(self, value: Any, item: Item, of: Field) -> Any:
        if isinstance(value, Named):
            return self._look_up(value, item, of)
        if isinstance(value, dict):
            return {key: self._resolve(part, item, of) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self._resolve(part, item, of) for part in value)
        if isinstance(value, set | frozenset):
            return tuple(sorted((self._resolve(part, item, of) for part in value), key=_rank))
        return value

    def _look_up(self, value: Named, item: Item, of: Field) -> Any:
        address = self._address(item, value)
        if address is not None and (address in self.items or address in self.implied):
            return address
        at = self._whence(item.nodes[of.name], value.key)
        about: Address | str = f"defaults.{item.kind.name}" if of.name in item.given else item.address
        if address is None:
            self.problems.add(at, f"{of.name} is {shown(value.key)}, which is not the key of {a(value.kind)}", about, id="RC-not-a-key")
            return INVALID
        kind = self.kinds[value.kind]
        if kind.undeclared:
            self.imply(address, kind, at)
            return address
        purpose = f" to {of.label}" if of.role is FieldRole.SEED and of.label else ""
        hint = did_you_mean(value.key, self._keys(value.kind, address))
        if address in self.gone:
            hint = f"; {self.gone[address]} removes it: remove what refers to it too, or patch it"
        way = hint or f"; declare it, or write {{id: …}} for {a(value.kind)} outside the project"
        self.problems.absent(at, f'no {value.kind} "{value.key}"{purpose}{way}', about, id="RC-unknown-reference")
        return INVALID

    def _whence(self, node: Node, key: str) -> Source:
        """The position of a reference in a field's node: that of the text that names it, else that of the node."""
        if id(node) not in self._places:
            self._places[id(node)] = {scalar.text: scalar.at for scalar in reversed(tuple(scalars(node)))}
        return self._places[id(node)].get(key, node.at)

    def _address(self, item: Item, value: Named) -> Address | None:
        """The address that a bare key names from the item; None if it cannot be an address."""
        within = self.kinds[value.kind].within
        scope = item.around(within) if within is not None else None
        known = (scope.address if scope is not None else None, value.kind, value.key)
        if known not in self._known:
            key = self.settled(self.kinds[value.kind], value.key)
            if key is None or not is_key(key) or (scope is None and within is not None):
                self._known[known] = None
            else:
                self._known[known] = scope.address.child(value.kind, key) if scope is not None else Address((key,))
        return self._known[known]

    def settled(self, kind: Kind, key: str) -> str | None:
        """The key as its field normalizes it; None if that field refuses it."""
        reader = self.shapes[kind.name].key_reader
        if reader is None:
            return key
        value = reader.read(Scalar(Source("", 0), key, False), lambda at, message, *, id: None)
        return None if value is INVALID else str(value)

    def imply(self, address: Address, kind: Kind, at: Source) -> None:
        """Record a resource that is referenced and not declared."""
        key_is, section = kind.place.key_is, kind.place.section_in(kind.within)
        values = {key_is: address.key} if key_is is not None else {}
        self.implied[address] = Declared(address, kind.name, values, at, address.container, section, len(self.implied), implied=True)

    def lister(self, member: str, at: Source) -> Address | None:
        """The owner of the token: a member of the first kind that may be referenced undeclared, in the first root by key that has it. `at`:
        where it is named; if it is not declared, it is implied.

        One address is enough: a project usually has one root.
        """
        for kind in self.kinds.values():
            roots = [item for item in self.items.values() if item.parent is None and item.kind.name == kind.within]
            root = min(roots, key=lambda item: item.address, default=None)
            if kind.undeclared and root is not None:
                key = self.settled(kind, member)
                if key is None or not is_key(key):
                    break
                address = root.address.child(kind.name, key)
                if address not in self.items and address not in self.implied:
                    self.imply(address, kind, at)
                return address
        return None

    @cached_property
    def _keys_by_place(self) -> dict[tuple[str, Address | None], list[str]]:
        keys: dict[tuple[str, Address | None], list[str]] = defaultdict(list)
        for address, item in self.items.items():
            keys[(item.kind.name, address.container)].append(address.key)
        return keys

    def _keys(self, kind: str, address: Address) -> list[str]:
        return self._keys_by_place[(kind, address.container)]

    # -- required values -----------------------------------------------------------------------------------------------------------

    def _first(self, item: Item) -> None:
        first = item.kind.first
        if first is not None and item.first is not None and first.child_field is not None:
            value = item.first.values.get(first.child_field, INVALID)
            if value is not INVALID:
                item.values[first.name] = value
                item.nodes[first.name] = item.first.nodes[first.child_field]

    def _check(self, item: Item) -> None:
        kind, about = item.kind, item.address
        if item.unread:
            return
        if kind.needs_id and item.id is None:
            self.problems.add(item.at, f"id is missing: {a(kind.name)} is adopted by its id, never created", about, id="RC-missing-field")
        for name, expected in item.expected.items():
            if name in item.values:
                says = f"expect.{name} is not allowed here: {name} is written, so nothing derives it"
                self.problems.add(expected.source, says, about, id="RC-expect-not-allowed")
        for name in self.shapes[kind.name].required:
            if name not in item.values and name not in item.meant:
                self.problems.add(item.at, f"{name} is missing", about, id="RC-missing-field")
        create = kind.api.get("create") if item.id is None else None
        copied = create.copies if create is not None else None
        if copied is not None and copied not in item.values and {copied, "id"}.isdisjoint(item.meant):
            wrong = f"{copied} or id is missing: a new {kind.name} is a copy of another one, and id adopts one that exists"
            self.problems.add(item.at, wrong, about, id="RC-missing-field")

    def _twice(self) -> None:
        """Report ids, and values that must be unique among siblings, that two resources use."""
        claims: dict[tuple[object, ...], Item] = {}
        for item in self.items.values():
            unique = self.shapes[item.kind.name].unique
            if item.id is None and not unique:
                continue
            inside = item.kind.inside
            holder = item.parent.address if item.parent is not None and inside is not None and inside.on_change == "replace" else None
            values = {name: item.values.get(name) for name in unique if name not in item.given}
            scopes: dict[str, tuple[object, ...]] = dict.fromkeys(values, (item.address.container, holder))
            if item.id is not None:
                values["id"], scopes["id"] = item.id, (item.address.container,) if item.kind.local_ids else ()
            for name, value in values.items():
                other = claims.setdefault((item.kind.name, name, value, *scopes[name]), item) if isinstance(value, str) else item
                if other is not item:
                    at = item.nodes[name].at if name in item.nodes else item.at
                    wrong = f"{name} {shown(value)} is already used by {other.address}, at {other.at}"
                    wrong += f"; {EACH_ITS_OWN}" if item.each is not None and other.at == item.at else ""
                    self.problems.add(at, wrong, item.address, id="RC-value-twice")

    def _loops(self) -> None:
        """Report each cycle of seeds once: its members would wait for one another."""
        done: set[Address] = set()
        for start in self._seeds:
            path: dict[Address, None] = {}
            at: Address | None = start
            while at is not None and at not in done and at not in path:
                path[at] = None
                seed = self._seeds.get(at)
                # One with an id exists already: nothing waits for it.
                at = seed[0] if seed is not None and self.items[at].id is None else None
            done.update(path)
            if at is None or at not in path:
                continue
            loop = [*path][[*path].index(at) :]
            fields = self.items[at].kind.fields.values()
            label = next((declared.label for declared in fields if declared.role is FieldRole.SEED), None) or "copy"
            wrong = f"it cannot {label} itself"
            if len(loop) > 1:
                names = " -> ".join(map(str, (*loop, at)))
                wrong = f"these resources {label} each other in a circle: {names}; give one of them an id"
            self.problems.add(self._seeds[at][1], wrong, at, id="RC-copies-in-a-circle")

    def _declared(self, item: Item) -> Declared:
        read = item.values
        values = {name: read[name] for name in item.kind.fields if name in read}
        return Declared(
            address=item.address, kind=item.kind.name, values=values, source=item.at,
            parent=item.parent.address if item.parent is not None else None, section=item.section, index=item.index,
            positions=Positions(item.nodes),
            id=self._id(item), previously=tuple([former for former, _ in item.previously]), protect=item.protect, adopt=item.adopt,
            expected=item.expected, lines=dict(item.previously), ignores=item.ignores, from_defaults=item.given,
        )  # fmt: skip

    def _id(self, item: Item) -> str | None:
        """The id as written, in the engine's form (`Kind.identity`)."""
        if item.id is None:
            return None
        within = path_ids(self.kinds, item.address.container, self._written_id) if item.kind.local_ids else {}
        return item.kind.identity(item.id, within)

    def _written_id(self, address: Address) -> str | None:
        item = self.items.get(address)
        return item.id if item is not None else None


def _rank(value: Any) -> tuple[str, str]:
    return type(value).__name__, str(value)
