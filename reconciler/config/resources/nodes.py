"""Nodes of ordered lists: their kinds and keys. Pure.

In: a node of the YAML. Out: its kind, or its key and the value that determined it; None, with a problem, if unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from reconciler.address import Address
from reconciler.config.resources.shapes import KindShape
from reconciler.config.source.nodes import FOR_EACH, UNREAD, Map, MapEntry, Node, Scalar
from reconciler.config.source.problems import Problems, described_or_nothing, untainted, wrong_form
from reconciler.config.values import INVALID
from reconciler.resource import UNSET, Foreign, Kind, Named
from reconciler.text.suggest import a, closest, did_you_mean

LITERAL: Final = "keys must be literal text, except inside forEach: write it out"


@dataclass(frozen=True)
class Head:
    """The first keys of a node: its `key`, and the `value` of its tag if that is a field. `words`: the keys that were read."""

    key: str
    words: tuple[str, ...]
    value: Any = UNSET


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


def head_of(shape: KindShape, node: Map, about: Address, problems: Problems) -> Head | None:
    """The key and tag of a node; None, with a problem, if it has no key."""
    kind, tag = shape.kind, str(shape.kind.place.tag)
    entry = node.entries[tag]
    if tag not in shape.readers:
        key = key_of(entry, about, problems)
        _without_key(node, key, about, problems)
        return Head(key, (tag,)) if key is not None else None
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
    return Head(key, (tag, "key"), value) if value is not INVALID and key is not None else None


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
