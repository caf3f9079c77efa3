"""From the evaluated YAML to resources: walks maps and ordered lists at the locations that kinds declare, and reads every field.

In: nodes. Out: one `Item` per address, containers before their contents. Not here: references between resources (`references`).
Forbidden: knowledge of any kind, I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from reconciler.address import Address
from reconciler.config.language.evaluate import Evaluation
from reconciler.config.language.for_each import ForEachCopies
from reconciler.config.resources.items import ItemReader, head_of, kind_of
from reconciler.config.resources.reserved import ResourceFlags, read_reserved
from reconciler.config.resources.shapes import Item, KindShape
from reconciler.config.source.includes import INCLUDE, Split, is_split
from reconciler.config.source.nodes import FOR_EACH, UNREAD, Generated, List, Map, MapEntry, Node, Scalar, first_unevaluated
from reconciler.config.source.problems import Mistake, ProblemReport, described, empty
from reconciler.model import Source
from reconciler.resource import RESERVED, UNSET, FieldRole, Kind, Kinds
from reconciler.text.names import a, closest, did_you_mean


@dataclass(eq=False)
class ResourceTree:
    """Gathers the resources of all files. `lists`: the first position of each ordered list of a root, so that a second file is refused.
    `misread`: files with sections where resources are expected; each is reported once."""

    kinds: Kinds
    items: ItemReader
    split: Split
    evaluation: Evaluation
    _lists: dict[tuple[Address, str], Source] = field(default_factory=dict)
    _misread: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.shapes, self.problems = self.items.shapes, self.items.problems
        # Reads `default`, and creates the elements of `forEach`.
        self.flags, self.generator = ResourceFlags(self.kinds, self.problems), ForEachCopies(self.evaluation, self.problems)

    # -- files ---------------------------------------------------------------------------------------------------------------------

    def roots(self, kind: Kind, entry: MapEntry) -> None:
        """The root resources of a section of one file; their contents wait until `open` is called for them."""
        for child in self._map(entry, None):
            self._entry(kind, None, entry.key, child)

    def complete(self) -> dict[Address, Item]:
        """All items by address, in their order; runs the checks that need all files."""
        self.flags.check()
        self.items.by_address = self.items.in_order()
        return self.items.by_address

    def sections(self, root: Item, entries: list[MapEntry]) -> None:
        """The sections and lists of a root that an included file contains."""
        shape = self.shapes[root.kind.name]
        self.items.each = root.each
        for entry in entries:
            self._below(shape, root, entry)
        self.items.each = None

    # -- maps and lists ------------------------------------------------------------------------------------------------------------

    def _below(self, shape: KindShape, item: Item, entry: MapEntry) -> None:
        if entry.key in shape.sections:
            self._section(shape.sections[entry.key], item, entry)
        elif entry.key in shape.singles:
            self._single(shape.singles[entry.key], item, entry)
        else:
            self._list(shape.lists[entry.key], item, entry)

    def _section(self, kind: Kind, parent: Item, entry: MapEntry) -> None:
        self.items.mark(kind, parent)
        for child in self._map(entry, parent.address):
            self._entry(kind, parent, entry.key, child)

    def _entry(self, kind: Kind, parent: Item | None, section: str, entry: MapEntry) -> None:
        """One resource of a map."""
        around = self.items.each
        if isinstance(entry.node, Generated):
            self.items.each = entry.node.each
        item = self.items.keyed(kind, entry, entry.key, parent, section)
        if item is not None:
            item.body = entry.node
            if self._is_section(self.shapes[kind.name], entry):
                way = f"a file that is included in {section} contains entries, or the one key {section}"
                wrong = f'"{entry.key}" is a section, and {a(kind.name)} is expected here; {way}'
                if entry.at.file not in self._misread:
                    self.problems.add(entry.at, wrong, item.address.container, id="RC-key-elsewhere")
                self._misread.add(entry.at.file)
                self.problems.partial = item.unread = True
            else:
                self._read(self.shapes[kind.name], item, entry.node, skip=())
        self.items.each = around

    def _is_section(self, shape: KindShape, entry: MapEntry) -> bool:
        """Whether an apparent resource is a section: its name is a section's, and it has no key of a resource."""
        if entry.key not in self._section_names or isinstance(entry.node, Scalar):
            return False
        return isinstance(entry.node, List) or (bool(entry.node.entries) and not {*entry.node.entries} & {*shape.keys})

    @cached_property
    def _section_names(self) -> frozenset[str]:
        roots = (str(kind.place.section_in(None)) for kind in self.kinds.roots)
        return frozenset((*roots, *(name for shape in self.shapes.values() for name in (*shape.sections, *shape.lists, *shape.singles))))

    def _single(self, kind: Kind, parent: Item, entry: MapEntry) -> None:
        """A value that is a resource of its own."""
        self.items.mark(kind, parent)
        address = (parent.around(str(kind.within)) or parent).address.child(kind.name)
        item = self.items.new(kind, entry, address, parent, entry.key)
        if item is not None:
            item.body = entry.node
            name, report = str(kind.place.value_is), self.problems.about(address)
            _refuse_unevaluated(name, entry.node, report)
            item.nodes[name] = entry.node
            item.values[name] = self.shapes[kind.name].readers[name].read(entry.node, report)

    def _map(self, entry: MapEntry, about: Address | None) -> list[MapEntry]:
        if isinstance(entry.node, Map):
            entries = list(entry.node.entries.values())
            if INCLUDE in entry.node.entries and is_split(entry.node, ordered=False) and self._may_split(entry.node, about):
                entries = self.split.entries(entry.key, entry.node, about)
            misplaced = entry.node.entries.get(FOR_EACH)
            if misplaced is not None and not isinstance(misplaced.node, Map):
                wrong = f"forEach belongs to an entry of {entry.key}: write {entry.key}: {{KEY: {{forEach: …, …}}}}"
                self.problems.add(misplaced.at, wrong, about, id="RC-for-each-elsewhere")
                return []
            if any(isinstance(entry_of_map.node, Map) and FOR_EACH in entry_of_map.node.entries for entry_of_map in entries):
                return self._generated_entries(entries, about)
            return entries
        if isinstance(entry.node, Scalar) and entry.node.empty:
            self.problems.add(entry.node.at, f"{empty(entry.key)} ({{}} is an empty map)", about, id="RC-no-value")
        else:
            says = f"{entry.key} must be a map, not {described(entry.node)}; write {{}} for an empty one"
            self.problems.add(entry.node.at, says, about, id="RC-wrong-form")
        return []

    def _list(self, members: Mapping[str, Kind], parent: Item, entry: MapEntry) -> None:
        for kind in members.values():
            self.items.mark(kind, parent)
        # Two files cannot say in which order their items come, so a list is written in one place.
        first = self._lists.setdefault((parent.address, entry.key), entry.at)
        if first != entry.at:
            way = f"to split it, write {entry.key}: {{include: [FILE, …]}} in one place"
            says = f"{entry.key} is ordered and is also written at {first}; {way}"
            self.problems.add(entry.at, says, parent.address, id="RC-list-in-two-places")
            return
        items: list[Item] = []
        for node in self._nodes(entry, parent):
            if isinstance(node, Map) and FOR_EACH in node.entries:
                items += self._generated_nodes(members, parent, entry.key, node)
                continue
            item = self._node(members, parent, entry.key, node)
            if item is not None:
                items.append(item)
        for loner in items:
            if not loner.kind.place.alone:
                continue
            neighbour = next((candidate for candidate in items if candidate.kind is not loner.kind), None)
            if neighbour is not None:
                wrong = f"{a(loner.kind.name)} is only allowed in {entry.key} next to its own kind; "
                wrong += f"{neighbour.address} at {neighbour.at} is of another kind"
                self.problems.add(loner.at, wrong, loner.address, id="RC-kinds-mixed")
                break

    def _nodes(self, entry: MapEntry, parent: Item) -> list[Node]:
        """The nodes of a list, in one file or in several."""
        if isinstance(entry.node, List):
            return entry.node.items
        if isinstance(entry.node, Map) and is_split(entry.node, ordered=True):
            return self.split.nodes(entry.key, entry.node, parent.address) if self._may_split(entry.node, parent.address) else []
        if isinstance(entry.node, Scalar) and entry.node.empty:
            self.problems.add(entry.node.at, f"{empty(entry.key)} ([] is an empty list)", parent.address, id="RC-no-value")
            return []
        first = next(iter(entry.node.entries), "") if isinstance(entry.node, Map) else ""
        hint = did_you_mean(first, [INCLUDE]) or "; write [] for an empty one"
        self.problems.add(
            entry.node.at, f"{entry.key} must be a list, not {described(entry.node)}{hint}", parent.address, id="RC-wrong-form"
        )
        return []

    # -- forEach -------------------------------------------------------------------------------------------------------------------

    def _generated_nodes(self, members: Mapping[str, Kind], parent: Item, section: str, template: Map) -> list[Item]:
        """The resources that one node of a list generates."""
        items, around = [], self.items.each
        for node in self.generator.nodes(template, parent.address):
            assert isinstance(node, Generated)
            self.items.each = node.each
            item = self._node(members, parent, section, node)
            if item is not None:
                items.append(item)
        self.items.each = around
        return items

    def _generated_entries(self, entries: list[MapEntry], about: Address | None) -> list[MapEntry]:
        """The entries of a map, with each `forEach` replaced by the entries that it generates."""
        generated: list[MapEntry] = []
        for entry in entries:
            if isinstance(entry.node, Map) and FOR_EACH in entry.node.entries:
                generated += self.generator.entries(entry, about)
            else:
                generated.append(entry)
        return generated

    def _may_split(self, node: Map, about: Address | None) -> bool:
        """Whether a map or list may be split into files here."""
        # The names of files would depend on data: nobody could say which files a project has without running it.
        if self.items.each is None:
            return True
        wrong = "include is not allowed inside forEach; write forEach into the included file"
        self.problems.add(node.entries[INCLUDE].at, wrong, about, id="RC-include-in-for-each")
        return False

    def _node(self, members: Mapping[str, Kind], parent: Item, section: str, node: Node) -> Item | None:
        """The resource of one node of a list."""
        known = kind_of(members, section, node, parent.address, self.problems)
        if known is None:
            return None
        kind, written = known
        head = head_of(self.shapes[kind.name], written, parent.address, self.problems)
        if head is None:
            return None
        key, keys, value = head
        tag = str(kind.place.tag)
        entry = written.entries[tag]
        advice = "; give one of them a different key: …" if value is not UNSET else ""
        item = self.items.keyed(kind, entry, key, parent, section, advice=advice)
        if item is not None:
            if value is not UNSET:
                item.values[tag], item.nodes[tag] = value, entry.node
            item.body = node
            self._read(self.shapes[kind.name], item, written, skip=keys)
        return item

    # -- one resource --------------------------------------------------------------------------------------------------------------

    def _read(self, shape: KindShape, item: Item, node: Node, *, skip: tuple[str, ...]) -> None:
        report = self.problems.about(item.address)
        if not isinstance(node, Map):
            if shape.bare is not None and isinstance(node, Scalar) and not node.empty and not node.null:
                item.nodes[shape.bare] = node
                item.values[shape.bare] = shape.readers[shape.bare].read(node, report)
                return
            item.unread = True
            if isinstance(node, Scalar) and node.empty:
                report(node.at, f"{empty(item.address.key)} ({{}} for no fields)", id="RC-no-value")
            else:
                report(node.at, f"{a(item.kind.name)} must be a map, not {described(node)}{_as_a_map(shape, node)}", id="RC-wrong-form")
            return
        readers, values, nodes = shape.readers, item.values, item.nodes
        for name, entry in node.entries.items():
            if name in skip:
                continue
            if name in readers:
                nodes[name] = value = entry.node
                if value.__class__ is not Scalar:
                    _refuse_unevaluated(name, value, report)
                values[name] = readers[name].read(value, report)
            elif name in shape.sections or name in shape.lists or name in shape.singles:
                self._below(shape, item, entry)
            elif name in shape.flags:
                self.flags.read(item, entry)
            elif name in RESERVED:
                read_reserved(self.kinds, shape, item, entry, report)
            else:
                wrong = unknown_key(self.shapes, shape, item, name)
                report(entry.at, wrong.message, id=wrong.id)


