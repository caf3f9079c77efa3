"""The tracked objects, past or present, with what is known about each, and which objects use them. Pure.

The current siblings below each parent, and inserting objects among them. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from reconciler.address import Address
from reconciler.model import Actual, Binding, Observed, Position, Source, State
from reconciler.model.codec import ids_in, title
from reconciler.plan.siblings import order as sibling_positions
from reconciler.plan.siblings.order import Siblings, by_parent, parent_of, with_unmanaged
from reconciler.resource import UNSET, Field, FieldRole, Kind, Kinds

NOWHERE: Final = Source("(no line of the YAML)", 0)


@dataclass(frozen=True)
class ObservedObject:
    """One tracked object and what is shown of it now."""

    address: Address
    kind: Kind
    id: str
    binding: Binding | None
    observed: Observed | None


def tracked_objects(kinds: Kinds, state: State, actual: Actual) -> dict[Address, ObservedObject]:
    """Every tracked object of a known kind."""
    return {
        address: ObservedObject(address, kinds[binding.kind], binding.id, binding, actual.find(*binding.key))
        for address, binding in state.bindings.items()
        if binding.kind in kinds
    }


def used_by(
    kinds: Kinds, actual: Actual, known: Mapping[Address, ObservedObject], leaves: Callable[[Address, Field], bool]
) -> Iterator[tuple[str, str, str]]:
    """Every use: (id of the used object, id of its user, the user's name for people). `leaves`: whether a field of the user is about to
    change."""
    names = {object_.id: address for address, object_ in known.items()}
    for name, some in actual.objects.items():
        kind = kinds[name]
        for object_ in some.values():
            if object_.deleted_at is not None:
                continue
            address = names.get(object_.id)
            user = str(address) if address is not None else f"{name} {title(object_)!r}"
            used = {id for outer, id in object_.within.items() if outer == kind.within}
            for name_of_field, value in object_.values.items():
                field = kind.fields[name_of_field]
                if value is not UNSET and field.role is not FieldRole.CHOICE and not (address is not None and leaves(address, field)):
                    used |= set(ids_in(value))
            for id in used:
                yield id, object_.id, user


def sibling_rows(known: Mapping[Address, ObservedObject], among: Mapping[Address, ObservedObject] = {}) -> dict[Address, list[Address]]:
    """The siblings below each parent, in order. `among`: unmanaged objects, in the order in which they are shown."""
    names = {tracked.id: address for address, tracked in known.items()}
    rows = with_unmanaged(by_parent(known.values(), names), list(among.values()), names)
    return {parent: [tracked.address for tracked in row] for parent, row in rows.items()}


def unmanaged_siblings(
    kinds: Kinds, actual: Actual, known: Mapping[Address, ObservedObject], parents: Collection[Address]
) -> dict[Address, ObservedObject]:
    """The unmanaged objects that a listing shows below these parents, by an address with the id as key."""
    names = {tracked.id: address for address, tracked in known.items()}
    return {
        tracked.address: ObservedObject(tracked.address, tracked.kind, tracked.observed.id, None, tracked.observed)
        for tracked in sibling_positions.unmanaged_siblings(kinds, actual, names)
        if parent_of(tracked, names) in parents
    }


def put_back(rows: dict[Address, list[Address]], places: Mapping[Address, Position], positions_before: Mapping[Address, Position]) -> None:
    """Insert each after its former predecessor, or after the nearest sibling before that which still exists."""
    changing = {parent: _ChangingRow(rows.get(parent, ())) for parent in map(parent_of_position, places.values())}
    for address, place in sorted(places.items(), key=lambda pair: (parent_of_position(pair[1]), pair[1].index)):
        row = changing[parent_of_position(place)]
        previous, seen = place.previous, {address}
        while previous is not None and previous not in row.siblings:
            if previous in seen or previous not in positions_before or positions_before[previous].parent != place.parent:
                break
            seen.add(previous)
            previous = positions_before[previous].previous
        if previous is None or previous in row.siblings:
            row.put_behind(previous, address)
        else:
            row.put_at(place.index, address)
    rows |= {parent: list(row.siblings) for parent, row in changing.items()}


def parent_of_position(position: Position) -> Address:
    """The parent of a position that a run recorded: only what is in something can be moved, so there is one."""
    assert position.parent is not None
    return position.parent


class _ChangingRow:
    """Siblings among which others are inserted, those at an index in ascending order: linear in the number of siblings, in total."""

    def __init__(self, siblings: Iterable[Address]) -> None:
        self.siblings = Siblings(siblings)
        self._at: Address | None = None  # the last of those that come before the index
        self._passed: set[Address] = set()

    def put_behind(self, previous: Address | None, address: Address) -> None:
        """Insert behind a sibling; behind None, first."""
        if previous != self._at and (previous is None or previous in self._passed):
            self._passed.add(address)
        self.siblings.insert(address, previous, after=True)

    def put_at(self, index: int, address: Address) -> None:
        """Insert at an index, or at the end."""
        while len(self._passed) > index and self._at is not None:
            self._passed.remove(self._at)
            self._at = self.siblings.preceding(self._at)
        while len(self._passed) < index and (following := self.siblings.following(self._at)) is not None:
            self._passed.add(following)
            self._at = following
        self.siblings.insert(address, self._at, after=True)


def remove_cycles(places: dict[Address, Position], rows: Mapping[Address, Collection[Address]]) -> Iterator[tuple[Address, Address]]:
    """Remove from `places` what would end up inside itself; yields (address, the parent it would have had). `rows`: the current order."""
    now = {address: parent for parent, row in rows.items() for address in row}
    parents = now | {moved: parent_of_position(position) for moved, position in places.items()}
    for address in sorted(places):
        above, seen = parents[address], {address}
        while above in parents and above not in seen:
            seen.add(above)
            above = parents[above]
        if above == address:
            yield address, parent_of_position(places.pop(address))
            parents.pop(address)
            parents |= {address: now[address]} if address in now else {}
