"""The access tests of a project against a plan: what the plan violates, and what it corrects; and against the service as it is. Pure.

In: the inputs of the plan, and what it changes for readers. Out: a violation for each resource that a reader sees and must not, or must see
and does not; a sentence for each violation that the plan ends; and what must be read to be sure.

The order of the steps lets nobody read, at any moment of a run, what they can read neither before nor after it, except in the windows that
the plan shows (`docs/decisions/0007-audiences.md`). So a test that passes before and after the plan also passes during it, unless a window
violates it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from reconciler.address import Address
from reconciler.model import AccessTest, Actual, Demand, Desired, Severity, Violation
from reconciler.plan.access.verdicts import UNREAD, Look, NeededReadings, ReaderVerdict, Sees, needed
from reconciler.plan.audience.barriers import Worlds, opens
from reconciler.plan.audience.disclosure import Disclosure, ReaderWindow, caller
from reconciler.plan.audience.readers import Audiences, Objects
from reconciler.plan.containment import Key, copied
from reconciler.plan.warnings.exposure import path_text
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


# -- a demand that is not met ------------------------------------------------------------------------------------------------------


SORT: Final = "access"
NAMED: Final = 3  # addresses in a sentence
CLOSE: Final = "remove what lets them read it, or the pattern from mustNotSee, which requires consent"
LATER: Final = "apply first a project in which nobody can read it, or remove the pattern from mustNotSee, which requires consent"
OPEN: Final = "let them read it, or remove the pattern from sees, which requires consent"


class When(Enum):
    """When a demand is not met."""

    NEW = "after this plan"
    LEFT = "already today, and after this plan"
    WINDOW = "for a while"
    MENDED = "violated already"
    TODAY = "today"


@dataclass(frozen=True)
class Miss:
    """One resource for which a demand is not met. `look`: the world in which it is not met; `verdict`: the verdict there; `key`: its object
    there. `window`: set where the reader sees it only for a while."""

    test: AccessTest
    demand: Demand
    address: Address
    when: When
    verdict: ReaderVerdict
    look: Look
    key: Key | None
    window: ReaderWindow | None = None


def violation(miss: Miss, desired: Desired, called: Callable[[Key], Address], level: Severity) -> Violation:
    """The violation of a miss. `called`: the address of an object, managed or not."""
    declared = desired.resources.get(miss.address)
    access = miss.verdict.access
    path = miss.look.audiences.path(miss.key, access) if miss.key is not None and access is not None and not miss.demand.sees else ()
    path = miss.window.path if miss.window is not None else path
    return Violation(
        SORT,
        str(miss.demand.reader),
        miss.address,
        _message(miss, _closed(miss, called) or _open(miss, path)),
        id="RC-access-violated",
        level=level,
        path=path_text(called, path),
        source=miss.demand.pattern.source,
        declared=declared.source if declared is not None else None,
        remedy=OPEN if miss.demand.sees else CLOSE if miss.window is None else LATER,
    )


def _open(miss: Miss, path: Sequence[Key]) -> str:
    """`: its defaultLevel is read`, where the object's own fields admit a reader who must not see it."""
    access = miss.verdict.access
    observed = miss.look.audiences.find(path[0]) if len(path) == 1 else None
    audience = miss.look.audiences.kinds[path[0][0]].audience if observed is not None else None
    if observed is None or audience is None or access is None:
        return ""
    admitting = audience.admitting(observed.values, access.who)
    fields = [f"its {field} is {str(value).lower() if (value := observed.values[field]) is True else value}" for field in admitting]
    return f": {' and '.join(fields)}" if fields else ""


def _closed(miss: Miss, called: Callable[[Key], Address]) -> str:
    """`: site docs is not published`, where that is why a reader does not see what they must see."""
    if not miss.demand.sees or miss.verdict.sees is not Sees.NO or miss.key is None:
        return ""
    reasons = miss.look.closed(miss.demand.reader, miss.key)
    texts = sorted(f"{path_text(called, [key])[0]} {reason}" for key, reason in reasons.items())
    more = f" and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
    return f": {', '.join(texts[:NAMED])}{more}" if texts else ""


