"""A worklist: addresses to look at, of which each can make others worth another look. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

from reconciler.address import Address


class Worklist:
    """The addresses in their order, and those that are added while they are looked at: one whose turn is over comes again in the next
    round, so that the order, and with it the reasons that people read, do not depend on who adds what."""

    def __init__(self, addresses: Iterable[Address]) -> None:
        self._addresses = tuple(addresses)
        self._turns = {address: turn for turn, address in enumerate(self._addresses)}
        self._queue = [(1, turn) for turn in range(len(self._addresses))]
        self._queued = set(self._queue)
        self._current = (1, -1)

    def __iter__(self) -> Iterator[Address]:
        while self._queue:
            self._current = heappop(self._queue)
            yield self._addresses[self._current[1]]

    def add(self, address: Address) -> None:
        """Look at an address again."""
        (this_round, this_turn), turn = self._current, self._turns[address]
        entry = (this_round if turn > this_turn else this_round + 1, turn)
        if entry not in self._queued:
            self._queued.add(entry)
            heappush(self._queue, entry)
