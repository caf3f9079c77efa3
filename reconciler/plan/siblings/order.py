"""The order in which siblings are now, on the service or in a list that changes. Pure.

Where no listing shows it, it is the order that was last applied; where nothing is known, the order in which objects are given. In: what was
read, and the places that the state remembers. Out: the siblings below each parent, and the `Position` of each.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from reconciler.address import Address, bare
from reconciler.model import Actual, Binding, Observed, Position
from reconciler.plan.siblings.moves import moves
from reconciler.resource import Kind, Kinds


class Sibling(Protocol):
    """What must be known of an object to find its position."""

    @property
    def address(self) -> Address: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def binding(self) -> Binding | None: ...
    @property
    def observed(self) -> Observed | None: ...


S = TypeVar("S", bound=Sibling)


def current_order(present: Sequence[S], parent: Address | None) -> list[S]:
    """The siblings below `parent`, in their current order."""
    places = {sibling.address: index for sibling in present if (index := last_index(sibling, parent)) is not None}
    sorted_ones = iter(sorted((sibling for sibling in present if sibling.address in places), key=lambda sibling: places[sibling.address]))
    base = [next(sorted_ones) if sibling.address in places else sibling for sibling in present]
    shown: dict[str, list[S]] = defaultdict(list)
    for sibling in base:
        shown[sibling.kind.name].append(sibling)
    for some in shown.values():
        ranks = {
            sibling.address: sibling.observed.rank for sibling in some if sibling.observed is not None and sibling.observed.rank is not None
        }
        if len(ranks) == len(some):
            base = _ranked(base, ranks)
    return base


def _ranked(row: Sequence[S], ranks: Mapping[Address, int]) -> list[S]:
    """A row with the siblings that a listing shows in its order. Each that people moved is behind the one that it follows in the listing;
    all others, and what no listing shows, keep their places."""
    then = [sibling.address for sibling in row if sibling.address in ranks]
    now = sorted(then, key=ranks.__getitem__)
    moved = {move.item for move in moves(then, now)}
    if not moved:
        return list(row)
    by_address = {sibling.address: sibling for sibling in row}
    behind: dict[Address | None, list[S]] = defaultdict(list)
    previous: Address | None = None
    for address in now:
        if address in moved:
            behind[previous].append(by_address[address])
        else:
            previous = address
    first = next(address for address in now if address not in moved)
    order: list[S] = []
    for sibling in row:
        order += behind[None] if sibling.address == first else []
        order += [] if sibling.address in moved else [sibling, *behind[sibling.address]]
    return order


def is_ranked(kind: Kind, observed: Observed) -> bool:
    """Whether a listing would show the object among its siblings."""
    for reading in kind.listings:
        if reading.ordered:
            return reading.each is None or (kind.inside is not None and observed.values.get(kind.inside.name) is not None)
    return False


def last_index(sibling: Sibling, parent: Address | None) -> int | None:
    """Its index below that parent when it was last placed there; None where it never was."""
    place = sibling.binding.place if sibling.binding is not None else None
    return place.index if place is not None and place.parent == parent else None


def parent_of(sibling: Sibling, names: Mapping[str, Address]) -> Address | None:
    """The address of its parent: the node it is in, else its fixed container; None where that is not managed. `names`: by id."""
    inside = sibling.kind.inside
    held = sibling.observed.values.get(inside.name) if sibling.observed is not None and inside is not None else None
    return names.get(str(held)) if held else sibling.address.container


def by_parent(everyone: Iterable[S], names: Mapping[str, Address]) -> dict[Address, list[S]]:
    """The existing, ordered objects below each parent now, in their order."""
    rows: dict[Address, list[S]] = defaultdict(list)
    for sibling in everyone:
        if sibling.kind.ordered and sibling.observed is not None and sibling.observed.deleted_at is None:
            parent = parent_of(sibling, names)
            if parent is not None:
                rows[parent].append(sibling)
    return {parent: current_order(some, parent) for parent, some in rows.items()}


@dataclass(frozen=True)
class UnmanagedSibling:
    """An object that nobody manages, in a list whose order a listing shows; its id is the key of its address."""

    address: Address
    kind: Kind
    observed: Observed
    binding: Binding | None = None


def unmanaged_siblings(kinds: Kinds, actual: Actual, names: Mapping[str, Address]) -> list[UnmanagedSibling]:
    """The unmanaged objects in managed containers. `names`: the addresses of managed objects, by id."""
    siblings = []
    for kind in kinds.values():
        for observed in actual.objects.get(kind.name, {}).values():
            container = names.get(observed.within.get(kind.within or "", ""))
            if (
                kind.ordered
                and observed.rank is not None
                and observed.id not in names
                and observed.deleted_at is None
                and container is not None
            ):
                siblings.append(UnmanagedSibling(container.child(kind.name, bare(observed.id)), kind, observed))
    return sorted(siblings, key=lambda sibling: (sibling.observed.rank or 0, sibling.address))


def with_unmanaged(
    rows: Mapping[Address, Sequence[Sibling]], unmanaged: Sequence[Sibling], names: Mapping[str, Address]
) -> dict[Address, list[Sibling]]:
    """The rows with unmanaged siblings: each after the sibling of its kind that is shown before it, else before the first of its kind."""
    result: dict[Address, list[Sibling]] = {parent: list(row) for parent, row in rows.items()}
    inserted: dict[Address, list[Sibling]] = defaultdict(list)
    for sibling in unmanaged:
        if (parent := parent_of(sibling, names)) is not None:
            inserted[parent].append(sibling)
    return result | {parent: _row_with_unmanaged(result.get(parent, []), some) for parent, some in inserted.items()}


def _row_with_unmanaged(row: Sequence[Sibling], unmanaged: Sequence[Sibling]) -> list[Sibling]:
    """One row with the unmanaged siblings in it."""
    before: dict[int, list[Sibling]] = defaultdict(list)  # who comes before each place of the row
    for name in dict.fromkeys(sibling.kind.name for sibling in unmanaged):
        alike = [index for index, other in enumerate(row) if other.kind.name == name]
        shown = deque(sorted(alike, key=lambda index: _rank(row[index]) or 0))
        place = alike[0] if alike else len(row)
        for sibling in sorted((sibling for sibling in unmanaged if sibling.kind.name == name), key=lambda sibling: _rank(sibling) or 0):
            while shown and (_rank(row[shown[0]]) or 0) < (_rank(sibling) or 0):
                place = max(place, shown.popleft() + 1)
            before[place].append(sibling)
    return [sibling for index in range(len(row) + 1) for sibling in (*before[index], *row[index : index + 1])]


def _rank(sibling: Sibling) -> int | None:
    return sibling.observed.rank if sibling.observed is not None else None


def current_positions(
    everyone: Iterable[Sibling], unmanaged: Sequence[UnmanagedSibling], names: Mapping[str, Address]
) -> dict[Address, Position]:
    """The current position of each sibling."""
    positions = {}
    for parent, some in with_unmanaged(by_parent(everyone, names), unmanaged, names).items():
        previous: Address | None = None
        for index, sibling in enumerate(some):
            positions[sibling.address] = Position(parent, index, previous)
            previous = sibling.address
    return positions


# -- a list whose order changes ----------------------------------------------------------------------------------------------------


Id = TypeVar("Id", bound=Hashable)


class Siblings(Generic[Id]):
    """Ids in their order. None represents both ends."""

    def __init__(self, ids: Iterable[Id] = ()) -> None:
        self._next: dict[Id | None, Id | None] = {None: None}
        self._previous: dict[Id | None, Id | None] = {None: None}
        for id in ids:
            self.append(id)

    def __contains__(self, id: Id) -> bool:
        return id in self._next

    def __iter__(self) -> Iterator[Id]:
        at = self._next[None]
        while at is not None:
            yield at
            at = self._next[at]

    def following(self, id: Id | None) -> Id | None:
        """The sibling after one; of None, the first."""
        return self._next[id]

    def preceding(self, id: Id | None) -> Id | None:
        """The sibling before one; of None, the last."""
        return self._previous[id]

    def append(self, id: Id) -> None:
        """Put it at the end."""
        self._between(self._previous[None], id, None)

    def insert(self, id: Id, anchor: Id | None, *, after: bool) -> None:
        """Put it beside a sibling; after None, first, and before None, last."""
        before = anchor if after else self._previous[anchor]
        self._between(before, id, self._next[before])

    def remove(self, id: Id) -> None:
        """Take it out; nothing happens where it is not in the list."""
        if id in self._next:
            before, after = self._previous.pop(id), self._next.pop(id)
            self._next[before], self._previous[after] = after, before

    def _between(self, before: Id | None, id: Id, after: Id | None) -> None:
        self._next[before] = self._previous[after] = id
        self._previous[id], self._next[id] = before, after
