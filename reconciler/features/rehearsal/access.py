"""The access tests of a project, asked of the copy after every write. Pure.

    plan        judges by the planner's model what readers can read after the plan, and for a while
    rehearsal   asks the copy at every moment: somebody who must not can read it, or somebody who must cannot

Compared with the start, like everything of a moment: what a test forbids and is so already is for the plan to judge. Between the start and
the end only objects count that existed at the start.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from reconciler.address import Address
from reconciler.features.rehearsal.moments import SeenMoment, SeenReading
from reconciler.model import AccessTest, Demand, NamedReader, ReaderSort

RANGES: Final = 3  # of moments, in a sentence


@dataclass(frozen=True)
class AccessRefusal:
    """A demand that is not met for one resource after these requests. `of`: how many requests there are."""

    test: AccessTest
    demand: Demand
    address: Address
    after: tuple[int, ...]
    of: int

    @property
    def text(self) -> str:
        """`anyone mustNotSee acme/space/salaries`."""
        return f"{self.demand.reader} {self.demand.word} {self.address}"

    def __str__(self) -> str:
        can = "cannot" if self.demand.sees else "can"
        why = f" ({self.test.reason})" if self.test.reason else ""
        return f"access {self.demand.reader} at {self.address}: {self.demand.reader.says} {can} read it {during(self.after, self.of)}{why}"


@dataclass
class AccessMoments:
    """What readers can read more and less than at the start, one element for each moment."""

    start: SeenMoment
    more: list[frozenset[SeenReading]] = field(default_factory=list)
    less: list[frozenset[SeenReading]] = field(default_factory=list)

    def after(self, now: SeenMoment) -> None:
        """Note one more moment."""
        before = self.start.readings | self.start.asked
        then = now.readings | now.asked
        self.more.append(then - before)
        self.less.append(before - then)

    def refusals(self, tests: Iterable[AccessTest], addresses: Mapping[tuple[str, str], Address]) -> tuple[AccessRefusal, ...]:
        """The demands that are not met at some moment, and are at the start. `addresses`: of managed objects."""
        keys: dict[Address, list[tuple[str, str]]] = defaultdict(list)
        for key, address in addresses.items():
            keys[address].append(key)
        more, less, last = _moments(self.more), _moments(self.less), len(self.more)
        refusals = []
        for test in tests:
            for demand, address in test.asks:
                readings = [(name, key) for name in _names(demand.reader, keys) for key in keys[address]]
                gained = {number for name, key in readings for number in more[name, *key] if key in self.start.titles or number == last}
                # What replaced the object at its address is what has to be read then.
                lost = {number for name, key in readings for number in less[name, *key]}
                lost -= {number for name, key in readings for number in more[name, *key]}
                if after := sorted(lost if demand.sees else gained):
                    refusals.append(AccessRefusal(test, demand, address, tuple(after), last))
        return tuple(refusals)


def asked_readers(tests: Iterable[AccessTest]) -> dict[str, NamedReader]:
    """The readers of tests by name. Holders of links are asked about anyway; people are not: the plan judges what they may do."""
    readers = {str(test.reader): test.reader for test in tests}
    return {name: reader for name, reader in readers.items() if reader.sort is not ReaderSort.LINK and reader.person is None}


def during(after: Sequence[int], of: int) -> str:
    """`after request 3 of 10`, `after requests 3 to 5 and 7 of 10`, `from request 8 of 10 on`, `at the end`."""
    if list(after) == [of]:
        return "at the end"
    ranges = [[number for _, number in run] for _, run in groupby(enumerate(after), lambda item: item[1] - item[0])]
    if len(ranges) == 1 and ranges[0][-1] == of:
        return f"from request {ranges[0][0]} of {of} on"
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in ranges]
    more = f", and {times} more time{'s' if times > 1 else ''}," if (times := len(texts) - RANGES) > 0 else ""
    shown = texts[:RANGES]
    listed = " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
    return f"after request{'s' if len(after) > 1 else ''} {listed}{more} of {of}"


def _moments(readings: Sequence[frozenset[SeenReading]]) -> dict[tuple[str, str, str], list[int]]:
    """The moments of each reading, from 1."""
    moments: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for number, some in enumerate(readings, 1):
        for reading in some:
            moments[reading.reader, reading.kind, reading.id].append(number)
    return moments


def _names(reader: NamedReader, keys: Mapping[Address, Sequence[tuple[str, str]]]) -> list[str]:
    """The readers of the copy that are this one; several where a share link was replaced."""
    if reader.sort is not ReaderSort.LINK:
        return [str(reader)]
    return [f"link:{id}" for _, id in keys.get(reader.link, ())] if reader.link is not None else []