def _refuse_unevaluated(name: str, node: Node, report: ProblemReport) -> None:
    """Report an expression that was not evaluated inside a value that is not a scalar."""
    if not isinstance(node, Scalar) and (left := first_unevaluated(node)) is not None:
        message = f"{name} cannot hold an expression beside forEach, which makes resources, not values; write the value out"
        report(left.at, message, id="RC-expression-not-allowed")


def _as_a_map(shape: KindShape, node: Node) -> str:
    """What to write instead of a text: a map with the field that was probably meant."""
    required = [name for name, reader in shape.readers.items() if reader.field.required]
    written = isinstance(node, Scalar) and node.value is UNREAD and node.text.isprintable() and len(node.text) < 60
    return f"; write {{{required[0]}: {node.text}}}" if written and isinstance(node, Scalar) and len(required) == 1 else ""


def unknown_key(shapes: Mapping[str, KindShape], shape: KindShape, item: Item, name: str) -> Mistake:
    """The message about a key that a resource does not accept; the field that was meant is then not reported as missing."""
    known = shape.kind.fields.get(name)
    if shape.key_reader is not None and name == shape.key_reader.field.name:
        return Mistake("RC-key-elsewhere", f"{name} is not allowed here: the key is the {name}")
    if known is not None and known.role is FieldRole.CHOICE:
        return Mistake("RC-key-elsewhere", f'{name} is not allowed here; write "{known.flag}: true" on the {known.to}')
    if known is not None and known.role is FieldRole.OUTPUT:
        return Mistake("RC-set-by-service", f"{name} is not allowed here: the service sets it")
    if known is not None:
        return Mistake("RC-set-by-location", f"{name} is not allowed here: it follows from the location of the {shape.kind.name}")
    meant = closest(name, shape.keys)
    owners = [kind for kind, other in shapes.items() if name in other.keys]
    elsewhere = f"; it is a field of {' and '.join(owners)}" if owners else ""
    item.meant += (meant,) if meant is not None else ()
    return Mistake("RC-unknown-field", f'unknown field "{name}"{did_you_mean(name, shape.keys) or elsewhere}')
