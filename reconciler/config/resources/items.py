"""The items of a project by address: a new one gets its address from its key and from what contains it. Pure.

In: the key and the container of a resource. Out: its item, without values yet; None, with a problem, if its key is invalid or its address
is in use.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from reconciler.address import KEY_FORM, Address, is_key
from reconciler.config.resources.shapes import Item, KindShape
from reconciler.config.source.nodes import FOR_EACH, UNREAD, Each, Map, MapEntry, Node, Scalar, holds_expression
from reconciler.config.source.problems import Problems, described_or_nothing, shown, untainted, wrong_form
from reconciler.config.values import INVALID
from reconciler.resource import UNSET, Foreign, Kind, Named
from reconciler.text.names import a, closest, did_you_mean

LITERAL: Final = "keys must be literal text, except inside forEach: write it out"


def kind_of(members: Mapping[str, Kind], section: str, node: Node, about: Address, problems: Problems) -> tuple[Kind, Map] | None:
    """The kind of a node, and the node as a map. `members`: the kinds of its list by tag."""
    present = [tag for tag in members if tag in node.entries] if isinstance(node, Map) else []
    if len(present) == 1 and isinstance(node, Map):
        return members[present[0]], node
    choices = " or ".join(f"{{{tag}: …}}" for tag in members)
    if isinstance(node, Scalar) and not node.null and not node.empty:
        bare = next((kind for kind in members.values() if kind.place.bare_is is not None), None)
        if bare is not None:
            tag = str(bare.place.tag)
            return bare, Map(node.at, {tag: MapEntry(tag, node.at, node)})
    if not isinstance(node, Map):
        what = described_or_nothing(node)
        problems.add(node.at, f"an item of {section} is {choices}, not {what}", about, id=wrong_form(node))
        return None
    if present:
        wrong = f"an item of {section} must be one thing, not {' and '.join(present)} at once"
        problems.add(node.entries[present[1]].at, wrong, about, id="RC-node-of-two-kinds")
    else:
        first = next(iter(node.entries.values()), None)
        hint = did_you_mean(first.key, members) if first is not None else ""
        says = f"an item of {section} must say what it is: {choices}{hint}"
        problems.add(first.at if first else node.at, says, about, id="RC-node-of-no-kind")
    return None


def head_of(shape: KindShape, node: Map, about: Address, problems: Problems) -> tuple[str, tuple[str, ...], Any] | None:
    """The key of a node, the keys that were read for it, and the value of its tag if that is a field; None, with a problem, without a
    key."""
    kind, tag = shape.kind, str(shape.kind.place.tag)
    entry = node.entries[tag]
    if tag not in shape.readers:
        key = key_of(entry, about, problems)
        _without_key(node, key, about, problems)
        return (key, (tag,), UNSET) if key is not None else None
    value = shape.readers[tag].read(entry.node, problems.about(about))
    if "key" in node.entries:
        key = key_of(node.entries["key"], about, problems)
    elif isinstance(value, Named) and isinstance(entry.node, Scalar) and entry.node.computed:
        wrong = f"{tag} is also the key and comes from an expression, but {LITERAL}, or add a key of its own: key: …"
        problems.add(entry.node.at, wrong, about, id="RC-computed-key")
        return None
    elif isinstance(value, Named):
        key = value.key
    else:
        key = None
        if isinstance(value, Foreign):
            wrong = f"{a(kind.name)} of {a(tag)} outside the project needs a key of its own: key: …"
            problems.add(entry.at, wrong, about, id="RC-key-needed")
    _without_key(node, key, about, problems)
    return (key, (tag, "key"), value) if value is not INVALID and key is not None else None


def key_of(entry: MapEntry, about: Address, problems: Problems) -> str | None:
    """The key that an entry contains."""
    node = entry.node
    if problems.settled and node.at in problems.settled:
        return None  # its expression failed
    if isinstance(node, Scalar) and node.computed:
        problems.add(node.at, f"{entry.key} comes from an expression, but {LITERAL}", about, id="RC-computed-key")
    elif isinstance(node, Scalar) and node.value is UNREAD and not node.null and not node.empty:
        return node.text
    elif isinstance(node, Scalar) and isinstance(node.value, int) and not isinstance(node.value, bool) and not node.taint:
        return str(node.value)  # of an element of forEach
    elif isinstance(node, Scalar) and isinstance(node.value, str) and untainted(node, entry.key, problems.about(about)):
        return node.value
    elif not isinstance(node, Scalar) or not node.taint:
        what = described_or_nothing(node)
        problems.add(node.at, f"{entry.key} must be a key, not {what}", about, id="RC-not-a-key")
    return None


def _without_key(node: Map, key: str | None, about: Address, problems: Problems) -> None:
    """Report a node without a key, as its resource is unknown; a misspelled `forEach` may be why an expression has no value."""
    if key is None:
        problems.partial = True
        for name, entry in node.entries.items():
            if closest(name, [FOR_EACH]) is not None:
                problems.add(entry.at, f'unknown field "{name}"{did_you_mean(name, [FOR_EACH])}', about, id="RC-unknown-field")


@dataclass(eq=False)
class ItemReader:
    """`each`: the element of `forEach` for which items are created. `written`: the containers and kinds for which files have a section."""

    shapes: Mapping[str, KindShape]
    problems: Problems
    by_address: dict[Address, Item] = field(default_factory=dict)
    written: set[tuple[Address, str]] = field(default_factory=set)
    each: Each | None = None
    _counts: defaultdict[tuple[Address, str], int] = field(default_factory=lambda: defaultdict(int))

    def mark(self, kind: Kind, parent: Item) -> None:
        """Record that the files have a section for a kind."""
        if kind.within is not None:
            self.written.add(((parent.around(kind.within) or parent).address, kind.name))

    def in_order(self) -> dict[Address, Item]:
        """Each root, then what it contains, as the files have it."""
        below: dict[Address | None, list[Item]] = defaultdict(list)
        for item in self.by_address.values():
            below[item.parent.address if item.parent is not None else None].append(item)
        ordered: dict[Address, Item] = {}
        waiting = list(reversed(below[None]))
        while waiting:
            item = waiting.pop()
            ordered[item.address] = item
            waiting += reversed(below[item.address])
        return ordered

    def keyed(self, kind: Kind, entry: MapEntry, key: str, parent: Item | None, section: str, *, advice: str = "") -> Item | None:
        """A new item; None, with a problem, if the key is invalid or in use."""
        about = parent.address if parent is not None else None
        reader = self.shapes[kind.name].key_reader
        value: Any = None
        if reader is not None:
            value = reader.read(Scalar(entry.at, key, False), self.problems.about(about))
            if value is INVALID:
                return None
            if isinstance(value, str):
                key = value  # a field's validation may normalize its spelling: upper and lower case of an e-mail
        if holds_expression(key):
            self.problems.add(entry.at, f"{shown(key)} is an expression, but {LITERAL}", about, id="RC-computed-key")
            return None
        if not is_key(key):
            wrong = f"{shown(key)} is not a key; {'an expression is written ${{ … }}' if '{{' in key else KEY_FORM}"
            self.problems.add(entry.at, wrong, about, id="RC-not-a-key")
            return None
        if parent is None or kind.within is None:
            address = Address((key,))
        else:
            holder = parent.around(kind.within)
            address = (holder or parent).address.child(kind.name, key)
        item = self.new(kind, entry, address, parent, section, advice=advice)
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

    def new(self, kind: Kind, entry: MapEntry, address: Address, parent: Item | None, section: str, *, advice: str = "") -> Item | None:
        """An item without values; None, with a problem, if its address is in use."""
        before = self.by_address.get(address)
        if before is not None:
            here = f" (for element {self.each.element}, at {self.each.place})" if self.each is not None else ""
            first = f" (for element {before.each.element}, at {before.each.place})" if before.each is not None else ""
            same = self.each is not None and before.each is not None and self.each.at == before.each.at
            advice = advice or ("; each element needs a key of its own" if same else "; remove one of them, or give it another key")
            self.problems.add(entry.at, f"declared twice{here}; first at {before.at}{first}{advice}", address, id="RC-declared-twice")
            return None
        place = (parent.address if parent is not None else address, section)
        item = Item(address, kind, entry.at, parent, section, self._counts[place])
        self._counts[place] += 1
        item.each = self.each
        self.by_address[address] = item
        return item