def _message(miss: Miss, ways: str) -> str:
    """`anyone can read it after this plan (salaries are confidential)`. `ways`: what keeps out a reader who must see it, or admits one who
    must not."""
    who, when, reason = miss.demand.reader.says, miss.when.value, f" ({miss.test.reason})" if miss.test.reason else ""
    if miss.window is not None:
        requests = miss.window.requests
        what = f"{who} can read it for {requests} request{'s' if requests != 1 else ''} of this run"
    elif miss.verdict.sees is Sees.UNDECIDED:
        what = f"whether {who} can read it {when} cannot be decided: {miss.verdict.doubt}"
    elif miss.demand.sees and miss.when is When.TODAY:
        what = f"{who} cannot read it{ways}"
    elif miss.demand.sees:
        lost = ", but can today" if miss.when is When.NEW else ""
        what = f"{who} cannot read it after this plan{lost}{ways}"
    else:
        what = f"{who} can read it {when}{ways}"
    return what + reason


# -- the worlds before and after a plan --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sides:
    """`before`, `after`: the worlds. `spread_before`, `spread_after`: the same, where the readers of a copy read what it was copied from.

    `windows`: who reads an object during the run only. `needed`: what must be read to be sure of all this.
    """

    before: Look
    after: Look
    spread_before: Look
    spread_after: Look
    windows: Mapping[Key, Collection[ReaderWindow]]
    called: Callable[[Key], Address]
    needed: NeededReadings


@dataclass(frozen=True)
class WorldInputs:
    """The inputs of the worlds. `ids`: of every address before the plan. `about`: the addresses to ask about."""

    kinds: Kinds
    actual: Actual
    ids: Mapping[Address, str]
    disclosed: Disclosure
    about: Collection[Address]

    def key(self, ids: Mapping[Address, str], address: Address) -> Key | None:
        """The object of an address; None where it has none."""
        id = ids.get(address)
        return None if id is None else (self.kinds.of(address).name, id)

    def sides(self) -> Sides:
        worlds, now = self.disclosed.worlds, self.actual.objects
        before = self._both(now, self.actual.complete, copied(self.kinds, now))
        after = before
        if worlds is not None:
            after = self._both(worlds.served, worlds.after.complete, self._copies(worlds))
        later = worlds.ids if worlds is not None else self.ids
        keys = {key for ids in (self.ids, later) for address in self.about if (key := self.key(ids, address)) is not None}
        need = needed(self.kinds, self.actual, (*before, *after) if worlds is not None else before, keys)
        looks = [Look(audiences, ids, frozenset(need.unread)) for some, ids in ((before, self.ids), (after, later)) for audiences in some]
        windows: dict[Key, list[ReaderWindow]] = {}
        for window in self.disclosed.windows:
            windows.setdefault(window.key, []).append(window)
        return Sides(looks[0], looks[2], looks[1], looks[3], windows, self._caller(worlds), need)

    def _both(self, objects: Objects, complete: Collection[Key], copies: Mapping[Key, Collection[Key]]) -> tuple[Audiences, Audiences]:
        """Who can read what, and who can read what if the readers of a copy could also read its source."""
        own = Audiences(self.kinds, objects, complete=complete)
        return own, Audiences(self.kinds, objects, complete=complete, copies=copies) if copies else own

    def _copies(self, worlds: Worlds) -> dict[Key, Collection[Key]]:
        """The copies and their sources, without copies of what the project itself declares open to everybody."""
        result: dict[Key, Collection[Key]] = {}
        for key, copies in worlds.after.copies.items():
            served = worlds.served.get(key[0], {}).get(key[1])
            modelled = worlds.after.objects.get(key[0], {}).get(key[1])
            if served is None or modelled is None or not opens(self.kinds[key[0]], served.values, modelled.values):
                result[key] = copies
        return result

    def _caller(self, worlds: Worlds | None) -> Callable[[Key], Address]:
        if worlds is not None:
            return self.disclosed.called
        addresses = {(self.kinds.of(address).name, id): address for address, id in self.ids.items()}
        return caller(self.kinds, addresses, self.actual.objects, self.actual.objects)
