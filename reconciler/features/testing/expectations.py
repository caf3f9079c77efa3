"""What a test expects, each sort with its check against a twin that was asked after the last step. Pure.

An expectation that could not fail is not written: the reader refuses one that asks about nothing, and a check says so where what it asks
about never existed on the twin.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from reconciler.address import Address, Glob
from reconciler.features.testing.model import Mismatch
from reconciler.model import AccessTest, Blocked, Change, NamedReader, Observed, Plan, ReaderSort, Source
from reconciler.plan.changes import Names, named
from reconciler.report.words import count, data, shown
from reconciler.resource import UNSET, Kinds

BLOCKED = "blocked"  # what is counted beside the actions
KNOWS = ": whoever knows the URL can read it"
NOT_ALL = ": not everybody in it can"
BY_FILES = ", by what the files say"
LISTED = 10  # changes or objects that a mismatch names


class Refusal(NamedTuple):
    """An apply that was refused: the id of its cause, and why."""

    id: str
    message: str
    source: Source


class ServedPage(NamedTuple):
    """What a site shows at a URL: the space, by its address where it has one, and the title of the page."""

    space: str
    title: str


class Twin(Protocol):
    """A twin after the last step. `plan`: a fresh one; `text`: the same for people. `ids`: of every address that has an object; `known`: of
    those that had one at any moment. `refusal`: of the last apply, None if it was not refused."""

    @property
    def plan(self) -> Plan: ...
    @property
    def text(self) -> str: ...
    @property
    def ids(self) -> Mapping[Address, str]: ...
    @property
    def known(self) -> Collection[Address]: ...
    @property
    def refusal(self) -> Refusal | None: ...

    def find(self, address: Address) -> Observed | None:
        """The object of an address, as the service shows it."""
        ...

    def read_by(self, reader: NamedReader, *, informed: bool) -> Collection[tuple[str, str]]:
        """What a reader reads, by kind and id. `informed`: whoever of a team reads it, and they know every URL, where it is not known
        whether they do."""
        ...

    def nobody(self, reader: NamedReader) -> str:
        """Why the files do not say what a person or a team may do; "" where they do."""
        ...

    def pages(self, reader: NamedReader, site: Address | None, path: str) -> Mapping[str, ServedPage | None]:
        """What each site shows a reader at a path, by its address or title; None where nothing is there."""
        ...

    def snapshot(self, name: str) -> str | None:
        """The text of a snapshot; None if there is none."""
        ...


class Expectation(Protocol):
    """One expectation of a test."""

    @property
    def source(self) -> Source: ...

    def check(self, kinds: Kinds, twin: Twin) -> Iterator[Mismatch]:
        """What is not as expected; nothing if it is met."""
        ...


@dataclass(frozen=True)
class Bounds:
    """A number, or a range of numbers."""

    least: int
    most: int | None

    def admits(self, number: int) -> bool:
        return self.least <= number and (self.most is None or number <= self.most)

    def __str__(self) -> str:
        if self.least == self.most:
            return str(self.least)
        parts = [f"at least {self.least}"] if self.least else []
        return " and ".join([*parts, *([f"at most {self.most}"] if self.most is not None else [])]) or "any number"


@dataclass(frozen=True)
class Readers:
    """What a reader must and must not be able to read. `of_service`: the test is about the service, where people may have been given
    what no file says: what they do not see by the files is left to a plan."""

    test: AccessTest
    of_service: bool = False

    @property
    def source(self) -> Source:
        return self.test.source

    def check(self, kinds: Kinds, twin: Twin) -> Iterator[Mismatch]:
        reader, why = self.test.reader, f" ({self.test.reason})" if self.test.reason else ""
        who = reader.says
        if unknown := twin.nobody(reader):
            yield Mismatch(self.source, f"{unknown}{why}", left=self.of_service)
            return
        # Whether they know the URL of an unlisted site is not known.
        read, may_read = (twin.read_by(reader, informed=informed) for informed in (False, True))
        for demand, address in self.test.asks:
            id, source = twin.ids.get(address), demand.pattern.source
            if id is None and (demand.sees or address not in twin.known):
                never = "" if address in twin.known else "; it was never created, so the test proves nothing"
                yield Mismatch(source, f"{address} does not exist on the twin{never}{why}")
                continue
            key = (kinds.of(address).name, id)
            can = "cannot read" if key not in may_read else "can read" if key in read else "may be able to read"
            must, wanted = ("must see", "can read") if demand.sees else ("must not see", "cannot read")
            if can == wanted:
                continue
            named = BY_FILES if reader.person is not None else ""
            perhaps = NOT_ALL if reader.sort is ReaderSort.TEAM else KNOWS
            doubt = named if can in ("can read", "cannot read") else perhaps
            left = self.of_service and demand.sees and bool(named)
            yield Mismatch(source, f"{who} {can} {address}, and {must} it{doubt}{why}", f"{wanted} it", f"{can} it", left=left)


@dataclass(frozen=True)
class UrlShows:
    """What a URL shows. `answers`: False if nothing must be there; otherwise `space` and `title` are compared, where they are written."""

    source: Source
    path: str
    reader: NamedReader
    site: Address | None = None
    space: Address | None = None
    title: str | None = None
    answers: bool = True

    def check(self, kinds: Kinds, twin: Twin) -> Iterator[Mismatch]:
        pages = twin.pages(self.reader, self.site, self.path)
        if not pages:
            where = f"{self.site} does not exist on the twin, or is not published" if self.site else "no published site has this URL"
            yield Mismatch(self.source, f"{self.path}: {where}")
            return
        if any(map(self._is_met, pages.values())) if self.answers else not any(pages.values()):
            return
        several = len(pages) > 1
        actual = "; ".join(f"{site}: {_page(page)}" if several else _page(page) for site, page in pages.items())
        wrong = f"answers {self.reader.says}, and must not" if not self.answers else f"does not show {self.reader.says} what it must"
        yield Mismatch(self.source, f"{self.path} {wrong}", self._expected, actual)

    def _is_met(self, page: ServedPage | None) -> bool:
        if page is None:
            return False
        return (self.space is None or page.space == str(self.space)) and (self.title is None or page.title == self.title)

    @property
    def _expected(self) -> str:
        if not self.answers:
            return "nothing"
        title = f'"{self.title}"' if self.title is not None else "a page"
        return f"{title} of {self.space}" if self.space is not None else title


def _page(page: ServedPage | None) -> str:
    return f'"{page.title}" of {page.space}' if page is not None else "nothing"


@dataclass(frozen=True)
class Counts:
    """How often each action is in the plan, and how many requests it sends. `empty`: nothing at all is in it."""

    source: Source
    actions: Mapping[str, tuple[Bounds, Source]]
    requests: tuple[Bounds, Source] | None = None
    empty: bool = False

    def asks_for(self, item: Blocked) -> bool:
        """Whether the test expects that something is blocked, whatever it is."""
        return BLOCKED in self.actions and not self.actions[BLOCKED][0].admits(0)

    def check(self, kinds: Kinds, twin: Twin) -> Iterator[Mismatch]:
        plan, numbers = twin.plan, numbers_of(twin.plan)
        if self.empty and not plan.empty:
            yield Mismatch(self.source, "the plan is not empty", "empty", _numbers(numbers), lines_of(plan.changes, plan.blocked))
        for name, (bounds, source) in self.actions.items():
            if not bounds.admits(numbers[name]):
                changes = [change for change in plan.changes if name in change.actions]
                lines = lines_of(changes, plan.blocked if name == BLOCKED else ())
                wrong = f"{name} is {numbers[name]} in the plan, and must be {bounds}"
                yield Mismatch(source, wrong, str(bounds), str(numbers[name]), lines)
        if self.requests is not None and not self.requests[0].admits(len(plan.steps)):
            bounds, source = self.requests
            steps = [f"{step.address}: {step.verb}" for step in plan.steps]
            wrong = f"the plan sends {count(len(plan.steps), 'request')}, and must send {bounds}"
            yield Mismatch(source, wrong, str(bounds), str(len(plan.steps)), _first(steps))


def numbers_of(plan: Plan) -> Counter[str]:
    """How often each action is in a plan, and what is unmanaged or blocked."""
    numbers = Counter(action.value for change in plan.changes for action in change.actions)
    return numbers + Counter({"unmanaged": len(plan.unmanaged), BLOCKED: len(plan.blocked) + len(plan.deferred)})


def _numbers(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {number}" for name, number in numbers.items() if name != "unmanaged") or "other changes"


def lines_of(changes: Collection[Change], blocked: Collection[Blocked]) -> tuple[str, ...]:
    """A line for each change and each blocked address."""
    lines = [f"{change.address}: {', '.join(change.actions)}{_fields(change)}" for change in changes]
    return _first([*lines, *(f"{item.address}: blocked, {item.reason} [{item.id}]" for item in blocked)])


def _fields(change: Change) -> str:
    return "".join(f" {delta.name}" for delta in change.fields) if change.actions == ("update",) else ""


def _first(lines: list[str]) -> tuple[str, ...]:
    return (*lines[:LISTED], *([f"and {len(lines) - LISTED} more"] if len(lines) > LISTED else ()))


@dataclass(frozen=True)
class IsBlocked:
    """What the plan cannot do."""

    source: Source
    glob: Glob
    cause: str | None = None

    def asks_for(self, item: Blocked) -> bool:
        """Whether the test expects that this is blocked."""
        return self.glob.matches(item.address) and self.cause in (None, item.id)

    def check(self, kinds: Kinds, twin: Twin) -> Iterator[Mismatch]:
        blocked = [item for item in twin.plan.blocked if self.glob.matches(item.address)]
        if any(map(self.asks_for, blocked)):
            return
        lines = lines_of([change for change in twin.plan.changes if self.glob.matches(change.address)], twin.plan.blocked)
        expected = f"blocked [{self.cause}]" if self.cause else "blocked"
        if blocked:
            causes = ", ".join(dict.fromkeys(f"[{item.id}]" for item in blocked))
            yield Mismatch(self.source, f"{self.glob} is blocked for another cause than {self.cause}", expected, f"blocked {causes}", lines)
        else:
            yield Mismatch(self.source, f"{self.glob} is not blocked in the plan", expected, "not blocked", lines)


@dataclass(frozen=True)
class FieldValue:
    """The value of a field in the service. `value`: as it is shown; `text`: as it is written, for a field that is a text. `path`: into
    it."""

    source: Source
    address: Address
    name: str
    path: tuple[str, ...]
    value: Any
    text: str | None = None

    def check(self, kinds: Kinds, twin: Twin) -> Iterator[Mismatch]:
        called, observed = ".".join((f"{self.address}.{self.name}", *self.path)), twin.find(self.address)
        if observed is None:
            yield Mismatch(self.source, f"{called}: {self.address} does not exist on the twin", shown(self.value), "does not exist")
            return
        field = kinds.of(self.address).fields[self.name]
        names = Names((id, address) for address, id in twin.ids.items())
        value = observed.values.get(self.name, UNSET)
        actual = UNSET if value is UNSET else data(named(field.shown(value), names, self.address))
        for part in self.path:
            actual = actual.get(part, UNSET) if isinstance(actual, Mapping) else UNSET
        if not self._is(actual):
            yield Mismatch(self.source, f"{called} is {shown(actual)}, and must be {shown(self.value)}", shown(self.value), shown(actual))

    def _is(self, actual: Any) -> bool:
        if isinstance(actual, str) and self.text is not None:
            return actual == self.text
        return isinstance(actual, bool) is isinstance(self.value, bool) and bool(actual == self.value)


@dataclass(frozen=True)
class IsRefused:
    """That the last apply was refused."""

    source: Source
    cause: str

    def check(self, kinds: Kinds, twin: Twin) -> Iterator[Mismatch]:
        refusal = twin.refusal
        if refusal is None:
            yield Mismatch(self.source, "the last apply was not refused", f"refused [{self.cause}]", "not refused")
        elif refusal.id != self.cause:
            wrong = f"the last apply was refused for another cause than {self.cause}"
            yield Mismatch(self.source, wrong, f"[{self.cause}]", f"[{refusal.id}]", tuple(refusal.message.splitlines()))


@dataclass(frozen=True)
class Snapshot:
    """The plan as a text, in a file beside the test."""

    source: Source
    name: str

    def check(self, kinds: Kinds, twin: Twin) -> Iterator[Mismatch]:
        before = twin.snapshot(self.name)
        if before is None:
            yield Mismatch(self.source, f"the snapshot {self.name} does not exist; reconciler test --update writes it")
        # By lines: git may check a text file out with the line ends of Windows.
        elif before.splitlines() != twin.text.splitlines():
            lines = difflib.unified_diff(before.splitlines(), twin.text.splitlines(), self.name, "the plan now", lineterm="", n=2)
            wrong = f"the plan is not that of the snapshot {self.name}; if it should be, write it with reconciler test --update"
            yield Mismatch(self.source, wrong, lines=tuple(lines))
