"""Every moment of every way that one edit can be applied: nobody reads what neither the old nor the new organization lets them read.

The edit is applied as a whole, one request at a time and many at once; cut before each of its requests and run again; and with each of its
requests refused and run again. Allowed at every moment: for an object that existed, its readers before and after; for a space that is a
copy, its readers after, and those of what it was copied from. Sections, site spaces and sites that the run creates show nothing but spaces,
which count. Of a share link that a run creates, somebody can only have the key if it is active at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from reconciler.model import Plan
from tests.audience.moments import LEVELS, Moment, Readers, Thing, Watched
from tests.audience.worlds import conditions
from tests.organizations import Tree

CONTENT = ("space", "openapi")  # of what a run creates, what can be read by itself
RUNS_MAX = 4  # until nothing is left to do
MANY = 8  # requests at once
RUNS = ("whole", "many", "cuts", "refusals")

Window = Callable[[Plan, str, str], bool]
"""Whether a plan showed that an object (its address, or its id where it has none) is open to a reader for some requests."""


def shown(plan: Plan, name: str, reader: str) -> bool:
    """Whether an exposure of the plan says that the object is open for a while, to whomever."""
    windows = [exposure for exposure in plan.exposures if getattr(exposure, "window", 0)]
    return any(name in (str(exposure.address), *map(str, getattr(exposure, "reaches", ()))) for exposure in windows)


@dataclass(frozen=True)
class Violation:
    """Somebody read too much. `run`: how the edit was applied; `number`: of the request after which, from 1; `name`: of the object."""

    run: str
    number: int
    request: str
    name: str
    reader: str
    level: str
    requests: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        before = "".join(f"\n    {request}" for request in self.requests)
        return f"{self.run}: after request {self.number}, {self.reader} had {self.level} on {self.name}{before}"


@dataclass(frozen=True)
class Result:
    """`writes`: requests of the whole edit. `runs` and `moments`: how many were looked at. `windows`: how many moments a plan had shown."""

    violations: tuple[Violation, ...]
    writes: int
    runs: int
    moments: int
    windows: int = 0


@dataclass(frozen=True)
class Ends:
    """The world before an edit and after it. `active`: addresses of new share links that work after it. Objects are named by `name`."""

    before: dict[Thing, Readers]
    after: dict[str, Readers]
    links: frozenset[str]
    active: frozenset[str]

    def name(self, thing: Thing, addresses: dict[str, str]) -> str:
        """The id of what existed before; else the address; else the id."""
        return thing[1] if thing in self.before else addresses.get(thing[1], thing[1])

    def reader(self, reader: str, addresses: dict[str, str]) -> str | None:
        """The reader with a link's address in place of an id that only this run knows; None where nobody can have the link."""
        kind, _, id = reader.partition(":")
        if kind != "link" or id in self.links:
            return reader
        address = addresses.get(id, id)
        return f"link:{address}" if address in self.active else None

    def allowed(self, thing: Thing, addresses: dict[str, str], copies: dict[str, str]) -> Iterator[Readers]:
        """Those who may read an object at any moment."""
        yield self.before.get(thing, {})
        yield self.after.get(self.name(thing, addresses), {})
        if thing[0] == "space" and thing[1] in copies:  # who could read the source
            yield from self.allowed(("space", copies[thing[1]]), addresses, copies)


