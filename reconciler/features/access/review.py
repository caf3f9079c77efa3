"""The access review: who can read what, now and after a plan. Pure.

In: what was read, and a plan of it. Out: a row for each object that has readers, managed or not, with its readers and the path by which
each of them reaches it; or with everybody who can read it, by name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final

from reconciler.address import Address, bare
from reconciler.features.access.verdicts import ADMIN, GIVEN, AskedWorld, Sees, needed
from reconciler.model import Actual, Desired, NamedReader, Observed, Plan, ReaderSort, State, Unknown, Violation
from reconciler.model.codec import title
from reconciler.plan.audience.disclosure import caller
from reconciler.plan.audience.people import PersonalAccess, name_of, people_of, role_of
from reconciler.plan.audience.readers import Access, Audiences, folded, order
from reconciler.plan.containment import Key, containers
from reconciler.plan.matching.match import identify
from reconciler.plan.simulation.simulate import simulate
from reconciler.plan.warnings.exposure import path_text
from reconciler.resource import Kinds
from reconciler.resource.risks import (
    AGENTS,
    ANYONE,
    ANYONE_WITH_THE_URL,
    BY_ROLE,
    EACH_BY_ROLE,
    LEVELS,
    LINK_HOLDERS,
    MEMBERS,
    VISITORS,
)

# -- The review ----------------------------------------------------------------------------------------------------------------------

TITLES: Final = ("title", "name", "slug")  # fields by which people recognize an object
ORDER: Final = (ANYONE, ANYONE_WITH_THE_URL, VISITORS, LINK_HOLDERS, AGENTS, MEMBERS, EACH_BY_ROLE, *BY_ROLE)


@dataclass(frozen=True)
class ReaderLine:
    """One reader of an object. `reader`: in words. `level`: what they may do. `path`: from the object to what admits them. `doubt`: why it
    cannot be decided whether they can read it, "" where it can. `via`: the address in `reader`, None where it has none."""

    reader: str
    level: str
    path: tuple[str, ...] = ()
    doubt: str = ""
    via: Address | None = None
    reason: str = ""


@dataclass(frozen=True)
class ReviewRow:
    """One object. `before`, `after`: its readers; None where it does not exist. `managed`: it is declared; `tracked`: the state knows it.

    `parent`: the nearest object that contains it and has readers; None where none does.
    """

    address: Address
    kind: str
    id: str
    title: str
    managed: bool
    before: tuple[ReaderLine, ...] | None
    after: tuple[ReaderLine, ...] | None
    tracked: bool = False
    parent: Address | None = None

    @property
    def changed(self) -> bool:
        """Whether it has other readers after the plan, regardless of the paths by which they reach it."""
        return _who(self.before) != _who(self.after)


@dataclass(frozen=True)
class Review:
    """`readers`: those that were asked about, () for all classes. `violations`: of the project's tests. `unknown`: what was not read.
    `admins`: by name. `about`: the object whose readers are shown by name. `unasked`: how many people's own access was not read.
    `strangers`: the readers who are named and whom the organization does not have."""

    project: str
    environment: str | None
    readers: tuple[str, ...]
    rows: tuple[ReviewRow, ...]
    violations: tuple[Violation, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    steps: int = 0
    admins: tuple[str, ...] = ()
    about: Address | None = None
    unasked: int = 0
    strangers: tuple[str, ...] = ()


def review(
    kinds: Kinds,
    desired: Desired,
    state: State,
    actual: Actual,
    plan: Plan,
    readers: Sequence[NamedReader] = (),
    about: Address | None = None,
) -> Review:
    """The review of everything that was read. `readers`: the readers to show; all classes of readers where none is given. `about`: of one
    object, with everybody who can read it by name. Raises `KeyError` where that object was not read."""
    matches = identify(kinds, desired, state, actual)
    simulation = simulate(kinds, actual, matches.ids, plan.steps, plan.places)
    then = simulation.actual() if plan.steps else actual
    now = Audiences(kinds, actual.objects, complete=actual.complete)
    sides = (now, Audiences(kinds, then.objects, complete=then.complete) if plan.steps else now)
    keys = [(name, id) for name, some in actual.objects.items() if kinds[name].audience is not None for id in some]
    unread = frozenset(needed(kinds, actual, sides[:1], keys).unread)
    looks = (
        AskedWorld(sides[0], matches.ids, unread, PersonalAccess(kinds, sides[0], sides[0], actual), desired.resources),
        AskedWorld(sides[1], simulation.ids, unread, PersonalAccess(kinds, sides[1], sides[0], actual), desired.resources),
    )
    addresses = {**matches.former.state.addresses}
    ids = (*matches.ids.items(), *simulation.ids.items())
    addresses |= {(kinds.of(address).name, id): address for address, id in ids if address in desired.resources}
    reviewing = _Reviewing(kinds, looks, addresses, frozenset(desired.resources), readers, by_name=about is not None)
    order = {name: at for at, name in enumerate(kinds)}
    rows = tuple(sorted(reviewing.rows(), key=lambda row: (order[row.kind], row.address)))
    if about is not None:
        rows = tuple(row for row in rows if row.address == about)
        if not rows:
            raise KeyError(about)
    names = tuple(map(str, readers))
    admins = [person for person in people_of(kinds, actual.objects) if kinds[person.kind].holds_scarce(person.values)]
    return Review(
        desired.project,
        desired.environment,
        names,
        rows,
        plan.violations,
        actual.unknown,
        len(plan.steps),
        tuple(sorted(name_of(kinds, person) for person in admins)),
        about,
        sum(1 for person in people_of(kinds, actual.objects) if _is_unread(kinds, actual, person)),
        tuple(reader.says for reader in readers if reader.sort is ReaderSort.MEMBER and looks[0].meant(reader) == ([], "")),
    )


def _is_unread(kinds: Kinds, actual: Actual, person: Observed) -> bool:
    """Whether it is not known what a person was given, who may not do everything anyway."""
    return person.key not in actual.personal and not kinds[person.kind].holds_scarce(person.values)


@dataclass(eq=False)
class _Reviewing:
    kinds: Kinds
    looks: tuple[AskedWorld, AskedWorld]
    addresses: Mapping[Key, Address]
    declared: frozenset[Address]
    readers: Sequence[NamedReader]
    by_name: bool = False

    def rows(self) -> Iterator[ReviewRow]:
        before, after = (look.audiences for look in self.looks)
        called = caller(self.kinds, self.addresses, after.objects, before.objects)
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
                        above, known = self._parent(key), self.addresses.get(key)
                        yield ReviewRow(
                            called(key),
                            kind.name,
                            shown,
                            self._title(key),
                            known in self.declared,
                            before=sides[0],
                            after=sides[1],
                            tracked=known is not None,
                            parent=called(above) if above is not None else None,
                        )

    def _parent(self, key: Key) -> Key | None:
        """The nearest object that contains it and has readers: after the plan, or now if the plan deletes it."""
        for look in reversed(self.looks):
            at, seen = key, {key}
            while (observed := look.audiences.objects.get(at[0], {}).get(at[1])) is not None:
                at = next((above for above in containers(self.kinds[at[0]], observed) if above not in seen), ("", ""))
                if at[0] and self.kinds[at[0]].audience is not None and look.exists(at):
                    return at
                seen.add(at)
        return None

    def _side(self, look: AskedWorld, key: Key) -> tuple[ReaderLine, ...] | None:
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

    def _lines(self, look: AskedWorld, key: Key) -> Iterator[ReaderLine]:
        if self.by_name:
            yield from self._people(look, key)
        elif not self.readers:
            shown = folded(look.audiences.of(key))
            for access in sorted(shown, key=lambda access: ((*ORDER, access.who).index(access.who), str(access))):
                yield self._of_access(look, key, access, shown[access])
            yield from self._given(look, key)
            if not look.audiences.of(key) and key in look.unread_ways:
                yield ReaderLine("unknown", "", doubt="what leads to it could not be read")
        for reader in self.readers:
            verdict = look.verdict(reader, key)
            if verdict.sees is not Sees.NO:
                yield self._line(
                    look, key, str(reader) if reader.person is None else reader.says, verdict.access, verdict.doubt, reader.link
                )

    @cached_property
    def given(self) -> Mapping[Key, Sequence[Observed]]:
        """By object, the people who were given another access than the levels say, where that was read."""
        assert self.looks[0].personal is not None
        given: dict[Key, list[Observed]] = defaultdict(list)
        for key, person, _ in self.looks[0].personal.granted():
            given[key].append(person)
        return given

    def _given(self, look: AskedWorld, key: Key) -> Iterator[ReaderLine]:
        assert look.personal is not None
        for person in sorted(self.given.get(key, ()), key=partial(name_of, self.kinds)):
            level = look.personal.of(person, key)
            if level.most >= 0:
                says, doubt = LEVELS[max(level.least, 0)], level.doubt if level.least < 0 else ""
                yield ReaderLine(name_of(self.kinds, person), says, doubt=doubt, reason=GIVEN)

    def _people(self, look: AskedWorld, key: Key) -> Iterator[ReaderLine]:
        """Everybody who can read an object, or may be able to, whoever they are first."""
        assert look.personal is not None
        anybody = (access for access in look.audiences.of(key) if access.who != MEMBERS and access.who not in BY_ROLE)
        for access in sorted(anybody, key=order):
            yield self._of_access(look, key, access, access)
        for person in sorted(people_of(self.kinds, look.audiences.objects), key=partial(name_of, self.kinds)):
            name = name_of(self.kinds, person)
            level = look.personal.of(person, key)
            if level.most < 0:
                continue
            if level.least < 0:
                yield ReaderLine(name, "", doubt=level.doubt)
                continue
            path: tuple[Key, ...] = ()
            reason = ADMIN if self.kinds[person.kind].holds_scarce(person.values) else GIVEN
            if level.access is not None and not level.granted:
                reason, path = f"role {role_of(self.kinds, person)}", look.audiences.path(key, level.access)
            yield ReaderLine(name, LEVELS[level.least], path_text(self._called(look), path), level.doubt, reason=reason)

    def _line(
        self, look: AskedWorld, key: Key, says: str, access: Access | None, doubt: str = "", via: Address | None = None
    ) -> ReaderLine:
        if access is None:
            return ReaderLine(says, "", doubt=doubt, via=via)
        path = path_text(self._called(look), look.audiences.path(key, access))
        return ReaderLine(says, LEVELS[access.level], path, doubt, via)

    def _called(self, look: AskedWorld) -> Callable[[Key], Address]:
        return caller(self.kinds, self.addresses, look.audiences.objects, look.audiences.objects)

    def _of_access(self, look: AskedWorld, key: Key, shown: Access, access: Access) -> ReaderLine:
        """The line of a class of readers, as it is shown; a link is named by its address."""
        text = str(shown).removesuffix(f" ({LEVELS[shown.level]})")
        name = next((name for name, some in look.audiences.objects.items() if access.via in some), None) if access.via else None
        if name is None:
            return replace(self._line(look, key, text, access), level=LEVELS[shown.level])
        via = self._called(look)((name, access.via))
        return self._line(look, key, text.replace(access.who, f"{access.who} {via}", 1), access, via=via)


def _who(lines: tuple[ReaderLine, ...] | None) -> frozenset[tuple[str, str, str]] | None:
    return None if lines is None else frozenset((line.reader, line.level, line.doubt) for line in lines)
