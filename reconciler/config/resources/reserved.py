"""The keys that every resource accepts (`id`, `key`, `previously`, `protect`, `adopt`, `expect`, `forEach`, `ignoreChanges`), and flags:
keys that make a resource the one that its container chooses (`default`). Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from reconciler.address import is_id, is_key
from reconciler.config.keys import ADOPT
from reconciler.config.resources.ignored_changes import read_names
from reconciler.config.resources.shapes import Item, KindShape
from reconciler.config.source.nodes import UNREAD, List, Map, MapEntry, Scalar
from reconciler.config.source.problems import ProblemReport, Problems, described, described_or_nothing, empty, untainted, wrong_form
from reconciler.config.values import INVALID
from reconciler.model import ExpectedValue
from reconciler.resource import Field, Kinds
from reconciler.text.names import a, did_you_mean


def read_reserved(kinds: Kinds, shape: KindShape, item: Item, entry: MapEntry, report: ProblemReport) -> None:
    """Copy one reserved key into the item."""
    node, name = entry.node, entry.key
    if isinstance(node, Scalar) and node.empty:
        report(node.at, empty(name), id="RC-no-value")
        return
    if not untainted(node, name, report):
        return
    match name:
        case "forEach":
            report(entry.at, "forEach is not allowed here", id="RC-for-each-elsewhere")
        case "key":
            report(entry.at, f'key is not allowed here: it is already "{item.address.key}"', id="RC-key-elsewhere")
        case "previously":
            _previously(kinds, shape, item, entry, report)
        case "expect":
            _expect(shape, item, entry, report)
        case "ignoreChanges":
            item.ignores = frozenset(read_names(entry, (item.kind,), a(item.kind.name), report))
        case "id" if isinstance(node, Scalar) and not node.null and is_id(node.text):
            item.id = node.text
        case "id" if isinstance(node, Scalar) and not node.null and node.text:
            report(node.at, f"{described(node)} is not a valid id: only letters, digits and . _ @ + - are allowed", id="RC-not-an-id")
        case "id":
            report(node.at, f"id must be the text that identifies the object on the service, not {described(node)}", id="RC-not-an-id")
        case "protect" if isinstance(node, Scalar) and isinstance(node.core(), bool):
            item.protect = node.core()
        case "protect":
            report(node.at, f"protect must be true or false, not {described(node)}", id="RC-wrong-form")
        case "adopt" if isinstance(node, Scalar) and node.text in ADOPT:
            item.adopt = node.text != "never"
        case "adopt":
            hint = did_you_mean(node.text, ADOPT) if isinstance(node, Scalar) else ""
            report(node.at, f"adopt is {described(node)}; one of {', '.join(ADOPT)}{hint}", id="RC-unknown-choice")


def _expect(shape: KindShape, item: Item, entry: MapEntry, report: ProblemReport) -> None:
    """The values that the service is expected to derive."""
    names = item.kind.expectable
    if not names:
        report(entry.at, f"expect is not allowed here: the service derives nothing of {a(item.kind.name)}", id="RC-expect-not-allowed")
    elif not isinstance(entry.node, Map):
        report(entry.node.at, f"expect must be a map, not {described(entry.node)}; write {{{names[0]}: …}}", id="RC-wrong-form")
    else:
        for value_entry in entry.node.entries.values():
            if value_entry.key not in names:
                hint = did_you_mean(value_entry.key, names) or f"; one of {', '.join(names)}"
                report(value_entry.at, f'expect knows no "{value_entry.key}"{hint}', id="RC-expect-not-allowed")
                continue
            value = (
                shape.readers[value_entry.key].read(value_entry.node, report)
                if value_entry.key in shape.readers
                else _text(value_entry, report)
            )
            if isinstance(value, str):
                item.expected[value_entry.key] = ExpectedValue(value, value_entry.at)


def _text(entry: MapEntry, report: ProblemReport) -> str | None:
    node = entry.node
    if isinstance(node, Scalar) and not node.null and (isinstance(node.value, str) or node.value is UNREAD) and node.text:
        return node.text
    wrong = f"{entry.key} must be text, not {described_or_nothing(node)}"
    report(node.at, wrong, id=wrong_form(node))
    return None


def _previously(kinds: Kinds, shape: KindShape, item: Item, entry: MapEntry, report: ProblemReport) -> None:
    if not isinstance(entry.node, List):
        report(entry.node.at, f"previously must be a list of keys, not {described(entry.node)}; write [old-key]", id="RC-wrong-form")
        return
    for node in entry.node.items:
        key = node.text if isinstance(node, Scalar) else ""
        if shape.key_reader is not None and key:
            settled = shape.key_reader.read(Scalar(node.at, key, False), report)
            key = settled if settled is not INVALID and isinstance(settled, str) else ""
        if not is_key(key):
            last = key.rpartition("/")[2]
            way = f"; write {last}, the last part of the address" if "/" in key and is_key(last) else ""
            report(node.at, f"previously contains keys, not {described(node)}{way}", id="RC-not-a-key")
        else:
            item.previously += ((kinds.address(item.address, item.kind.name, key), node.at),)


@dataclass(eq=False)
class ResourceFlags:
    """Reads the flags of all resources. `declined`: the false ones, each with the parent that chooses and the field."""

    kinds: Kinds
    problems: Problems
    declined: list[tuple[Item, MapEntry, Item, Field]] = field(default_factory=list)

    def read(self, item: Item, entry: MapEntry) -> None:
        """Copy one flag into the item that chooses."""
        report, flag = self.problems.about(item.address), entry.key
        value = entry.node.core() if isinstance(entry.node, Scalar) and not entry.node.taint else None
        if not isinstance(value, bool):
            what = described_or_nothing(entry.node)
            report(
                entry.node.at, f'{flag} must be true or false, not {what}; write "{flag}: true" on the {flag}', id=wrong_form(entry.node)
            )
            return
        around = self.kinds.chooser(item.kind.name, flag, _around(item))
        if around is None:
            report(entry.at, f"its container has no {flag} {item.kind.name}", id="RC-no-choice-here")
            return
        chooser, chosen = around
        if not value:
            self.declined.append((item, entry, chooser, chosen))
        elif chosen.name in chooser.flagged:
            other = chooser.flagged[chosen.name]
            wrong = f"{chooser.address} has two {flag}s; the other is {other.address} at {other.at}"
            if item.each is not None and other.at == item.at:  # the same is true of each of its containers
                wrong = f"{flag} is true for two elements of one {chooser.kind.name}; write an expression that is true for one of them"
            report(entry.at, wrong, id="RC-chosen-twice")
        else:
            chooser.flagged[chosen.name] = item
            chooser.values[chosen.name] = item.address
            chooser.nodes[chosen.name] = entry.node

    def check(self) -> None:
        """Report each false flag whose parent has no true one: it would have no effect."""
        for item, entry, chooser, chosen in self.declined:
            if chosen.name not in chooser.flagged:
                wrong = f"{entry.key} is false, and no other {item.kind.name} of {chooser.address} is the {entry.key}"
                self.problems.add(entry.node.at, f'{wrong}; write "{entry.key}: true" on it', item.address, id="RC-flag-without-choice")


def _around(item: Item) -> Iterator[tuple[str, Item]]:
    """The items that contain an item, the nearest first, each with its kind."""
    at = item.parent
    while at is not None:
        yield at.kind.name, at
        at = at.parent
