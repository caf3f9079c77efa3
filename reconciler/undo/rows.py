"""What stands below each parent now, and putting something back between. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from reconciler.address import Address
from reconciler.model import Actual, Stood
from reconciler.plan.siblings.positions import lists, parent_of, strangers, woven
from reconciler.resource import Kinds
from reconciler.undo.snapshot import ObservedObject


def standing(known: Mapping[Address, ObservedObject], among: Mapping[Address, ObservedObject] = {}) -> dict[Address, list[Address]]:
    """What stands below each parent, in order. `among`: things that nobody manages, in the order in which they are shown."""
    names = {thing.id: address for address, thing in known.items()}
    rows = woven(lists(known.values(), names), list(among.values()), names)
    return {parent: [thing.address for thing in row] for parent, row in rows.items()}


def beside(
    kinds: Kinds, actual: Actual, known: Mapping[Address, ObservedObject], parents: Collection[Address]
) -> dict[Address, ObservedObject]:
    """What nobody manages and a listing shows below these parents, by its address with its id as key."""
    names = {thing.id: address for address, thing in known.items()}
    return {
        thing.address: ObservedObject(thing.address, thing.kind, thing.observed.id, None, thing.observed)
        for thing in strangers(kinds, actual, names)
        if parent_of(thing, names) in parents
    }


def put_back(rows: dict[Address, list[Address]], places: Mapping[Address, Stood], stood: Mapping[Address, Stood]) -> None:
    """Insert each behind the one it stood behind, or behind the next before that which is still there."""
    for address, place in sorted(places.items(), key=lambda pair: (pair[1].parent, pair[1].index)):
        row = rows.setdefault(place.parent, [])
        previous, seen = place.previous, {address}
        while previous is not None and previous not in row:
            if previous in seen or previous not in stood or stood[previous].parent != place.parent:
                break
            seen.add(previous)
            previous = stood[previous].previous
        at = 0 if previous is None else row.index(previous) + 1 if previous in row else min(place.index, len(row))
        row.insert(at, address)


def uncircled(places: dict[Address, Stood], rows: Mapping[Address, Collection[Address]]) -> Iterator[tuple[Address, Address]]:
    """Take out of the places what would then stand within itself; each with the parent it would have had. `rows`: how all stands now."""
    now = {address: parent for parent, row in rows.items() for address in row}
    for address in sorted(places):
        parents = now | {moved: stood.parent for moved, stood in places.items()}
        above, seen = parents[address], {address}
        while above in parents and above not in seen:
            seen.add(above)
            above = parents[above]
        if above == address:
            yield address, places.pop(address).parent
