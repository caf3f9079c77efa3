"""The items of a project by address: a new one gets its address from its key and from what contains it. Pure.

In: the key and the container of a resource. Out: its item, without values yet; None, with a problem, if its key is invalid or its address
is in use.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reconciler.address import KEY_FORM, Address, is_key
from reconciler.config.resources.nodes import LITERAL
from reconciler.config.resources.shapes import Item, KindShape
from reconciler.config.source.nodes import Each, MapEntry, Scalar, holds_expression
from reconciler.config.source.problems import Problems, shown
from reconciler.config.values import INVALID
from reconciler.resource import Kind


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
