"""From the evaluated YAML to resources: walks maps and ordered lists as the kinds' places say, and reads every field.

In: nodes. Out: one `Item` an address, containers before what they contain. Not here: references between resources (`references`).
Forbidden: knowledge of any kind, I/O.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from reconciler.address import KEY_LENGTH_MAX, Address, is_key
from reconciler.config.reserved import Flags, read_reserved
from reconciler.config.shapes import Item, Shape
from reconciler.config.source.nodes import (
    FOR_EACH,
    UNREAD,
    Each,
    Entry,
    Generated,
    List,
    Map,
    Node,
    Problems,
    Scalar,
    Wrong,
    described,
    empty,
    first_unevaluated,
    holds_expression,
    shown,
    untainted,
    wrong_form,
)
from reconciler.config.source.split import INCLUDE, Split, is_split
from reconciler.config.values import INVALID
from reconciler.model import Source
from reconciler.resource import RESERVED, Foreign, Kind, Kinds, Named, Role
from reconciler.text.suggest import a, closest, did_you_mean

if TYPE_CHECKING:
    from reconciler.config.language.evaluate import Evaluation
    from reconciler.config.language.for_each import Generator

LITERAL: Final = "keys must be literal text, except inside forEach: write it out"


@dataclass(eq=False)
class Tree:
    """Gathers the resources of all files. `lists`: where each ordered list of a root was first met, so that a second file is refused."""

    kinds: Kinds
    shapes: dict[str, Shape]
    problems: Problems
    split: Split
    evaluation: Evaluation
    items: dict[Address, Item] = field(default_factory=dict)
    written: set[tuple[Address, str]] = field(default_factory=set)
    _lists: dict[tuple[Address, str], Source] = field(default_factory=dict)
    _counts: Counter[tuple[Address, str]] = field(default_factory=Counter)
    _each: Each | None = None  # the element that what is read now is made for

    # -- files ---------------------------------------------------------------------------------------------------------------------

    def roots(self, kind: Kind, entry: Entry) -> None:
        """The section of root resources of one file; what they contain waits until `open` is called for them."""
        for each in self._map(entry, None):
            self._entry(kind, None, entry.key, each)

    def complete(self) -> dict[Address, Item]:
        """All items by address, in their order; what only all files together show is checked."""
        self.flags.check()
        self.items = self._ordered()
        return self.items

    def _ordered(self) -> dict[Address, Item]:
        """Each root, then what stands in it, as the files have it."""
        below: dict[Address | None, list[Item]] = defaultdict(list)
        for item in self.items.values():
            below[item.parent.address if item.parent is not None else None].append(item)
        found: dict[Address, Item] = {}
        waiting = list(reversed(below[None]))
        while waiting:
            item = waiting.pop()
            found[item.address] = item
            waiting += reversed(below[item.address])
        return found

    def sections(self, root: Item, entries: list[Entry]) -> None:
        """Sections and lists of a root that stand in an included file."""
        shape = self.shapes[root.kind.name]
        self._each = root.each
        for entry in entries:
            self._below(shape, root, entry)
        self._each = None

    # -- maps and lists ------------------------------------------------------------------------------------------------------------

    def _below(self, shape: Shape, item: Item, entry: Entry) -> None:
        if entry.key in shape.sections:
            self._section(shape.sections[entry.key], item, entry)
        elif entry.key in shape.singles:
            self._single(shape.singles[entry.key], item, entry)
        else:
            self._list(shape.lists[entry.key], item, entry)

    def _section(self, kind: Kind, parent: Item, entry: Entry) -> None:
        self._mark(kind, parent)
        for each in self._map(entry, parent.address):
            self._entry(kind, parent, entry.key, each)

    def _entry(self, kind: Kind, parent: Item | None, section: str, entry: Entry) -> None:
        """One resource of a map."""
        around = self._each
        if isinstance(entry.node, Generated):
            self._each = entry.node.each
        item = self._item(kind, entry, entry.key, parent, section)
        if item is not None:
            item.body = entry.node
            self._read(self.shapes[kind.name], item, entry.node, skip=())
        self._each = around

    def _single(self, kind: Kind, parent: Item, entry: Entry) -> None:
        """A value that is a resource of its own."""
        self._mark(kind, parent)
        address = (parent.around(str(kind.within)) or parent).address.child(kind.name)
        item = self._new(kind, entry, address, parent, entry.key)
        if item is not None:
            item.body = entry.node
            self._value(self.shapes[kind.name], item, str(kind.place.value_is), entry.node)

    def _map(self, entry: Entry, about: Address | None) -> list[Entry]:
        if isinstance(entry.node, Map):
            found = list(entry.node.entries.values())
            if INCLUDE in entry.node.entries and is_split(entry.node, ordered=False) and self._may_split(entry.node, about):
                found = self.split.entries(entry.key, entry.node, about)
            misplaced = entry.node.entries.get(FOR_EACH)
            if misplaced is not None and not isinstance(misplaced.node, Map):
                wrong = f"forEach belongs to an entry of {entry.key}: write {entry.key}: {{KEY: {{forEach: …, …}}}}"
                self.problems.add(misplaced.at, wrong, about, id="RC-for-each-elsewhere")
                return []
            if any(isinstance(each.node, Map) and FOR_EACH in each.node.entries for each in found):
                return self._generated_entries(found, about)
            return found
        if isinstance(entry.node, Scalar) and entry.node.empty:
            self.problems.add(entry.node.at, f"{empty(entry.key)} ({{}} is an empty map)", about, id="RC-no-value")
        else:
            says = f"{entry.key} must be a map, not {described(entry.node)}; write {{}} for an empty one"
            self.problems.add(entry.node.at, says, about, id="RC-wrong-form")
        return []

    def _list(self, members: tuple[Kind, ...], parent: Item, entry: Entry) -> None:
        for kind in members:
            self._mark(kind, parent)
        first = self._lists.setdefault((parent.address, entry.key), entry.at)
        if first != entry.at:
            way = f"to split it, write {entry.key}: {{include: [FILE, …]}} in one place"
            says = f"{entry.key} is ordered and is also written at {_place(first)}; {way}"
            self.problems.add(entry.at, says, parent.address, id="RC-list-in-two-places")
            return
        found: list[Item] = []
        for node in self._nodes(entry, parent):
            if isinstance(node, Map) and FOR_EACH in node.entries:
                found += self._generated_nodes(members, parent, entry.key, node)
                continue
            item = self._node(members, parent, entry.key, node)
            if item is not None:
                item.body = node
                found.append(item)
        for one in found:
            if not one.kind.place.alone:
                continue
            other = next((each for each in found if each.kind is not one.kind), None)
            if other is not None:
                wrong = f"{a(one.kind.name)} is only allowed in {entry.key} next to its own kind; "
                wrong += f"{other.address} at {_place(other.at)} is of another kind"
                self.problems.add(one.at, wrong, one.address, id="RC-kinds-mixed")
                break

    def _nodes(self, entry: Entry, parent: Item) -> list[Node]:
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

    @cached_property
    def flags(self) -> Flags:
        """What reads `default`."""
        return Flags(self.kinds, self.problems)

    # -- forEach -------------------------------------------------------------------------------------------------------------------

    @cached_property
    def generator(self) -> Generator:
        """What makes the elements of `forEach`."""
        from reconciler.config.language.for_each import Generator

        return Generator(self.evaluation, self.problems)

    def _generated_nodes(self, members: tuple[Kind, ...], parent: Item, section: str, template: Map) -> list[Item]:
        """The resources that one node of a list stands for."""
        found, around = [], self._each
        for node in self.generator.nodes(template, parent.address):
            assert isinstance(node, Generated)
            self._each = node.each
            item = self._node(members, parent, section, node)
            if item is not None:
                item.body = node
                found.append(item)
        self._each = around
        return found

    def _generated_entries(self, entries: list[Entry], about: Address | None) -> list[Entry]:
        """The entries of a map, those that `forEach` makes in the place of what it stands in."""
        found: list[Entry] = []
        for entry in entries:
            if isinstance(entry.node, Map) and FOR_EACH in entry.node.entries:
                found += self.generator.entries(entry, about)
            else:
                found.append(entry)
        return found

    def _may_split(self, node: Map, about: Address | None) -> bool:
        """Whether a map or list may be split into files here."""
        if self._each is None:
            return True
        wrong = "include is not allowed inside forEach; write forEach into the included file"
        self.problems.add(node.entries[INCLUDE].at, wrong, about, id="RC-include-in-for-each")
        return False

    def _node(self, members: tuple[Kind, ...], parent: Item, section: str, node: Node) -> Item | None:
        tags = {kind.place.tag: kind for kind in members if kind.place.tag is not None}
        choices = " or ".join(f"{{{tag}: …}}" for tag in tags)
        if isinstance(node, Scalar) and not node.null and not node.empty:
            bare = next((kind for kind in members if kind.place.bare_is is not None), None)
            if bare is not None:
                tag = str(bare.place.tag)
                return self._tagged(bare, parent, section, Map(node.at, {tag: Entry(tag, node.at, node)}))
        if not isinstance(node, Map):
            what = "nothing" if isinstance(node, Scalar) and node.empty else described(node)
            self.problems.add(node.at, f"an item of {section} is {choices}, not {what}", parent.address, id=wrong_form(node))
            return None
        present = [tag for tag in tags if tag in node.entries]
        if len(present) == 1:
            return self._tagged(tags[present[0]], parent, section, node)
        if present:
            wrong = f"an item of {section} must be one thing, not {' and '.join(present)} at once"
            self.problems.add(node.entries[present[1]].at, wrong, parent.address, id="RC-node-of-two-kinds")
        else:
            first = next(iter(node.entries.values()), None)
            hint = did_you_mean(first.key, tags) if first is not None else ""
            says = f"an item of {section} must say what it is: {choices}{hint}"
            self.problems.add(first.at if first else node.at, says, parent.address, id="RC-node-of-no-kind")
        return None

    def _tagged(self, kind: Kind, parent: Item, section: str, node: Map) -> Item | None:
        shape, tag = self.shapes[kind.name], str(kind.place.tag)
        entry = node.entries[tag]
        if tag not in shape.readers:
            key = self._key_text(entry, parent.address)
            self._without_key(node, key, parent.address)
            item = None if key is None else self._item(kind, entry, key, parent, section)
            if item is not None:
                self._read(shape, item, node, skip=(tag,))
            return item
        value = shape.readers[tag].read(entry.node, self.problems.about(parent.address))
        if "key" in node.entries:
            key = self._key_text(node.entries["key"], parent.address)
        elif isinstance(value, Named) and isinstance(entry.node, Scalar) and entry.node.computed:
            wrong = f"{tag} is also the key and comes from an expression, but {LITERAL}, or add a key of its own: key: …"
            self.problems.add(entry.node.at, wrong, parent.address, id="RC-computed-key")
            return None
        elif isinstance(value, Named):
            key = value.key
        else:
            key = None
            if isinstance(value, Foreign):
                wrong = f"{a(kind.name)} of {a(tag)} outside the project needs a key of its own: key: …"
                self.problems.add(entry.at, wrong, parent.address, id="RC-key-needed")
        self._without_key(node, key, parent.address)
        if value is INVALID or key is None:
            return None
        item = self._item(kind, entry, key, parent, section, advice="; give one of them a different key: …")
        if item is not None:
            item.values[tag] = value
            item.nodes[tag] = entry.node
            self._read(shape, item, node, skip=(tag, "key"))
        return item

    # -- one resource --------------------------------------------------------------------------------------------------------------

    def _mark(self, kind: Kind, parent: Item) -> None:
        if kind.within is not None:
            self.written.add(((parent.around(kind.within) or parent).address, kind.name))

    def _without_key(self, node: Map, key: str | None, about: Address) -> None:
        """Where a node has no key, it is not known what it declares; a misspelled `forEach` is why an expression has no value."""
        if key is None:
            self.problems.partial = True
            for name, entry in node.entries.items():
                if closest(name, [FOR_EACH]) is not None:
                    self.problems.add(entry.at, f'unknown field "{name}"{did_you_mean(name, [FOR_EACH])}', about, id="RC-unknown-field")

    def _key_text(self, entry: Entry, about: Address) -> str | None:
        node = entry.node
        if (node.at.file, node.at.line, node.at.column) in self.problems.settled:
            return None  # its expression failed
        if isinstance(node, Scalar) and node.computed:
            self.problems.add(node.at, f"{entry.key} comes from an expression, but {LITERAL}", about, id="RC-computed-key")
        elif isinstance(node, Scalar) and node.value is UNREAD and not node.null and not node.empty:
            return node.text
        elif isinstance(node, Scalar) and isinstance(node.value, int) and not isinstance(node.value, bool) and not node.taint:
            return str(node.value)  # of an element of forEach
        elif isinstance(node, Scalar) and isinstance(node.value, str) and untainted(node, entry.key, self.problems.about(about)):
            return node.value
        elif not isinstance(node, Scalar) or not node.taint:
            what = "nothing" if isinstance(node, Scalar) and node.empty else described(node)
            self.problems.add(node.at, f"{entry.key} must be a key, not {what}", about, id="RC-not-a-key")
        return None

    def _item(self, kind: Kind, entry: Entry, key: str, parent: Item | None, section: str, *, advice: str = "") -> Item | None:
        """A new item; None, with a problem, where the key cannot be one or is taken."""
        about = parent.address if parent is not None else None
        reader = self.shapes[kind.name].key_reader
        value = reader.read(Scalar(entry.at, key, False), self.problems.about(about)) if reader is not None else key
        if value is INVALID:
            return None
        if isinstance(value, str):
            key = value  # a field's validation may settle how it is spelled: upper and lower case of an e-mail
        if holds_expression(key):
            self.problems.add(entry.at, f"{shown(key)} is an expression, but {LITERAL}", about, id="RC-computed-key")
            return None
        if not is_key(key):
            wrong = f"{shown(key)} is not a key; keys are 1 to {KEY_LENGTH_MAX} letters, digits or any of . _ @ + -"
            self.problems.add(entry.at, wrong, about, id="RC-not-a-key")
            return None
        if parent is None or kind.within is None:
            address = Address((key,))
        else:
            holder = parent.around(kind.within)
            address = (holder or parent).address.child(kind.name, key)
        item = self._new(kind, entry, address, parent, section, advice=advice)
        if item is None:
            return None
        if reader is not None:
            item.values[reader.field.name] = value
        inside = kind.inside
        if inside is not None:
            item.values[inside.name] = parent.address if parent is not None and parent.kind.name == inside.to else None
        if parent is not None and parent.first is None and parent.kind.first is not None and parent.kind.first.to == kind.name:
            parent.first = item
        return item

    def _new(self, kind: Kind, entry: Entry, address: Address, parent: Item | None, section: str, *, advice: str = "") -> Item | None:
        """An item that says nothing yet; None, with a problem, where its address is taken."""
        before = self.items.get(address)
        if before is not None:
            here = f" (for element {self._each.element}, at {_place(self._each.place)})" if self._each is not None else ""
            first = f" (for element {before.each.element}, at {_place(before.each.place)})" if before.each is not None else ""
            same = self._each is not None and before.each is not None and self._each.at == before.each.at
            advice = advice or ("; each element needs a key of its own" if same else "; remove one of them, or give it another key")
            self.problems.add(
                entry.at, f"declared twice{here}; first at {_place(before.at)}{first}{advice}", address, id="RC-declared-twice"
            )
            return None
        place = (parent.address if parent is not None else address, section)
        item = Item(address, kind, entry.at, parent, section, self._counts[place])
        self._counts[place] += 1
        item.each = self._each
        self.items[address] = item
        return item

    def _read(self, shape: Shape, item: Item, node: Node, *, skip: tuple[str, ...]) -> None:
        report = self.problems.about(item.address)
        if not isinstance(node, Map):
            if shape.bare is not None and isinstance(node, Scalar) and not node.empty and not node.null:
                self._value(shape, item, shape.bare, node)
                return
            item.unread = True
            if isinstance(node, Scalar) and node.empty:
                report(node.at, f"{empty(item.address.key)} ({{}} for no fields)", id="RC-no-value")
            else:
                report(node.at, f"{a(item.kind.name)} must be a map, not {described(node)}", id="RC-wrong-form")
            return
        for name, entry in node.entries.items():
            if name in skip:
                continue
            if name in shape.readers:
                self._value(shape, item, name, entry.node)
            elif name in shape.sections or name in shape.lists or name in shape.singles:
                self._below(shape, item, entry)
            elif name in shape.flags:
                self.flags.read(item, entry)
            elif name in RESERVED:
                read_reserved(self.kinds, shape, item, entry, report)
            else:
                wrong = unknown_word(shape, item, name)
                report(entry.at, wrong.message, id=wrong.id)

    def _value(self, shape: Shape, item: Item, name: str, node: Node) -> None:
        item.nodes[name] = node
        if not isinstance(node, Scalar) and (left := first_unevaluated(node)) is not None:
            message = f"{name} cannot hold an expression beside forEach, which makes resources, not values; write the value out"
            self.problems.add(left.at, message, item.address, id="RC-expression-not-allowed")
        item.values[name] = shape.readers[name].read(node, self.problems.about(item.address))


def unknown_word(shape: Shape, item: Item, name: str) -> Wrong:
    """What is said of a word that a resource does not take; the word that was meant is then not missing besides."""
    known = shape.kind.fields.get(name)
    if shape.key_reader is not None and name == shape.key_reader.field.name:
        return Wrong("RC-key-elsewhere", f"{name} is not allowed here: the key is the {name}")
    if known is not None and known.role is Role.CHOICE:
        return Wrong("RC-key-elsewhere", f'{name} is not allowed here; write "{known.flag}: true" on the {known.to}')
    if known is not None and known.role is Role.OUTPUT:
        return Wrong("RC-set-by-service", f"{name} is not allowed here: the service sets it")
    if known is not None:
        return Wrong("RC-set-by-location", f"{name} is not allowed here: it follows from the location of the {shape.kind.name}")
    meant = closest(name, shape.words)
    item.meant += [meant] if meant is not None else []
    return Wrong("RC-unknown-field", f'unknown field "{name}"{did_you_mean(name, shape.words)}')


def _place(source: Source) -> str:
    return f"{source.file}:{source.line}:{source.column}"
