"""The order of siblings, as far as it is known. Pure. Every operation takes the same time, however many siblings there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from reconciler.address import Address
from reconciler.model import Observed, SiblingPlace
from reconciler.model.choices import Objects
from reconciler.plan.containment import Key
from reconciler.plan.siblings.positions import Siblings
from reconciler.resource import Kind, Kinds

Row = tuple[str, str, Any]
"""Siblings: their kind, the id of their container, the id of the node that contains them."""


class Order:
    """`rows`: the siblings of each row. `places`: the final positions of siblings, which decide the position among its own kind of an
    object that is placed beside one of another kind."""

    def __init__(self, places: Mapping[Address, SiblingPlace]) -> None:
        self.rows: dict[Row, Siblings[str]] = defaultdict(Siblings)
        self._row: dict[Key, Row] = {}
        self._previous = _previous(places)

    def __contains__(self, key: Key) -> bool:
        return key in self._row

    def ranks(self) -> dict[Key, int]:
        """How many siblings come before each object."""
        return {(row[0], id): index for row, siblings in self.rows.items() for index, id in enumerate(siblings)}

    def append(self, row: Row, id: str) -> None:
        """Put an object last."""
        self.rows[row].append(id)
        self._row[row[0], id] = row

    def remove(self, kind: str, id: str) -> None:
        """Forget the place of an object."""
        row = self._row.pop((kind, id), None)
        if row is not None:
            self.rows[row].remove(id)

    def beside(self, row: Row, id: str, anchor: str, *, after: bool) -> None:
        """Put an object beside a sibling."""
        self.rows[row].insert(id, anchor, after=after)
        self._row[row[0], id] = row

    def knows(self, address: Address | None) -> bool:
        """Whether the final position of an address is known."""
        return address in self._previous

    def behind_previous(self, row: Row, id: str, address: Address, ids: Mapping[Address, str]) -> None:
        """Put an object behind the sibling of its kind that comes before it when all requests are done."""
        siblings, at = self.rows[row], self._previous[address]
        while at is not None and ids.get(at, "") not in siblings:
            at = self._previous[at]
        first = next(iter(siblings), None)
        if at is not None:
            self.beside(row, id, ids[at], after=True)
        elif first is not None:
            self.beside(row, id, first, after=False)
        else:
            self.append(row, id)

    def transfer(self, keys: Iterable[Key], container: str) -> None:
        """Give the rows of these objects another container, with all that is in them."""
        for row in {self._row[key] for key in keys if key in self._row}:
            siblings, there = self.rows.pop(row), (row[0], container, row[2])
            self.rows[there] = siblings
            self._row |= {(row[0], sibling): there for sibling in siblings}


def rows(kinds: Kinds, objects: Objects) -> dict[Row, list[str]]:
    """The ids of siblings in the order in which their listing shows them."""
    ranked: dict[Row, list[Observed]] = defaultdict(list)
    for name, some in objects.items():
        for observed in some.values():
            if observed.rank is not None:
                ranked[row_of(kinds[name], observed)].append(observed)
    return {row: [sibling.id for sibling in sorted(some, key=lambda sibling: sibling.rank or 0)] for row, some in ranked.items()}


def row_of(kind: Kind, observed: Observed) -> Row:
    """The row that an object belongs to."""
    node = observed.values.get(kind.inside.name) if kind.inside is not None else None
    return kind.name, observed.within.get(kind.within or "", ""), node


def is_ranked(kind: Kind, observed: Observed) -> bool:
    """Whether a listing would show the object among its siblings."""
    for reading in kind.listings:
        if reading.ordered:
            return reading.each is None or (kind.inside is not None and observed.values.get(kind.inside.name) is not None)
    return False


def _previous(places: Mapping[Address, SiblingPlace]) -> dict[Address, Address | None]:
    """The sibling of its kind that comes before each address; None for the first."""
    previous: dict[Address, Address | None] = {}
    last: dict[tuple[str, str | None], Address] = {}
    for address, place in sorted(places.items(), key=lambda item: item[1].index):
        previous[address] = last.get((place.parent, address.kind))
        last[place.parent, address.kind] = address
    return previous
