"""What a planner pass takes and returns. Frozen data. Pure.

A pass takes the world and the decisions so far, and returns the decisions with its own. No pass edits the result of another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heappop, heappush
from typing import TypeVar

from reconciler.address import Address, Glob, Selection
from reconciler.model import Actual, Desired, State
from reconciler.plan.containment import Contents, Key
from reconciler.plan.decisions import Batch, Draft, Removal, TransferredTogether
from reconciler.plan.matching.matches import Matches
from reconciler.resource import Kind, Kinds


@dataclass(frozen=True)
class World:
    """What was declared, recorded and read. `state`: under today's addresses. `allow_replace`: patterns.

    `actual`: as if everything had been transferred that the YAML has leave its container; `transferred` says what that is. `batches`: by
    address, what the state renames together.
    """

    kinds: Kinds
    desired: Desired
    state: State
    actual: Actual
    selection: Selection = field(default_factory=Selection)
    allow_replace: tuple[Glob, ...] = ()
    transferred: TransferredTogether = field(default_factory=lambda: TransferredTogether(Actual()))
    batches: Mapping[Address, Batch] = field(default_factory=dict)

    @cached_property
    def contents(self) -> Contents:
        """What each object of `actual` contains."""
        return Contents(self.kinds, self.actual.objects)

    def may_replace(self, address: Address) -> bool:
        """Whether the object of an address may be deleted and created again."""
        return any(glob.matches(address) for glob in self.allow_replace)


@dataclass(frozen=True)
class Rearrangement:
    """A container in which the first object of a kind is created, or the last one is deleted.

    `names`: the kinds that the service rearranges then. `trigger`: the one that is created first, or deleted last; `trigger_id`: its id,
    None where it is created. `leaving`: all that are deleted. `top`: whether something is declared outside them. `settled`: the declared
    resources that the service itself moves where they are declared.
    """

    kind: Kind
    names: frozenset[str]
    container: Address
    trigger: Address
    trigger_id: str | None
    leaving: tuple[Address, ...] = ()
    top: bool = False
    settled: frozenset[Address] = frozenset()

    @property
    def trigger_key(self) -> tuple[str, str | None]:
        """The kind and the id of `trigger`."""
        return self.kind.name, self.trigger_id

    @property
    def reason(self) -> str:
        """Why what the service moves waits for a second run."""
        if self.trigger_id is None:
            return f"the service moves it into {self.trigger}, the first {self.kind.name}"
        return f"the service rearranges it when the last {self.kind.name} is deleted"


@dataclass(frozen=True)
class Decisions:
    """What is decided so far.

    `matches`: which object is which resource, what is replaced left out of its `ids`. `drafts`: of all declared addresses, in the order of
    Desired. `removals`: of all that are no longer declared. `left_alone`: what would happen to the addresses that this run is not about;
    what `drafts` and `removals` say of them is that they are blocked. `required`: those that are not selected and that the run is about
    because something selected requires them. `notes`: sentences for the reader. `unsettled`: tracked addresses that the state keeps until a
    transfer has succeeded. `lists`: the lists that must be read to decide, each a kind and the id of its container.
    """

    matches: Matches
    drafts: Mapping[Address, Draft] = field(default_factory=dict)
    removals: Mapping[Address, Removal] = field(default_factory=dict)
    rearrangements: tuple[Rearrangement, ...] = ()
    left_alone: Mapping[Address, Draft | Removal] = field(default_factory=dict)
    required: frozenset[Address] = frozenset()
    notes: tuple[str, ...] = ()
    unsettled: frozenset[Address] = frozenset()
    lists: frozenset[Key] = frozenset()

    def changed(self, entries: Iterable[Draft | Removal]) -> Decisions:
        """The decisions with these in place of what was decided of their addresses."""
        drafts, removals = dict(self.drafts), dict(self.removals)
        for entry in entries:
            if isinstance(entry, Draft):
                drafts[entry.address] = entry
            else:
                removals[entry.address] = entry
        return replace(self, drafts=drafts, removals=removals)

    def of_this_run(self) -> tuple[dict[Address, Draft], dict[Address, Removal]]:
        """The drafts and the removals that this run is about."""
        return _without(self.drafts, self.left_alone), _without(self.removals, self.left_alone)

    def meant(self) -> dict[Address, Draft]:
        """All drafts, as if the run were about everything."""
        return {**self.drafts, **{address: entry for address, entry in self.left_alone.items() if isinstance(entry, Draft)}}


Pass = Callable[[World, Decisions], Decisions]

Entry = TypeVar("Entry")


def _without(entries: Mapping[Address, Entry], addresses: Collection[Address]) -> dict[Address, Entry]:
    return {address: entry for address, entry in entries.items() if address not in addresses}


# -- which addresses a run is about ------------------------------------------------------------------------------------------------


# -- what a pass looks at again ----------------------------------------------------------------------------------------------------


class Worklist:
    """The addresses in their order, and those that are added while they are looked at: one whose turn is over comes again in the next
    round, so that the order, and with it the reasons that people read, do not depend on who adds what."""

    def __init__(self, addresses: Iterable[Address]) -> None:
        self._addresses = tuple(addresses)
        self._positions = {address: position for position, address in enumerate(self._addresses)}
        self._queue = [(1, position) for position in range(len(self._addresses))]
        self._queued = set(self._queue)
        self._current = (1, -1)

    def __iter__(self) -> Iterator[Address]:
        while self._queue:
            self._current = heappop(self._queue)
            yield self._addresses[self._current[1]]

    def add(self, address: Address) -> None:
        """Look at an address again."""
        (this_round, this_position), position = self._current, self._positions[address]
        entry = (this_round if position > this_position else this_round + 1, position)
        if entry not in self._queued:
            self._queued.add(entry)
            heappush(self._queue, entry)
