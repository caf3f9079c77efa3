"""The access tests of a project against a plan: what it violates, and what it mends. Pure.

In: what the plan was made from, and what it does to readers. Out: a violation for each resource that a reader sees and must not, or must
see and does not; a sentence for what was so before and ends with the plan; and what must be read to be sure.

The order of the steps lets nobody read, at any moment of a run, what they can read neither before nor after it, except in the windows that
the plan shows (`docs/decisions/0007-audiences.md`). So a test holds on the way where it holds before and after, and no window breaks it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from reconciler.address import Address
from reconciler.model import AccessTest, Actual, Demand, Desired, Severity, Violation
from reconciler.plan.access.verdicts import Look, ReaderVerdict, Sees
from reconciler.plan.access.worlds import Sides, WorldInputs
from reconciler.plan.audience.disclosure import Disclosure
from reconciler.plan.audience.readers import Key
from reconciler.plan.warnings.exposure import path_text
from reconciler.resource import Kinds

SORT: Final = "access"
NAMED: Final = 3  # addresses in a sentence
CLOSE: Final = "remove what lets them read it, or the pattern from mustNotSee, which requires consent"
OPEN: Final = "let them read it, or remove the pattern from sees, which requires consent"


class When(Enum):
    """When a demand is not met."""

    NEW = "after this plan"
    LEFT = "already today, and after this plan"
    WINDOW = "for a while"
    MENDED = "already so today"


@dataclass(frozen=True)
class Tested:
    """`violations` and `notes` for the plan. `questions` and `lists`: what must be read to be sure; see `Plan`."""

    violations: tuple[Violation, ...] = ()
    notes: tuple[str, ...] = ()
    questions: frozenset[Key] = frozenset()
    lists: frozenset[Key] = frozenset()


@dataclass(frozen=True)
class Miss:
    """One resource for which a demand is not met. `verdict`: that of the world in which it is not; `look`: that world; `key`: its object
    there. `requests`: of a window."""

    test: AccessTest
    demand: Demand
    address: Address
    when: When
    verdict: ReaderVerdict
    look: Look
    key: Key | None
    requests: int = 0


def tested(
    kinds: Kinds, desired: Desired, actual: Actual, ids: Mapping[Address, str], disclosed: Disclosure, *, partial: bool, waiting: bool
) -> Tested:
    """What the tests say of a plan; nothing is worked out where there are none.

    `partial`: the run is about some addresses only, or leads there in two runs. `waiting`: so is it where something is blocked.
    """
    if not desired.access:
        return Tested()
    about = {address for test in desired.access for demand in test.demands for address in demand.pattern.addresses}
    given = WorldInputs(kinds, actual, ids, disclosed, about)
    sides = given.sides()
    testing = _Testing(given, sides, desired, partial=partial, waiting=partial or waiting)
    misses = [miss for test in desired.access for miss in testing.misses(test)]
    mended = [miss for miss in misses if miss.when is When.MENDED]
    violations = tuple(testing.violation(miss, calm=bool(mended)) for miss in misses if miss.when is not When.MENDED)
    return Tested(violations, tuple(_remarks(mended)), frozenset(sides.needed.questions), frozenset(sides.needed.lists))


@dataclass(frozen=True)
class _Testing:
    given: WorldInputs
    sides: Sides
    desired: Desired
    partial: bool
    waiting: bool

    def misses(self, test: AccessTest) -> Iterator[Miss]:
        """What a test finds, each resource once for what must be seen and once for what must not."""
        done: set[tuple[bool, Address]] = set()
        for demand in test.demands:
            for address in demand.pattern.addresses:
                if (demand.sees, address) not in done:
                    done.add((demand.sees, address))
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
        """The longest time for which the reader sees the object on the way."""
        look = self.sides.after
        found = [
            (requests, access)
            for key in keys
            for access, requests in (self.sides.windows.get(key, ()) if key is not None else ())
            if look.among(demand.reader, access) is not Sees.NO
        ]
        for requests, access in sorted(found, key=lambda window: -window[0])[:1]:
            yield Miss(test, demand, address, When.WINDOW, ReaderVerdict(Sees.YES, access), look, None, requests)

    def _seen(self, test: AccessTest, demand: Demand, address: Address) -> Iterator[Miss]:
        was, then = self._keys(address)
        before, after = self.sides.before.verdict(demand.reader, was), self.sides.after.verdict(demand.reader, then)
        if after.sees is not Sees.YES:
            yield Miss(test, demand, address, When.NEW if before.sees is Sees.YES else When.LEFT, after, self.sides.after, then)
        elif before.sees is not Sees.YES and was is not None:
            yield Miss(test, demand, address, When.MENDED, before, self.sides.before, was)

    # -- what people read of it ------------------------------------------------------------------------------------------------------

    def violation(self, miss: Miss, *, calm: bool) -> Violation:
        """What was so before does not refuse a plan that mends something, nor one that does not lead everywhere yet."""
        declared = self.desired.resources.get(miss.address)
        unfinished = self.waiting if miss.demand.sees else self.partial
        access = miss.verdict.access
        path = miss.look.audiences.path(miss.key, access) if miss.key is not None and access is not None and not miss.demand.sees else ()
        return Violation(
            SORT,
            str(miss.demand.reader),
            miss.address,
            _message(miss, self._closed(miss)),
            id="RC-access-violated",
            level=Severity.WARNING if miss.when is When.LEFT and (calm or unfinished) else Severity.ERROR,
            path=path_text(self.sides.called, path),
            source=miss.demand.pattern.source,
            declared=declared.source if declared is not None else None,
            remedy=OPEN if miss.demand.sees else CLOSE,
        )

    def _closed(self, miss: Miss) -> str:
        """`: site docs is not published`, where that is why a reader does not see what they must."""
        if not miss.demand.sees or miss.verdict.sees is not Sees.NO or miss.key is None:
            return ""
        reasons = miss.look.closed(miss.demand.reader, miss.key)
        texts = sorted(f"{path_text(self.sides.called, [key])[0]} {reason}" for key, reason in reasons.items())
        more = f" and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
        return f": {', '.join(texts[:NAMED])}{more}" if texts else ""


def _message(miss: Miss, closed: str) -> str:
    """`anyone can read it after this plan (salaries are confidential)`. `closed`: what keeps a reader out who must see it."""
    who, when, reason = miss.demand.reader.says, miss.when.value, f" ({miss.test.reason})" if miss.test.reason else ""
    if miss.when is When.WINDOW:
        what = f"{who} can read it for {miss.requests} request{'s' if miss.requests != 1 else ''} of this run"
    elif miss.verdict.sees is Sees.UNDECIDED:
        what = f"whether {who} can read it {when} cannot be decided: {miss.verdict.doubt}"
    elif miss.demand.sees:
        lost = ", but can today" if miss.when is When.NEW else ""
        what = f"{who} cannot read it after this plan{lost}{closed}"
    else:
        what = f"{who} can read it {when}"
    return what + reason


def _remarks(mended: Collection[Miss]) -> Iterator[str]:
    """A sentence for each reader and demand of which the plan mends something."""
    groups: dict[tuple[str, bool], list[Miss]] = {}
    for miss in mended:
        groups.setdefault((miss.demand.reader.says, miss.demand.sees), []).append(miss)
    for (who, sees), misses in groups.items():
        names = ", ".join(str(miss.address) for miss in misses[:NAMED]) + (
            f" and {len(misses) - NAMED} more" if len(misses) > NAMED else ""
        )
        now, then = ("cannot read", "lets them") if sees else ("can read", "ends it")
        yield f"access: already so today, and this plan {then}: {who} {now} {names}"
