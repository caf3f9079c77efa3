"""The order of the resources of a project, and the digest of what it declares: the same whatever the order of its files, sections and keys.

In: the items of the tree, as the files have them. Out: the same, containers before what they contain. Only an ordered list keeps its order.
Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from reconciler.address import Address
from reconciler.config.resources.shapes import Item
from reconciler.model import Desired
from reconciler.resource import Foreign, Kinds


def canonical(kinds: Kinds, items: Mapping[Address, Item]) -> list[Item]:
    """Maps sorted by key, and the maps and lists of a resource by kind. Renumbers the items of each map."""
    below: dict[Address | None, list[Item]] = defaultdict(list)
    for item in items.values():
        below[item.parent.address if item.parent is not None else None].append(item)
    ranks = _ranks(kinds)

    def place(item: Item) -> tuple[int, int, str]:
        in_list = item.kind.place.in_list
        return ranks[item.section], item.index if in_list else 0, "" if in_list else item.address.key

    ordered: list[Item] = []
    # A stack instead of recursion: groups of a site nest as deep as a file allows.
    waiting = sorted(below[None], key=place, reverse=True)
    while waiting:
        item = waiting.pop()
        ordered.append(item)
        waiting += sorted(below[item.address], key=place, reverse=True)
    _number(ordered)
    return ordered


def _ranks(kinds: Kinds) -> dict[str, int]:
    """The rank of each map and list by name: the position of the first of its kinds among all kinds."""
    ranks: dict[str, int] = {}
    for rank, kind in enumerate(kinds.values()):
        for section in kind.place.sections:
            ranks.setdefault(section, rank)
    return ranks


def _number(items: list[Item]) -> None:
    """Number the items of each map; those of a list are numbered already."""
    counts: dict[tuple[Address | None, str], int] = defaultdict(int)
    for item in items:
        if not item.kind.place.in_list:
            place = (item.parent.address if item.parent is not None else None, item.section)
            item.index = counts[place]
            counts[place] += 1


def digest(desired: Desired) -> str:
    """SHA-256 of what a project declares; independent of its files, their layout and the order of keys."""
    orders: dict[tuple[str, str], list[str]] = defaultdict(list)
    resources = {}
    for address, declared in desired.resources.items():
        orders[(str(declared.parent or ""), declared.section)].append(str(address))
        resources[str(address)] = [
            declared.kind,
            declared.values,
            str(declared.parent or ""),
            declared.section,
            declared.id,
            [str(former) for former in declared.previously],
            declared.protect,
            declared.adopt,
            declared.implied,
            *([{name: expected.value for name, expected in declared.expected.items()}] if declared.expected else []),
            *([sorted(declared.ignores)] if declared.ignores else []),
        ]
    whole = {
        "project": desired.project,
        "environment": desired.environment,
        "resources": resources,
        "orders": {f"{parent} {section}": order for (parent, section), order in orders.items()},
        "prune": dict(desired.prune),
        "protect": sorted(desired.protect),
        # Saved plans of before have no such key.
        "guards": {name: limit for name, limit in vars(desired.guards).items() if name != "dead_urls" or limit is not None},
        "moved": [[str(moved.old), str(moved.new)] for moved in desired.moved],
        "removed": {str(address): removed.action for address, removed in desired.removed.items()},
        "written": sorted([str(address), name] for address, name in desired.written),
        "lister": str(desired.lister or ""),
        "access": sorted(desired.rules.access),
    }
    for key, value in desired.features.items():
        whole |= key.digested(value)
    return hashlib.sha256(json.dumps(whole, sort_keys=True, separators=(",", ":"), default=_encoded).encode()).hexdigest()


def _encoded(value: Any) -> Any:
    """Values that JSON cannot represent."""
    return {"address": str(value)} if isinstance(value, Address) else {"id": value.id} if isinstance(value, Foreign) else repr(value)
