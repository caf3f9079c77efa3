"""One list of siblings whose order changes: every operation takes the same time, however long the list is. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

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
