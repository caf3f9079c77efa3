"""Who can read what, now and after a plan: the access review. Pure.

In: what was read, and a plan of it. Out: a row for each object that has readers, managed or not, with its readers and the path by which
each of them reaches it. Readers are the classes of the audience model, or single readers where the caller names some.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reconciler.address import Address, bare
from reconciler.model import Actual, Desired, NamedReader, Plan, State, Unknown, Violation
from reconciler.model.codec import title
from reconciler.plan.access.verdicts import Look, Sees, needed
from reconciler.plan.audience.disclosure import caller
from reconciler.plan.audience.readers import Access, Audiences
from reconciler.plan.containment import Key
from reconciler.plan.matching.identity import identify
from reconciler.plan.simulation.simulate import simulate
from reconciler.plan.warnings.exposure import path_text
from reconciler.resource import Kinds
from reconciler.resource.risks import (
    AGENTS,
    ANYONE,
    ANYONE_WITH_THE_URL,
    LEVELS,
    LINK_HOLDERS,
    MEMBERS,
    MEMBERS_THROUGH,
    VISITORS,
)

TITLES: Final = ("title", "name", "slug")  # fields by which people recognize an object
ORDER: Final = (ANYONE, ANYONE_WITH_THE_URL, VISITORS, LINK_HOLDERS, AGENTS, MEMBERS, MEMBERS_THROUGH)


@dataclass(frozen=True)
class ReaderLine:
    """One reader of an object. `reader`: in words. `level`: what they may do. `path`: from the object to what admits them. `doubt`: why it
    cannot be decided whether they can read it, "" where it can."""

    reader: str
    level: str
    path: tuple[str, ...] = ()
    doubt: str = ""


@dataclass(frozen=True)
class ReviewRow:
    """One object. `before`, `after`: its readers; None where it does not exist."""

    address: Address
    kind: str
    id: str
    title: str
    managed: bool
    before: tuple[ReaderLine, ...] | None
    after: tuple[ReaderLine, ...] | None

    @property
    def changed(self) -> bool:
        """Whether it has other readers after the plan, regardless of the paths by which they reach it."""
        return _who(self.before) != _who(self.after)


@dataclass(frozen=True)
class Review:
    """`readers`: those that were asked about, () for all classes. `violations`: of the project's tests. `unknown`: what was not read."""

    project: str
    environment: str | None
    readers: tuple[str, ...]
    rows: tuple[ReviewRow, ...]
    violations: tuple[Violation, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    steps: int = 0


def review(kinds: Kinds, desired: Desired, state: State, actual: Actual, plan: Plan, readers: Sequence[NamedReader] = ()) -> Review:
    """The review of everything that was read. `readers`: the readers to show; all classes of readers where none is given."""
    matches = identify(kinds, desired, state, actual)
    simulation = simulate(kinds, actual, matches.ids, plan.steps, plan.places)
    then = simulation.actual() if plan.steps else actual
    now = Audiences(kinds, actual.objects, complete=actual.complete)
    sides = (now, Audiences(kinds, then.objects, complete=then.complete) if plan.steps else now)
    keys = [(name, id) for name, some in actual.objects.items() if kinds[name].audience is not None for id in some]
    unread = frozenset(needed(kinds, actual, sides[:1], keys).unread)
    looks = (Look(sides[0], matches.ids, unread), Look(sides[1], simulation.ids, unread))
    addresses = {(kinds.of(address).name, id): address for address, id in (*matches.ids.items(), *simulation.ids.items())}
    reviewing = _Reviewing(kinds, looks, {key: address for key, address in addresses.items() if address in desired.resources}, readers)
    order = {name: at for at, name in enumerate(kinds)}
    rows = tuple(sorted(reviewing.rows(), key=lambda row: (order[row.kind], row.address)))
    names = tuple(map(str, readers))
    return Review(desired.project, desired.environment, names, rows, plan.violations, actual.unknown, len(plan.steps))


@dataclass(frozen=True)
class _Reviewing:
    kinds: Kinds
    looks: tuple[Look, Look]
    managed: Mapping[Key, Address]
    readers: Sequence[NamedReader]

    def rows(self) -> Iterator[ReviewRow]:
        before, after = (look.audiences for look in self.looks)
        called = caller(self.kinds, self.managed, after.objects, before.objects)
        for kind in self.kinds.values():
            ids = dict.fromkeys((*before.objects.get(kind.name, {}), *after.objects.get(kind.name, {})))
            if kind.audience is not None:
                for id in ids:
                    key = (kind.name, id)
                    first = self._side(self.looks[0], key)
                    sides = [first, first if after is before else self._side(self.looks[1], key)]
                    if sides != [None, None]:
                        new = not before.objects.get(kind.name, {}).get(id)
                        shown = "" if new else bare(id)
                        yield ReviewRow(called(key), kind.name, shown, self._title(key), key in self.managed, *sides)

    def _side(self, look: Look, key: Key) -> tuple[ReaderLine, ...] | None:
        return tuple(self._lines(look, key)) if look.exists(key) else None

    def _title(self, key: Key) -> str:
        """The object's title after the plan, or its title before the plan where it is deleted."""
        for look in reversed(self.looks):
            observed = look.audiences.objects.get(key[0], {}).get(key[1])
            if observed is not None:
                written = next((observed.values[name] for name in TITLES if isinstance(observed.values.get(name), str)), None)
                called = title(observed)
                return str(written) if written is not None else called if called != bare(observed.id) else ""
        return ""

    def _lines(self, look: Look, key: Key) -> Iterator[ReaderLine]:
        if not self.readers:
            for access in sorted(look.audiences.of(key), key=lambda access: ((*ORDER, access.who).index(access.who), str(access))):
                yield self._line(look, key, self._says(look, access), access)
            if not look.audiences.of(key) and key in look.unread_ways:
                yield ReaderLine("unknown", "", doubt="what leads to it could not be read")
        for reader in self.readers:
            verdict = look.verdict(reader, key)
            if verdict.sees is not Sees.NO:
                yield self._line(look, key, str(reader), verdict.access, verdict.doubt)

    def _line(self, look: Look, key: Key, says: str, access: Access | None, doubt: str = "") -> ReaderLine:
        if access is None:
            return ReaderLine(says, "", doubt=doubt)
        audiences = look.audiences
        called = caller(self.kinds, self.managed, audiences.objects, audiences.objects)
        return ReaderLine(says, LEVELS[access.level], path_text(called, audiences.path(key, access)), doubt)

    def _says(self, look: Look, access: Access) -> str:
        """The class of readers in words, a link by its address."""
        text = str(access).removesuffix(f" ({LEVELS[access.level]})")
        if access.via:
            for name, some in look.audiences.objects.items():
                if access.via in some:
                    called = caller(self.kinds, self.managed, look.audiences.objects, look.audiences.objects)
                    return text.replace(access.who, f"{access.who} {called((name, access.via))}", 1)
        return text


def _who(lines: tuple[ReaderLine, ...] | None) -> frozenset[tuple[str, str, str]] | None:
    return None if lines is None else frozenset((line.reader, line.level, line.doubt) for line in lines)
