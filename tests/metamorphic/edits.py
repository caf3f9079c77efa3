"""Edits of a random organization of which one knows what must come of them: two titles swapped, a key renamed."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.organizations import Tree

REFERENCES = {"space": ("space", "duplicateOf"), "team": ("defaultTeam",), "site": ("site",)}  # fields that name a resource of a kind
TITLES = {"share-link": "name", "saml": "label"}
MAPS = {"teams": "team", "saml": "saml", "sites": "site", "shareLinks": "share-link"}
TAGS = ("collection", "group", "section", "space")


@dataclass(frozen=True)
class Declared:
    """A resource as it is written. `row`: the map or list that holds it; `siblings`: what tells that row from others."""

    kind: str
    address: str
    key: str
    node: Tree
    row: Any
    siblings: str

    @property
    def title(self) -> str:
        """The name of the field that holds its title."""
        return TITLES.get(self.kind, "title")


def declared(tree: Tree, above: str = "acme", row: str = "") -> Iterator[Declared]:
    """Every resource with a title or a key of its own."""
    for name, value in tree.items():
        if name in MAPS:
            for key, node in value.items():
                address = f"{above}/{MAPS[name]}/{key}"
                yield Declared(MAPS[name], address, key, node, value, f"{above} {name}")
                yield from declared(node, address)
        elif name in ("content", "structure", "spaces"):
            for node in value:
                tag = next(tag for tag in TAGS if tag in node)
                kind, key = ("site-space", node["key"]) if "key" in node else (tag, node[tag])
                yield Declared(kind, f"{above}/{kind}/{key}", key, node, value, f"{above} {row} {name}")
                yield from declared(node, above, f"{row}/{key}")


def pairs(tree: Tree) -> list[tuple[Declared, Declared]]:
    """Siblings of one kind with titles."""
    titled = [entry for entry in declared(tree) if entry.title in entry.node and entry.key not in ("blank", "template")]
    return [(a, b) for at, a in enumerate(titled) for b in titled[:at] if (a.kind, a.siblings) == (b.kind, b.siblings)]


def swapped(tree: Tree, first: str, second: str) -> Tree:
    """The same with the titles of two addresses exchanged."""
    tree = copy.deepcopy(tree)
    result = {entry.address: entry for entry in declared(tree)}
    one, other = result[first], result[second]
    one.node[one.title], other.node[other.title] = other.node[other.title], one.node[one.title]
    return tree


def renamed(tree: Tree, address: str, key: str, previously: tuple[str, ...] = ()) -> Tree:
    """The same with another key for an address, wherever it is named; `previously`: what the new one says it was."""
    tree = copy.deepcopy(tree)
    one = next(entry for entry in declared(tree) if entry.address == address)
    if isinstance(one.row, dict):
        entries = list(one.row.items())
        one.row.clear()
        one.row.update({key if name == one.key else name: node for name, node in entries})
    else:
        one.node["key" if one.kind == "site-space" else one.kind] = key
    one.node.pop("previously", None)
    if previously:
        one.node["previously"] = list(previously)
    if one.kind in REFERENCES:
        _point(tree, REFERENCES[one.kind], one.key, key, one.node)
    return tree


def _point(value: Any, fields: tuple[str, ...], old: str, new: str, itself: Tree) -> None:
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _point(part, fields, old, new, itself)
    if isinstance(value, dict):
        for field in fields:
            if value.get(field) == old and not (value is itself and field == "space"):
                value[field] = new
