"""The order of the resources of a project: the same whatever the order of its files, of their sections and of the keys. Pure.

In: the items of the tree, as the files have them. Out: the same, containers before what they contain. Only an ordered list keeps its order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from reconciler.address import Address
from reconciler.config.shapes import Item
from reconciler.resource import Kinds


def canonical(kinds: Kinds, items: Mapping[Address, Item]) -> list[Item]:
    """Maps sorted by key, and the maps and lists of a resource by kind. Numbers the items of each map anew."""
    below: dict[Address | None, list[Item]] = defaultdict(list)
    for item in items.values():
        below[item.parent.address if item.parent is not None else None].append(item)
    ranks = _ranks(kinds)

    def place(item: Item) -> tuple[int, int, str]:
        in_list = item.kind.place.in_list
        return ranks[item.section], item.index if in_list else 0, "" if in_list else item.address.key

    found: list[Item] = []
    waiting = sorted(below[None], key=place, reverse=True)
    while waiting:
        item = waiting.pop()
        found.append(item)
        waiting += sorted(below[item.address], key=place, reverse=True)
    _number(found)
    return found


def _ranks(kinds: Kinds) -> dict[str, int]:
    """The rank of each map and list by name: the place of the first of its kinds among all kinds."""
    ranks: dict[str, int] = {}
    for rank, kind in enumerate(kinds.values()):
        for section in kind.place.sections:
            ranks.setdefault(section, rank)
    return ranks


def _number(items: list[Item]) -> None:
    """Number the items of each map; those of a list have their numbers."""
    counts: dict[tuple[Address | None, str], int] = defaultdict(int)
    for item in items:
        if not item.kind.place.in_list:
            place = (item.parent.address if item.parent is not None else None, item.section)
            item.index = counts[place]
            counts[place] += 1