@dataclass
class Proof:
    """All runs of one edit of one organization."""

    org: Watched
    image: Path
    window: Window = shown
    violations: list[Violation] = field(default_factory=list)
    runs: int = 0
    moments: int = 0
    windows: int = 0

    def edit(self, first: Tree, second: Tree, *, runs: Iterable[str] = RUNS) -> Result:
        """Apply the first organization, then the second in every way, or in some of them; `pairs` refuses every pair of requests."""
        org, chosen = self.org, tuple(runs)
        org.asked = conditions(first, second)
        org.write(first)
        org.begin()
        self.finish()
        org.save(self.image)
        org.write(second)
        ends, writes = self.whole("whole" in chosen)
        numbers = range(1, writes + 1)
        if "many" in chosen:
            self.again(ends, "many at once", concurrency=MANY)
        for number in numbers[1:] if "cuts" in chosen else ():
            self.again(ends, f"cut before request {number}", cut=number)
        refusals: list[tuple[int, ...]] = [(number,) for number in numbers] if "refusals" in chosen else []
        refusals += list(combinations(numbers, 2)) if "pairs" in chosen else []
        for refused in refusals:
            self.again(ends, f"request {' and '.join(map(str, refused))} refused", refused=refused)
        return Result(tuple(self.violations), writes, self.runs, self.moments, self.windows)

    def finish(self) -> list[Plan]:
        """Apply until nothing is left to do; the plans, the last of which is empty or cannot be carried out."""
        plans: list[Plan] = []
        for _ in range(RUNS_MAX):
            before = self.org.writes
            outcome = self.org.run()
            assert self.org.made is not None
            plans.append(self.org.made)
            self.org.refused = frozenset()
            if outcome is not None and self.org.writes == before:
                return plans
        raise AssertionError(f"something is left to do after {RUNS_MAX} runs: {[str(step.address) for step in plans[-1].steps]}")

    def whole(self, looked_at: bool) -> tuple[Ends, int]:
        """Apply the edit as a whole; what the world was before and is after it."""
        org, start = self.org, self.org.now("")
        org.begin()
        plans = self.finish()
        addresses, end = org.addresses(), org.moments[-1].readers
        known = frozenset(name[5:] for readers in start.readers.values() for name in readers if name.startswith("link:"))
        links = org.app.state.service.store.select("share-link")
        active = frozenset(addresses[link["id"]] for link in links if link["active"] and link["id"] not in known)
        ends = Ends(start.readers, {}, known, active)
        for thing, readers in end.items():
            named = {ends.reader(reader, addresses): level for reader, level in readers.items()}
            ends.after[ends.name(thing, addresses)] = {reader: level for reader, level in named.items() if reader is not None}
        if looked_at:
            self.look(ends, "whole", plans)
        return ends, org.writes

    def again(self, ends: Ends, run: str, *, cut: int | None = None, refused: tuple[int, ...] = (), concurrency: int = 1) -> None:
        """Apply the edit once more from the beginning, in one way."""
        self.org.restore(self.image)
        self.org.begin(cut=cut, refused=refused, concurrency=concurrency)
        self.look(ends, run, self.finish())

    def look(self, ends: Ends, run: str, plans: Sequence[Plan]) -> None:
        """Hold every moment of a run against what is allowed."""
        addresses, moments = self.org.addresses(), self.org.moments
        self.runs += 1
        self.moments += len(moments)
        for number, moment in enumerate(moments):
            for name, reader, level, thing in self.excess(ends, moment, addresses):
                called = addresses.get(thing[1], name)
                if any(self.window(plan, called, reader) for plan in plans):
                    self.windows += 1
                    continue
                requests = tuple(earlier.request for earlier in moments[1 : number + 1])
                self.violations.append(Violation(run, number, moment.request, called, reader, LEVELS[level], requests))

    def excess(self, ends: Ends, moment: Moment, addresses: dict[str, str]) -> Iterator[tuple[str, str, int, Thing]]:
        """Who could read what they may never read."""
        for thing, readers in moment.readers.items():
            if thing not in ends.before and thing[0] not in CONTENT:
                continue
            allowed = list(ends.allowed(thing, addresses, self.org.copies))
            for raw, level in readers.items():
                reader = ends.reader(raw, addresses)
                names = (reader, "anyone-with-the-address") if raw.startswith("link:") else (reader,)  # who has a link knows the address
                if reader is not None and level > max((some.get(str(name), -1) for some in allowed for name in names), default=-1):
                    yield ends.name(thing, addresses), reader, level, thing
