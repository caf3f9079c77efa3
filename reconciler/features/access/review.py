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
from reconciler.features.access.verdicts import ADMIN, GIVEN, UNREAD, AskedWorld, Sees, needed
from reconciler.model import Actual, Desired, NamedReader, Observed, Plan, ReaderSort, State, Unknown, Violation
from reconciler.model.codec import title
from reconciler.plan.audience.disclosure import caller
from reconciler.plan.audience.people import PersonalAccess, PersonalLevel, is_unread, name_of, people_of, role_of
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
    ROLES,
    VISITORS,
)

# -- The review ----------------------------------------------------------------------------------------------------------------------

NONE: Final = "no"  # what an example of a reader may do with an object that they cannot read
TITLES: Final = ("title", "name", "slug")  # fields by which people recognize an object
OF_SITES: Final = (ANYONE, ANYONE_WITH_THE_URL, VISITORS, LINK_HOLDERS)  # the readers whom conditions keep out
ORDER: Final = (ANYONE, ANYONE_WITH_THE_URL, VISITORS, LINK_HOLDERS, AGENTS, MEMBERS, EACH_BY_ROLE, *BY_ROLE)


@dataclass(frozen=True)
class ReaderLine:
    """One reader of an object. `reader`: in words. `level`: what they may do; `perhaps`: what they may do more, "" where that is known.
    `path`: from the object to what admits them. `doubt`: why it cannot be decided whether they can read it, "" where it can. `via`: the
    address in `reader`, None where it has none. `reason`: of a person, why they can. `person`: whether it is somebody by name. `unnamed`:
    whether it is a class of which nobody is an example here, such as those who meet a condition."""

    reader: str
    level: str
    path: tuple[str, ...] = ()
    doubt: str = ""
    via: Address | None = None
    reason: str = ""
    perhaps: str = ""
    person: bool = False
    unnamed: bool = False

    @property
    def may(self) -> str:
        """`edit`, `read, perhaps admin`; "" where it is not known."""
        return f"{self.level}, perhaps {self.perhaps}" if self.perhaps else self.level


