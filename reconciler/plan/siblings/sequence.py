"""One list of siblings whose order changes: every operation takes the same time, however long the list is. Pure."""

from __future__ import annotations

from collections.abc import Iterator


class Siblings:
    """Ids in their order. None stands for both ends."""

    def __init__(self) -> None:
        self._next: dict[str | None, str | None] = {None: None}
        self._previous: dict[str | None, str | None] = {None: None}

    def __contains__(self, id: str) -> bool:
        return id in self._next

    def __iter__(self) -> Iterator[str]:
        at = self._next[None]
        while at is not None:
            yield at
            at = self._next[at]

    def append(self, id: str) -> None:
        """Put it at the end."""
        self._between(self._previous[None], id, None)

    def insert(self, id: str, anchor: str, *, after: bool) -> None:
        """Put it beside a sibling."""
        before = anchor if after else self._previous[anchor]
        self._between(before, id, self._next[before])

    def remove(self, id: str) -> None:
        """Take it out; nothing happens where it is not in the list."""
        if id in self._next:
            before, after = self._previous.pop(id), self._next.pop(id)
            self._next[before], self._previous[after] = after, before

    def _between(self, before: str | None, id: str, after: str | None) -> None:
        self._next[before] = self._previous[after] = id
        self._previous[id], self._next[id] = before, after
