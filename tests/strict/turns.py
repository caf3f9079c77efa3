"""What people do to the lists of any project: turn them around, carry entries elsewhere, take some out. Functions over its parsed files."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

Tree = dict[str, Any]
Files = dict[str, Any]
Edit = Callable[[Files], Files]

ORDERED = ("content", "structure", "spaces")


def turned(files: Files) -> Files:
    """Every ordered list from its end to its beginning."""
    files = copy.deepcopy(files)
    for row in _rows(files):
        row.reverse()
    return files


def carried(files: Files) -> Files:
    """A space of the first collection goes to the root, a section out of its group and another one into it, a variant to the next section.

    A collection goes into its neighbour, and so does a group, which the service can only replace.
    """
    files = copy.deepcopy(files)
    for root in _named(files, "content", outermost=True):
        collections = [node for node in root if _is(node, "collection") and node.get("content")]
        if collections and (leaf := next((node for node in collections[0]["content"] if _is(node, "space")), None)):
            collections[0]["content"].remove(leaf)
            root.append(leaf)
        if len(collections) > 1:
            root.remove(collections[-1])
            collections[0]["content"].insert(0, collections[-1])
    for root in _named(files, "structure", outermost=True):
        groups = [node for node in root if _is(node, "group") and node.get("structure")]
        sections = [node for node in root if _is(node, "section")]
        if groups and (inner := next((node for node in groups[0]["structure"] if _is(node, "section")), None)):
            groups[0]["structure"].remove(inner)
            root.insert(0, inner)
        if groups and sections:
            root.remove(sections[-1])
            groups[0]["structure"].append(sections[-1])
        if len(groups) > 1:
            root.remove(groups[-1])
            groups[0]["structure"].insert(0, groups[-1])
        if len(sections) > 1 and len(sections[0].get("spaces", ())) > 1:
            keys = {_key(variant) for variant in sections[1]["spaces"]}
            if _key(sections[0]["spaces"][-1]) not in keys:
                sections[1]["spaces"].append(_not_default(sections[0]["spaces"].pop()))
    return files


def thinned(files: Files) -> Files:
    """Every list of a site loses its last entry, where something is left, and so do share links, specifications and providers."""
    files = copy.deepcopy(files)
    for root in [*_named(files, "structure"), *_named(files, "spaces")]:
        if len(root) > 1:
            root.remove(next((node for node in reversed(root) if not (isinstance(node, dict) and node.get("default"))), root[-1]))
    for name in ("shareLinks", "openapi", "saml"):
        for table in _named(files, name):
            if len(table) > 1:  # the last one of a kind is deleted only with consent
                table.popitem()
    return files


def _is(node: Any, tag: str) -> bool:
    return isinstance(node, dict) and tag in node


def _key(variant: Any) -> Any:
    return variant if isinstance(variant, str) else variant.get("key", variant.get("space"))


def _not_default(variant: Any) -> Any:
    return {name: value for name, value in variant.items() if name != "default"} if isinstance(variant, dict) else variant


def _rows(part: Any) -> Iterator[list[Any]]:
    for name, value in _entries(part):
        if name in ORDERED and isinstance(value, list):
            yield value


def _named(part: Any, wanted: str, *, outermost: bool = False) -> list[Any]:
    """The values of that name. `outermost`: not those inside of another ordered list."""
    found = [value for name, value in _entries(part, whole=not outermost) if name == wanted]
    return [value for value in found if isinstance(value, list | dict)]


def _entries(part: Any, *, whole: bool = True) -> Iterator[tuple[str, Any]]:
    """Every entry of every map at any depth. `whole` false: not those inside of an ordered list."""
    if isinstance(part, list):
        for inner in part:
            yield from _entries(inner, whole=whole)
    elif isinstance(part, dict):
        for name, value in part.items():
            yield name, value
            if whole or name not in ORDERED:
                yield from _entries(value, whole=whole)