@dataclass(frozen=True)
class ReviewRow:
    """One object. `before`, `after`: its readers; None where it does not exist. `managed`: it is declared; `tracked`: the state knows it.

    `parent`: the nearest object that contains it and has readers; None where none does. `given`: whether people and teams can be given
    access to it one by one.
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
    given: bool = False

    @property
    def changed(self) -> bool:
        """Whether it has other readers after the plan, regardless of the paths by which they reach it."""
        return _who(self.before) != _who(self.after)


@dataclass(frozen=True)
class Review:
    """`readers`: those that were asked about, () for all classes. `violations`: of the project's tests. `unknown`: what was not read.
    `admins`: by name. `about`: the object whose readers are shown by name. `unasked`: how many people's own access was not read.
    `strangers`: the readers who are named and whom the organization does not have. `examples`: the same objects with one reader of each
    sort, or those that were asked about, and `people` with everybody by name, where that was read; () where nobody wants them. `guarded`:
    whether conditions of single pages may keep some of the readers out."""

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
    examples: tuple[ReviewRow, ...] = ()
    people: tuple[ReviewRow, ...] = ()
    guarded: bool = False


def review(
    kinds: Kinds,
    desired: Desired,
    state: State,
    actual: Actual,
    plan: Plan,
    readers: Sequence[NamedReader] = (),
    about: Address | None = None,
    *,
    whole: bool = False,
) -> Review:
    """The review of everything that was read. `readers`: the readers to show; all classes of readers where none is given. `about`: of one
    object, with everybody who can read it by name. `whole`: with `examples` and `people`. Raises `KeyError` where that object was not
    read."""
    matches = identify(kinds, desired, state, actual)
    simulation = simulate(kinds, actual, matches.ids, plan.steps, plan.places)
    then = simulation.actual() if plan.steps else actual
    now = Audiences(kinds, actual.objects, complete=actual.complete, guarded=actual.guarded)
    sides = (now, Audiences(kinds, then.objects, complete=then.complete, guarded=actual.guarded) if plan.steps else now)
    keys = [(name, id) for name, some in actual.objects.items() if kinds[name].audience is not None for id in some]
    unread = frozenset(needed(kinds, actual, sides[:1], keys).unread)
    looks = (
        AskedWorld(sides[0], matches.ids, unread, PersonalAccess(kinds, sides[0], sides[0], actual), desired.resources),
        AskedWorld(sides[1], simulation.ids, unread, PersonalAccess(kinds, sides[1], sides[0], actual), desired.resources),
    )
    addresses = {**matches.former.state.addresses}
    ids = (*matches.ids.items(), *simulation.ids.items())
    addresses |= {(kinds.of(address).name, id): address for address, id in ids if address in desired.resources}
    reviewing = _Reviewing(kinds, looks, addresses, frozenset(desired.resources), readers)
    order = {name: at for at, name in enumerate(kinds)}

    def rows_of(lines: _Lines) -> tuple[ReviewRow, ...]:
        some = tuple(sorted(reviewing.rows(lines), key=lambda row: (order[row.kind], row.address)))
        return some if about is None else tuple(row for row in some if row.address == about)

    rows = rows_of(reviewing.everybody if about is not None else reviewing.asked if readers else reviewing.classes)
    if about is not None and not rows:
        raise KeyError(about)
    whole = whole and about is None
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
        sum(1 for person in people_of(kinds, actual.objects) if is_unread(kinds, actual, person)),
        tuple(reader.says for reader in readers if reader.sort is ReaderSort.MEMBER and looks[0].meant(reader) == ([], "")),
        rows_of(reviewing.examples) if whole else (),
        rows_of(reviewing.people) if whole and not readers and (actual.personal or actual.personal_failures) else (),
        any(
            access.conditional and access.who in OF_SITES
            for side in sides
            for key in keys
            if kinds[key[0]].pages
            for access in side.of(key)
        ),
    )


_Lines = Callable[[AskedWorld, Key], Iterator[ReaderLine]]


@dataclass(eq=False)
class _Reviewing:
    kinds: Kinds
    looks: tuple[AskedWorld, AskedWorld]
    addresses: Mapping[Key, Address]
    declared: frozenset[Address]
    readers: Sequence[NamedReader]

    def rows(self, lines: _Lines) -> Iterator[ReviewRow]:
        """Every object that has readers, with these lines."""
        before, after = (look.audiences for look in self.looks)
        called = caller(self.kinds, self.addresses, after.objects, before.objects)
        for kind in self.kinds.values():
            ids = dict.fromkeys((*before.objects.get(kind.name, {}), *after.objects.get(kind.name, {})))
            if kind.audience is not None:
                for id in ids:
                    key = (kind.name, id)
                    first = _side(lines, self.looks[0], key)
                    sides = [first, first if after is before else _side(lines, self.looks[1], key)]
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
                            given=bool(kind.audience.at_top),
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

    def _title(self, key: Key) -> str:
        """The object's title after the plan, or its title before the plan where it is deleted."""
        for look in reversed(self.looks):
            observed = look.audiences.objects.get(key[0], {}).get(key[1])
            if observed is not None:
                written = next((observed.values[name] for name in TITLES if isinstance(observed.values.get(name), str)), None)
                called = title(observed)
                return str(written) if written is not None else called if called != bare(observed.id) else ""
        return ""

    def classes(self, look: AskedWorld, key: Key) -> Iterator[ReaderLine]:
        """The classes of readers of an object, and who was given another access than they have."""
        shown = folded(look.audiences.of(key))
        for access in sorted(shown, key=lambda access: ((*ORDER, access.who).index(access.who), str(access))):
            yield self._of_access(look, key, access, shown[access])
        yield from self._given(look, key)
        yield from _unknown(look, key)

    def asked(self, look: AskedWorld, key: Key) -> Iterator[ReaderLine]:
        """Those of the readers that were asked for who can read an object, or may be able to."""
        for reader in self.readers:
            verdict = look.verdict(reader, key)
            if verdict.sees is not Sees.NO:
                says = str(reader) if reader.person is None else reader.says
                line = self._line(look, key, says, verdict.access, verdict.doubt, reader.link)
                yield replace(line, person=reader.sort is ReaderSort.MEMBER, perhaps=LEVELS[verdict.most] if verdict.most > 0 else "")

    def examples(self, look: AskedWorld, key: Key) -> Iterator[ReaderLine]:
        """One reader of each sort, whether they can read an object or not; and the classes that none of these is an example of."""
        for reader in self._sorts:
            verdict = look.verdict(reader, key)
            line = self._line(look, key, reader.says, verdict.access, verdict.doubt, reader.link)
            level = line.level if verdict.sees is not Sees.NO else NONE
            perhaps = LEVELS[verdict.most] if verdict.most > 0 else ""
            yield replace(line, level=level, person=reader.sort is ReaderSort.MEMBER, perhaps=perhaps)
        for access in sorted(look.audiences.of(key), key=order):
            if access.conditions and not self.readers:
                yield replace(self._of_access(look, key, access, access), unnamed=True)

    @cached_property
    def _sorts(self) -> Sequence[NamedReader]:
        """The readers that were asked for, or one of each sort, with the roles that members have and the links that are declared."""
        if self.readers:
            return self.readers
        objects = self.looks[0].audiences.objects
        roles = {role_of(self.kinds, person) for person in people_of(self.kinds, objects)} - {ADMIN}
        links = [
            address
            for look in self.looks
            for address in look.ids
            if (audience := self.kinds.of(address).audience) is not None and audience.opens is not None and address in self.declared
        ]
        return [
            NamedReader(ReaderSort.ANYONE),
            NamedReader(ReaderSort.CLAIMS),
            *(NamedReader(ReaderSort.LINK, link=address) for address in dict.fromkeys(links)),
            NamedReader(ReaderSort.AGENT),
            *(NamedReader(ReaderSort.ROLE, role=role) for role in ROLES if role in roles),
        ]

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
                line = ReaderLine(name_of(self.kinds, person), says, doubt=doubt, reason=GIVEN, person=True)
                yield replace(line, perhaps=_more(level))

    def everybody(self, look: AskedWorld, key: Key) -> Iterator[ReaderLine]:
        """Everybody who can read an object, or may be able to, whoever they are first."""
        anybody = (access for access in look.audiences.of(key) if access.who != MEMBERS and access.who not in BY_ROLE)
        for access in sorted(anybody, key=order):
            yield self._of_access(look, key, access, access)
        yield from (line for line in map(partial(self._person, look, key), self._members[self.looks.index(look)]) if line is not None)
        yield from _unknown(look, key)

    def people(self, look: AskedWorld, key: Key) -> Iterator[ReaderLine]:
        """Everybody who can read an object, or may be able to, by name; also those who can as anybody can."""
        assert look.personal is not None
        lines: dict[tuple[int, str | None], ReaderLine | None] = {}
        for person in self._members[self.looks.index(look)]:
            alike = look.personal.alike(person, key)
            if alike not in lines:
                lines[alike] = self._by_name(look, key, person)
            if (line := lines[alike]) is not None:
                yield replace(line, reader=name_of(self.kinds, person))

    def _by_name(self, look: AskedWorld, key: Key, person: Observed) -> ReaderLine | None:
        """What a person can do, as a member or as anybody; None where nothing."""
        line = self._person(look, key, person)
        if line is None or line.doubt:
            verdict = look.of_person(person, key)
            if verdict.sees is Sees.YES or (line is None and verdict.sees is Sees.UNDECIDED):
                reason = verdict.access.who if verdict.access is not None else ""
                line = replace(self._line(look, key, "", verdict.access, verdict.doubt), reason=reason, person=True)
        return line

    @cached_property
    def _members(self) -> Sequence[Sequence[Observed]]:
        """By name, the people before and after the plan."""
        return [sorted(people_of(self.kinds, look.audiences.objects), key=partial(name_of, self.kinds)) for look in self.looks]

    def _person(self, look: AskedWorld, key: Key, person: Observed) -> ReaderLine | None:
        """What a person can do as a member; None where nothing."""
        assert look.personal is not None
        name, level = name_of(self.kinds, person), look.personal.of(person, key)
        if level.most < 0:
            return None
        if level.least < 0:
            return ReaderLine(name, "", doubt=level.doubt, person=True)
        path: tuple[Key, ...] = ()
        reason = ADMIN if self.kinds[person.kind].holds_scarce(person.values) else GIVEN
        if level.access is not None and not level.granted:
            reason, path = f"role {role_of(self.kinds, person)}", look.audiences.path(key, level.access)
        line = ReaderLine(name, LEVELS[level.least], path_text(self._called(look), path), level.doubt, reason=reason, person=True)
        return replace(line, perhaps=_more(level))

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


def _side(lines: _Lines, look: AskedWorld, key: Key) -> tuple[ReaderLine, ...] | None:
    return tuple(lines(look, key)) if look.exists(key) else None


def _more(level: PersonalLevel) -> str:
    return LEVELS[level.most] if level.most > max(level.least, 0) else ""


def _unknown(look: AskedWorld, key: Key) -> Iterator[ReaderLine]:
    """That an object without readers may have some."""
    if not look.audiences.of(key) and key in look.unread_ways:
        yield ReaderLine("unknown", "", doubt=UNREAD)


def _who(lines: tuple[ReaderLine, ...] | None) -> frozenset[tuple[str, ...]] | None:
    return None if lines is None else frozenset((line.reader, line.level, line.perhaps, line.doubt) for line in lines)
