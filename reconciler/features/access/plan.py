"""The access tests of a project against a plan: what the plan violates, and what it corrects; and against the service as it is. Pure.

In: the inputs of the plan, and what it changes for readers. Out: a violation for each resource that a reader sees and must not, or must see
and does not; a sentence for each violation that the plan ends; and what must be read to be sure.

The order of the steps lets nobody read, at any moment of a run, what they can read neither before nor after it, except in the windows that
the plan shows (`docs/decisions/0007-audiences.md`). So a test that passes before and after the plan also passes during it, unless a window
violates it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from reconciler.address import Address
from reconciler.features.access.verdicts import UNREAD, AskedWorld, NeededReadings, ReaderVerdict, Sees, needed
from reconciler.model import AccessTest, Actual, Declared, Demand, Desired, NamedReader, ReaderSort, Severity, Violation
from reconciler.plan.audience.barriers import Worlds, opens
from reconciler.plan.audience.disclosure import Disclosure, ReaderWindow, caller
from reconciler.plan.audience.people import GRANTED, PersonalAccess, unasked
from reconciler.plan.audience.readers import Audiences, Objects
from reconciler.plan.checks import CheckResults
from reconciler.plan.containment import Key, copied
from reconciler.plan.warnings.exposure import path_text
from reconciler.plan.world import World
from reconciler.resource import Kinds

Asked = tuple[NamedReader, Address]
"""A reader, and a resource."""


def run_access_tests(world: World, ids: Mapping[Address, str], disclosed: Disclosure, *, partial: bool, waiting: bool) -> CheckResults:
    """The results of the access tests for a plan; nothing is computed where there are none.

    `partial`: the run is limited to some addresses, or needs a second run. `waiting`: true as well where something is blocked.
    """
    kinds, desired, actual = world.kinds, world.desired, world.actual
    if not desired.access:
        return CheckResults()
    asked = [(demand.reader, address) for test in desired.access for demand, address in test.asks]
    sides = sides_of(kinds, desired.resources, actual, ids, disclosed, asked)
    misses = [miss for test in desired.access for miss in _misses(kinds, sides, test)]
    mended = [miss for miss in misses if miss.when is When.MENDED]
    violations = []
    for miss in misses:
        # What was violated already does not refuse a plan that corrects something, or that is not complete yet.
        unfinished = partial or (waiting and miss.demand.sees)
        is_excused = miss.when is When.PERHAPS or (miss.when is When.LEFT and (bool(mended) or unfinished))
        if miss.when is not When.MENDED:
            violations.append(violation(miss, desired, sides.called, Severity.WARNING if is_excused else Severity.ERROR))
    notes = (*_remarks(mended), *_strangers(desired, sides.before))
    return CheckResults(tuple(violations), notes, frozenset(sides.needed.questions), frozenset(sides.needed.lists))


def _misses(kinds: Kinds, sides: Sides, test: AccessTest) -> Iterator[Miss]:
    """The misses of a test: each resource at most once for what must be seen and once for what must not."""
    for demand, address in test.asks:
        was, then = _key(kinds, sides.before.ids, address), _key(kinds, sides.after.ids, address)
        # Whoever reads a copy has read its source, which matters to those who must not; to those who must, a copy does not help.
        look_before, look_after = (sides.before, sides.after) if demand.sees else (sides.spread_before, sides.spread_after)
        before, after = look_before.verdict(demand.reader, was), look_after.verdict(demand.reader, then)
        met = Sees.YES if demand.sees else Sees.NO
        if after.sees is not met:
            less = not demand.sees and before.sees is Sees.YES and after.sees is Sees.UNDECIDED
            when = When.NEW if before.sees is met else When.PERHAPS if less else When.LEFT
            yield Miss(test, demand, address, when, after, look_after, then)
        elif before.sees is not met:
            # What did not exist was not hidden from anybody.
            if was is not None:
                yield Miss(test, demand, address, When.MENDED, before, look_before, was)
        elif not demand.sees:
            # The longest window in which the reader sees the object during the run.
            windows = [window for key in dict.fromkeys((was, then)) if key is not None for window in sides.windows.get(key, ())]
            windows = [window for window in windows if sides.after.among(demand.reader, window.access) is not Sees.NO]
            for window in sorted(windows, key=lambda window: -window.requests)[:1]:
                verdict = ReaderVerdict(Sees.YES, window.access)
                yield Miss(test, demand, address, When.WINDOW, verdict, sides.after, None, window)


def _remarks(mended: Collection[Miss]) -> Iterator[str]:
    """A sentence for each reader and demand for which the plan corrects something."""
    groups: dict[tuple[str, bool], list[Miss]] = {}
    for miss in mended:
        groups.setdefault((miss.demand.reader.says, miss.demand.sees), []).append(miss)
    for (who, sees), misses in groups.items():
        names = ", ".join(str(miss.address) for miss in misses[:MOST_ADDRESSES]) + (
            f" and {len(misses) - MOST_ADDRESSES} more" if len(misses) > MOST_ADDRESSES else ""
        )
        now, then = ("cannot read", "lets them") if sees else ("can read", "ends it")
        yield f"access: violated already, and this plan {then}: {who} {now} {names}"


def _strangers(desired: Desired, look: AskedWorld) -> Iterator[str]:
    """A sentence for each person of a test whom the organization does not have: a mistyped address would never be refused anything."""
    readers = {str(test.reader): test.reader for test in desired.access if test.reader.sort is ReaderSort.MEMBER}
    for reader in readers.values():
        if reader.person is not None and look.meant(reader) == ([], ""):
            yield f"access: {reader.says} is not a member of {reader.person.container}, and counts as anyone"


# -- without a plan ---------------------------------------------------------------------------------------------------------------


def unmet(
    kinds: Kinds, desired: Desired, actual: Actual, ids: Mapping[Address, str], about: Collection[Address]
) -> tuple[list[Violation], dict[Address, str]]:
    """What is not as a test demands on the service as it is now; and the resources for which that is unknown, each with the reason.

    Nothing is computed where there are no tests. `about`: what to ask about.
    """
    violations: list[Violation] = []
    unread: dict[Address, str] = {}
    asked = [(test, demand, address) for test in desired.access for demand, address in test.asks if address in about]
    if not asked:
        return violations, unread
    sides = sides_of(kinds, desired.resources, actual, ids, Disclosure(()), [(demand.reader, address) for _, demand, address in asked])
    for test, demand, address in asked:
        look = sides.before if demand.sees else sides.spread_before
        key = (kinds.of(address).name, ids[address])
        verdict = look.verdict(demand.reader, key)
        if verdict.sees is (Sees.YES if demand.sees else Sees.NO):
            continue
        if verdict.sees is Sees.UNDECIDED and (UNREAD in verdict.doubt or verdict.doubt == GRANTED):
            unread[address] = f"whether {demand.reader.says} can read it is not known: {verdict.doubt}"
        else:
            miss = Miss(test, demand, address, When.TODAY, verdict, look, key)
            violations.append(violation(miss, desired, sides.called, Severity.ERROR))
    return violations, unread


# -- a demand that is not met ------------------------------------------------------------------------------------------------------


SORT: Final = "access"
MOST_ADDRESSES: Final = 3  # addresses in a sentence
CLOSE: Final = "remove what lets them read it, or the pattern from mustNotSee, which requires consent"
LATER: Final = "apply first a project in which nobody can read it, or remove the pattern from mustNotSee, which requires consent"
OPEN: Final = "let them read it, or remove the pattern from sees, which requires consent"


class When(Enum):
    """When a demand is not met."""

    NEW = "after this plan"
    LEFT = "already today, and after this plan"
    PERHAPS = "once this plan has ended what lets them"
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
    look: AskedWorld
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
        along=tuple(dict.fromkeys(called(key) for key in (*path, *_closing(miss)))),
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


def _closing(miss: Miss) -> Mapping[Key, str]:
    """What keeps out a reader who must see it, with the reason of each."""
    if not miss.demand.sees or miss.verdict.sees is not Sees.NO or miss.key is None:
        return {}
    return miss.look.closed(miss.demand.reader, miss.key)


def _closed(miss: Miss, called: Callable[[Key], Address]) -> str:
    """`: site docs is not published`, where that is why a reader does not see what they must see."""
    reasons = _closing(miss)
    if not reasons:
        return ""
    texts = sorted(f"{path_text(called, [key])[0]} {reason}" for key, reason in reasons.items())
    more = f" and {len(texts) - MOST_ADDRESSES} more" if len(texts) > MOST_ADDRESSES else ""
    return f": {', '.join(texts[:MOST_ADDRESSES])}{more}" if texts else ""


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

    before: AskedWorld
    after: AskedWorld
    spread_before: AskedWorld
    spread_after: AskedWorld
    windows: Mapping[Key, Collection[ReaderWindow]]
    called: Callable[[Key], Address]
    needed: NeededReadings


def sides_of(
    kinds: Kinds,
    declared: Mapping[Address, Declared],
    actual: Actual,
    ids: Mapping[Address, str],
    disclosed: Disclosure,
    asked: Collection[Asked],
) -> Sides:
    """The worlds before and after a plan. `declared`: the resources of the project. `ids`: of every address before the plan. `asked`: who
    is asked about which addresses."""
    worlds, now = disclosed.worlds, actual.objects
    before = after = _with_copies(kinds, now, actual.complete, copied(kinds, now))
    called, later = disclosed.called, ids
    if worlds is not None:
        after, later = _with_copies(kinds, worlds.served, worlds.after.complete, _copies(worlds)), worlds.ids
    else:
        called = caller(kinds, kinds.addresses(ids), now, now)
    keys = {key for known in (ids, later) for _, address in asked if (key := _key(kinds, known, address)) is not None}
    need = needed(kinds, actual, (*before, *after) if worlds is not None else before, keys)
    looks = [
        AskedWorld(audiences, known, frozenset(need.unread), PersonalAccess(kinds, some[0], before[0], actual), declared)
        for some, known in ((before, ids), (after, later))
        for audiences in some
    ]
    if any(reader.person is not None for reader, _ in asked):
        need.questions |= unasked(kinds, actual)
    windows: dict[Key, list[ReaderWindow]] = {}
    for window in disclosed.windows:
        windows.setdefault(window.key, []).append(window)
    return Sides(looks[0], looks[2], looks[1], looks[3], windows, called, need)


def _key(kinds: Kinds, ids: Mapping[Address, str], address: Address) -> Key | None:
    """The object of an address; None where it has none."""
    return (kinds.of(address).name, ids[address]) if address in ids else None


def _with_copies(
    kinds: Kinds, objects: Objects, complete: Collection[Key], copies: Mapping[Key, Collection[Key]]
) -> tuple[Audiences, Audiences]:
    """Who can read what, and who can read what if the readers of a copy could also read its source."""
    own = Audiences(kinds, objects, complete=complete)
    return own, Audiences(kinds, objects, complete=complete, copies=copies) if copies else own


def _copies(worlds: Worlds) -> dict[Key, Collection[Key]]:
    """The copies and their sources, without copies of what the project itself declares open to everybody."""
    result: dict[Key, Collection[Key]] = {}
    for key, copies in worlds.after.copies.items():
        served = worlds.served.get(key[0], {}).get(key[1])
        modelled = worlds.after.objects.get(key[0], {}).get(key[1])
        if served is None or modelled is None or not opens(worlds.after, key, served.values, modelled.values):
            result[key] = copies
    return result
