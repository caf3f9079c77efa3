"""Where siblings stand now, as far as anyone can know. Pure.

In: objects that are or were managed. Out: their order in each list. Where no listing shows it, the order that was last applied stands in
for it; where nothing is known, the order in which they are given.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from reconciler.address import Address
from reconciler.model import Binding, Observed, Stood
from reconciler.resource import Kind


class Sibling(Protocol):
    """What must be known of an object to tell where it stands."""

    @property
    def address(self) -> Address: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def binding(self) -> Binding | None: ...
    @property
    def observed(self) -> Observed | None: ...


S = TypeVar("S", bound=Sibling)


def standing(present: Sequence[S], parent: str) -> list[S]:
    """The siblings that stand below `parent` (an address, as places name it), in their order there."""
    base = list(present)
    places = {one.address: placed(one, parent) for one in present}
    if all(index is not None for index in places.values()):
        base.sort(key=lambda one: places[one.address] or 0)
    shown: dict[str, list[S]] = defaultdict(list)
    for one in base:
        shown[one.kind.name].append(one)
    for name, some in shown.items():
        ranks = {one.address: one.observed.rank for one in some if one.observed is not None and one.observed.rank is not None}
        if len(ranks) == len(some):
            ranked = iter(sorted(some, key=lambda one: ranks[one.address]))
            base = [next(ranked) if one.kind.name == name else one for one in base]
    return base


def placed(one: Sibling, parent: str) -> int | None:
    """Its index below that parent when it was last placed there; None where it never was."""
    place = one.binding.place if one.binding is not None else None
    return place.index if place is not None and place.parent == parent else None


def parent_of(one: Sibling, names: Mapping[str, Address]) -> Address | None:
    """The address it stands below: the node it is in, else its fixed container; None where that is not managed. `names`: by id."""
    inside = one.kind.inside
    held = one.observed.values.get(inside.name) if one.observed is not None and inside is not None else None
    return names.get(str(held)) if held else one.address.container


def lists(everyone: Iterable[S], names: Mapping[str, Address]) -> dict[Address, list[S]]:
    """What stands below each parent now, in order; only what is there and has an order."""
    found: dict[Address, list[S]] = defaultdict(list)
    for one in everyone:
        if one.kind.ordered and one.observed is not None and one.observed.deleted_at is None:
            parent = parent_of(one, names)
            if parent is not None:
                found[parent].append(one)
    return {parent: standing(some, str(parent)) for parent, some in found.items()}


def stood(everyone: Iterable[Sibling], names: Mapping[str, Address]) -> dict[Address, Stood]:
    """Where each of them stands now."""
    found = {}
    for parent, some in lists(everyone, names).items():
        previous: Address | None = None
        for index, one in enumerate(some):
            found[one.address] = Stood(parent, index, previous)
            previous = one.address
    return found
