"""The access tests of a project against a plan: what the plan violates, and what it corrects; and against the service as it is. Pure.

In: the inputs of the plan, and what it changes for readers. Out: a violation for each resource that a reader sees and must not, or must see
and does not; a sentence for each violation that the plan ends; and what must be read to be sure.

The order of the steps lets nobody read, at any moment of a run, what they can read neither before nor after it, except in the windows that
the plan shows (`docs/decisions/0007-audiences.md`). So a test that passes before and after the plan also passes during it, unless a window
violates it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from reconciler.address import Address
from reconciler.model import AccessTest, Actual, Demand, Desired, Severity, Violation
from reconciler.plan.access.misses import NAMED, Miss, When, violation
from reconciler.plan.access.verdicts import UNREAD, ReaderVerdict, Sees
from reconciler.plan.access.worlds import Sides, WorldInputs
from reconciler.plan.audience.disclosure import Disclosure
from reconciler.plan.containment import Key
from reconciler.resource import Kinds


@dataclass(frozen=True)
class AccessTestResults:
    """`violations` and `notes` for the plan. `questions` and `lists`: what must be read to be sure; see `Plan`."""

    violations: tuple[Violation, ...] = ()
    notes: tuple[str, ...] = ()
    questions: frozenset[Key] = frozenset()
    lists: frozenset[Key] = frozenset()


def run_access_tests(
    kinds: Kinds, desired: Desired, actual: Actual, ids: Mapping[Address, str], disclosed: Disclosure, *, partial: bool, waiting: bool
) -> AccessTestResults:
    """The results of the access tests for a plan; nothing is computed where there are none.

    `partial`: the run is limited to some addresses, or needs a second run. `waiting`: true as well where something is blocked.
    """
    if not desired.access:
        return AccessTestResults()
    about = {address for test in desired.access for demand in test.demands for address in demand.pattern.addresses}
    given = WorldInputs(kinds, actual, ids, disclosed, about)
    sides = given.sides()
    testing = _Testing(given, sides, desired, partial=partial, waiting=partial or waiting)
    misses = [miss for test in desired.access for miss in testing.misses(test)]
    mended = [miss for miss in misses if miss.when is When.MENDED]
    violations = tuple(testing.violation(miss, calm=bool(mended)) for miss in misses if miss.when is not When.MENDED)
    return AccessTestResults(violations, tuple(_remarks(mended)), frozenset(sides.needed.questions), frozenset(sides.needed.lists))


@dataclass(frozen=True)
class _Testing:
    given: WorldInputs
    sides: Sides
    desired: Desired
    partial: bool
    waiting: bool

    def misses(self, test: AccessTest) -> Iterator[Miss]:
        """The misses of a test: each resource at most once for what must be seen and once for what must not."""
        for demand, address in test.asks:
            yield from self._seen(test, demand, address) if demand.sees else self._unseen(test, demand, address)

    def _keys(self, address: Address) -> tuple[Key | None, Key | None]:
        return self.given.key(self.sides.before.ids, address), self.given.key(self.sides.after.ids, address)

    def _unseen(self, test: AccessTest, demand: Demand, address: Address) -> Iterator[Miss]:
        was, then = self._keys(address)
        before, after = self.sides.spread_before.verdict(demand.reader, was), self.sides.spread_after.verdict(demand.reader, then)
        if after.sees is not Sees.NO:
            yield Miss(test, demand, address, When.NEW if before.sees is Sees.NO else When.LEFT, after, self.sides.spread_after, then)
        elif before.sees is not Sees.NO:
            yield Miss(test, demand, address, When.MENDED, before, self.sides.spread_before, was)
        else:
            yield from self._window(test, demand, address, {was, then})

    def _window(self, test: AccessTest, demand: Demand, address: Address, keys: Collection[Key | None]) -> Iterator[Miss]:
        """The longest window in which the reader sees the object during the run."""
        look = self.sides.after
        reader_windows = [
            window
            for key in keys
            for window in (self.sides.windows.get(key, ()) if key is not None else ())
            if look.among(demand.reader, window.access) is not Sees.NO
        ]
        for window in sorted(reader_windows, key=lambda window: -window.requests)[:1]:
            yield Miss(test, demand, address, When.WINDOW, ReaderVerdict(Sees.YES, window.access), look, None, window)

    def _seen(self, test: AccessTest, demand: Demand, address: Address) -> Iterator[Miss]:
        was, then = self._keys(address)
        before, after = self.sides.before.verdict(demand.reader, was), self.sides.after.verdict(demand.reader, then)
        if after.sees is not Sees.YES:
            yield Miss(test, demand, address, When.NEW if before.sees is Sees.YES else When.LEFT, after, self.sides.after, then)
        elif before.sees is not Sees.YES and was is not None:
            yield Miss(test, demand, address, When.MENDED, before, self.sides.before, was)

    def violation(self, miss: Miss, *, calm: bool) -> Violation:
        """The violation of a miss. A miss that existed before does not refuse a plan that corrects something or is not complete yet."""
        unfinished = self.waiting if miss.demand.sees else self.partial
        level = Severity.WARNING if miss.when is When.LEFT and (calm or unfinished) else Severity.ERROR
        return violation(miss, self.desired, self.sides.called, level)


def _remarks(mended: Collection[Miss]) -> Iterator[str]:
    """A sentence for each reader and demand for which the plan corrects something."""
    groups: dict[tuple[str, bool], list[Miss]] = {}
    for miss in mended:
        groups.setdefault((miss.demand.reader.says, miss.demand.sees), []).append(miss)
    for (who, sees), misses in groups.items():
        names = ", ".join(str(miss.address) for miss in misses[:NAMED]) + (
            f" and {len(misses) - NAMED} more" if len(misses) > NAMED else ""
        )
        now, then = ("cannot read", "lets them") if sees else ("can read", "ends it")
        yield f"access: violated already, and this plan {then}: {who} {now} {names}"


# -- without a plan ---------------------------------------------------------------------------------------------------------------


@dataclass
class Unmet:
    """`violations`: what is not as a test demands. `unread`: resources for which that is unknown, each with the reason."""

    violations: list[Violation] = field(default_factory=list)
    unread: dict[Address, str] = field(default_factory=dict)


def unmet(kinds: Kinds, desired: Desired, actual: Actual, ids: Mapping[Address, str], about: Collection[Address]) -> Unmet:
    """The results of the tests for the service as it is now; nothing is computed where there are none. `about`: what to ask about."""
    result = Unmet()
    asked = [(test, demand, address) for test in desired.access for demand, address in test.asks if address in about]
    if not asked:
        return result
    sides = WorldInputs(kinds, actual, ids, Disclosure(()), {address for _, _, address in asked}).sides()
    for test, demand, address in asked:
        look = sides.before if demand.sees else sides.spread_before
        key = (kinds.of(address).name, ids[address])
        verdict = look.verdict(demand.reader, key)
        if verdict.sees is (Sees.YES if demand.sees else Sees.NO):
            continue
        if verdict.sees is Sees.UNDECIDED and UNREAD in verdict.doubt:
            result.unread[address] = f"whether {demand.reader.says} can read it is not known: {verdict.doubt}"
        else:
            miss = Miss(test, demand, address, When.TODAY, verdict, look, key)
            result.violations.append(violation(miss, desired, sides.called, Severity.ERROR))
    return result
