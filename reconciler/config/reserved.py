"""The words that stand on every resource (`id`, `key`, `previously`, `protect`, `adopt`, `expect`, `forEach`). Pure."""

from __future__ import annotations

from reconciler.address import is_key
from reconciler.config.shapes import Item, Shape
from reconciler.config.source.nodes import UNREAD, Entry, List, Map, Report, Scalar, described, empty, untainted
from reconciler.config.values import INVALID
from reconciler.config.words import ADOPT
from reconciler.model import Expected
from reconciler.resource import Kinds
from reconciler.text.suggest import a, did_you_mean


def read_reserved(kinds: Kinds, shape: Shape, item: Item, entry: Entry, report: Report) -> None:
    """Take one reserved word into the item."""
    node, name = entry.node, entry.key
    if isinstance(node, Scalar) and node.empty:
        report(node.at, empty(name))
        return
    if not untainted(node, name, report):
        return
    match name:
        case "forEach":
            report(entry.at, "forEach is not allowed here")
        case "key":
            report(entry.at, f'key is not allowed here: it is already "{item.address.key}"')
        case "previously":
            _previously(kinds, shape, item, entry, report)
        case "expect":
            _expect(shape, item, entry, report)
        case "id" if isinstance(node, Scalar) and not node.null and is_key(node.text):
            item.id = node.text
        case "id" if isinstance(node, Scalar) and not node.null and node.text:
            report(node.at, f"{described(node)} is not a valid id: only letters, digits and . _ @ + - are allowed")
        case "id":
            report(node.at, f"id must be the text that identifies the object on the service, not {described(node)}")
        case "protect" if isinstance(node, Scalar) and isinstance(node.core(), bool):
            item.protect = node.core()
        case "protect":
            report(node.at, f"protect must be true or false, not {described(node)}")
        case "adopt" if isinstance(node, Scalar) and node.text in ADOPT:
            item.adopt = node.text != "never"
        case "adopt":
            hint = did_you_mean(node.text, ADOPT) if isinstance(node, Scalar) else ""
            report(node.at, f"adopt is {described(node)}; one of {', '.join(ADOPT)}{hint}")


def _expect(shape: Shape, item: Item, entry: Entry, report: Report) -> None:
    """The values that the service is to derive."""
    names = item.kind.expectable
    if not names:
        report(entry.at, f"expect is not allowed here: the service derives nothing of {a(item.kind.name)}")
    elif not isinstance(entry.node, Map):
        report(entry.node.at, f"expect must be a map, not {described(entry.node)}; write {{{names[0]}: …}}")
    else:
        for one in entry.node.entries.values():
            if one.key not in names:
                hint = did_you_mean(one.key, names) or f"; one of {', '.join(names)}"
                report(one.at, f'expect knows no "{one.key}"{hint}')
                continue
            value = shape.readers[one.key].read(one.node, report) if one.key in shape.readers else _text(one, report)
            if isinstance(value, str):
                item.expected[one.key] = Expected(value, one.at)


def _text(entry: Entry, report: Report) -> str | None:
    node = entry.node
    if isinstance(node, Scalar) and not node.null and (isinstance(node.value, str) or node.value is UNREAD) and node.text:
        return node.text
    report(node.at, f"{entry.key} must be text, not {'nothing' if isinstance(node, Scalar) and node.empty else described(node)}")
    return None


def _previously(kinds: Kinds, shape: Shape, item: Item, entry: Entry, report: Report) -> None:
    if not isinstance(entry.node, List):
        report(entry.node.at, f"previously must be a list of keys, not {described(entry.node)}; write [old-key]")
        return
    for node in entry.node.items:
        key = node.text if isinstance(node, Scalar) else ""
        if shape.key_reader is not None and key:
            settled = shape.key_reader.read(Scalar(node.at, key, False), report)
            key = settled if settled is not INVALID and isinstance(settled, str) else ""
        if not is_key(key):
            report(node.at, f"previously holds keys, not {described(node)}")
        else:
            item.previously.append((kinds.address(item.address, item.kind.name, key), node.at))
