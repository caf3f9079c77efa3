"""Whether one named reader sees one object: yes, no, or not to be decided; and what must be read to know it. Pure.

In: what was read, and the readers that the audience model gives an object, which are classes of people.

A named reader has the properties that the test states and no others: `anyone` has no claims, and a member with a role was given nothing of
their own. Somebody who is named is asked about as they are (`plan.audience.people`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import Final

from reconciler.address import Address
from reconciler.model import Actual, Declared, NamedReader, Observed, ReaderSort
from reconciler.plan.audience.people import PersonalAccess, name_of
from reconciler.plan.audience.readers import Access, Audiences, order, part_of
from reconciler.plan.containment import Key, reached
from reconciler.resource import Kind, Kinds
from reconciler.resource.conditions import holds
from reconciler.resource.risks import (
    AGENTS,
    ANYONE,
    ANYONE_WITH_THE_URL,
    BY_ROLE,
    GUEST,
    LEVELS,
    LINK_HOLDERS,
    MEMBERS,
    ROLES,
    VISITORS,
)

# -- One reader ----------------------------------------------------------------------------------------------------------------------

ADMIN: Final = ROLES[-1]


class Sees(IntEnum):
    """Whether a reader sees an object."""

    NO = 0
    UNDECIDED = 1
    YES = 2


_Sort = ReaderSort
AMONG: Final[Mapping[str, Mapping[ReaderSort, Sees]]] = {
    ANYONE: {_Sort.ANYONE: Sees.YES, _Sort.LINK: Sees.YES, _Sort.CLAIMS: Sees.YES, _Sort.ROLE: Sees.YES},
    ANYONE_WITH_THE_URL: {_Sort.ANYONE: Sees.UNDECIDED, _Sort.LINK: Sees.YES, _Sort.CLAIMS: Sees.YES, _Sort.ROLE: Sees.UNDECIDED},
    VISITORS: {_Sort.CLAIMS: Sees.YES},
    AGENTS: {_Sort.AGENT: Sees.YES},
}
"""Which readers are in a class of readers; links and members are looked at one by one."""


@dataclass(frozen=True)
class ReaderVerdict:
    """Whether a reader sees an object. `access`: the class of readers by which they see it; None where they belong to none. `doubt`: why it
    cannot be decided, "" where it can. `most`: what they may be able to do more, as an index of levels; -1 where that is known."""

    sees: Sees
    access: Access | None = None
    doubt: str = ""
    most: int = -1


NOBODY: Final = ReaderVerdict(Sees.NO)
UNREAD: Final = "what leads to it could not be read"
WHO_KNOWS: Final = "whoever knows the URL can read it"


@dataclass(eq=False)
class AskedWorld:
    """One world, asked about readers. `ids`: of every address in it. `unread`: objects whose sources of access were not read. `personal`:
    what single people may do in it; None where nobody is asked about by name. `declared`: the resources of the project, of whose teams some
    may not exist yet."""

    audiences: Audiences
    ids: Mapping[Address, str]
    unread: frozenset[Key] = frozenset()
    personal: PersonalAccess | None = None
    declared: Mapping[Address, Declared] = field(default_factory=dict)
    _known: dict[tuple[str, frozenset[Access]], ReaderVerdict] = field(default_factory=dict)

    def exists(self, key: Key | None) -> bool:
        """Whether the object exists and is not deleted."""
        return key is not None and self.audiences.find(key) is not None

    def verdict(self, reader: NamedReader, key: Key | None) -> ReaderVerdict:
        """Whether the reader sees the object; nobody sees what does not exist."""
        if key is None or not self.exists(key):
            return NOBODY
        if reader.person is not None:
            return self._by_name(reader, key)
        if reader.sort is ReaderSort.ROLE and reader.role == ADMIN:
            return ReaderVerdict(Sees.YES, _ADMINS)
        accesses = self.audiences.of(key)
        known = self._known.get((str(reader), accesses))
        if known is None:
            known = self._known[str(reader), accesses] = best(self._of(reader, access) for access in sorted(accesses, key=order))
        if known.sees is Sees.NO and key in self.unread_ways:
            return ReaderVerdict(Sees.UNDECIDED, None, UNREAD)
        return known

    def _by_name(self, reader: NamedReader, key: Key) -> ReaderVerdict:
        """Whether a member sees the object; of a team, whether all its members do (yes) or none of them (no)."""
        people, doubt = self.meant(reader)
        verdicts = {person.id: self.of_person(person, key) for person in people}
        if not verdicts and not doubt:  # somebody who is not a member, or nobody at all, reads what anybody reads
            return self.verdict(NamedReader(ReaderSort.ANYONE), key)
        doubtful = [verdict for verdict in verdicts.values() if verdict.sees is Sees.UNDECIDED]
        if doubt or doubtful:
            return ReaderVerdict(Sees.UNDECIDED, None, doubt or doubtful[0].doubt)
        if len({verdict.sees for verdict in verdicts.values()}) > 1:
            able = sum(verdict.sees is Sees.YES for verdict in verdicts.values())
            return ReaderVerdict(Sees.UNDECIDED, None, f"{able} of its {len(verdicts)} members can")
        return best(verdicts.values())

    def meant(self, reader: NamedReader) -> tuple[list[Observed], str]:
        """The people that a reader stands for; and why these are not known, "" where they are."""
        assert self.personal is not None
        assert reader.person is not None
        return people_meant(self.personal.kinds, self.personal.actual, self.ids, reader, self.declared)

    def of_person(self, person: Observed, key: Key) -> ReaderVerdict:
        """Whether one person sees the object: as anybody does, as a member, or through a copy."""
        assert self.personal is not None
        as_anybody = [
            self._of(AS_ANYBODY, access)
            for access in sorted(self.audiences.of(key), key=order)
            if access.who != MEMBERS and access.who not in BY_ROLE
        ]
        verdict = best(as_anybody)
        for at in sorted(reached([key], lambda at: self.audiences.copies.get(at, ()))):
            level = self.personal.of(person, at)
            if level.least >= 0:
                given = Access(ADMINS if level.access is None and not level.granted else GIVEN, level.least)
                if level.access is not None and not level.granted:
                    given = replace(level.access, level=level.least)
                verdict = best([verdict, ReaderVerdict(Sees.YES, given, most=level.most if level.most > level.least else -1)])
            elif level.most >= 0:
                verdict = best([verdict, ReaderVerdict(Sees.UNDECIDED, None, level.doubt)])
        return ReaderVerdict(Sees.UNDECIDED, None, UNREAD) if verdict.sees is Sees.NO and key in self.unread_ways else verdict

    def closed(self, reader: NamedReader, key: Key) -> dict[Key, str]:
        """The objects on the path to an object that do not admit the reader, each with the reason."""
        who = AGENTS if reader.sort is ReaderSort.AGENT else ANYONE
        reasons: dict[Key, str] = {}
        for at in sorted(reached([key], self.audiences.leading)):
            audience, observed = self.audiences.kinds[at[0]].audience, self.audiences.find(at)
            if audience is not None and audience.closed and observed is not None:
                reason = audience.closed(observed.values).get(who)
                if reason is not None:
                    reasons[at] = reason
        return reasons

    def among(self, reader: NamedReader, access: Access) -> Sees:
        """Whether a reader is in a class of readers."""
        return self._of(reader, access).sees

    def _of(self, reader: NamedReader, access: Access) -> ReaderVerdict:
        sees = self._admitted(reader, access)
        if sees is Sees.NO:
            return NOBODY
        doubts = [WHO_KNOWS] if access.who == ANYONE_WITH_THE_URL and sees is Sees.UNDECIDED else [UNREAD] if sees is Sees.UNDECIDED else []
        for condition in sorted(access.conditions):
            true = holds(condition, reader.claims)
            if true is False:
                return NOBODY
            doubts += [f"whether {condition} holds cannot be decided"] if true is None else []
        return ReaderVerdict(Sees.UNDECIDED if doubts else Sees.YES, access, " and ".join(doubts))

    def _admitted(self, reader: NamedReader, access: Access) -> Sees:
        """Whether a reader is in a class of readers, ignoring its conditions."""
        if access.who == LINK_HOLDERS:
            if reader.sort is not ReaderSort.LINK:
                return Sees.NO
            own = reader.link is not None and access.via == self.ids.get(reader.link)
            return Sees.YES if own else Sees.UNDECIDED if not access.via else Sees.NO
        if access.who in (MEMBERS, *BY_ROLE):
            among = reader.sort is ReaderSort.ROLE and BY_ROLE.get(access.who, reader.role) == reader.role
            return Sees.YES if among else Sees.NO
        return AMONG.get(access.who, {}).get(reader.sort, Sees.NO)

    @cached_property
    def unread_ways(self) -> frozenset[Key]:
        """Every object whose readers may come from something that was not read, so that some of its readers are unknown."""
        onward: dict[Key, list[Key]] = {}
        unread = set(self.unread)
        for name, some in self.audiences.objects.items():
            kind = self.audiences.kinds[name]
            if kind.audience is not None:
                for id, observed in some.items():
                    key = (name, id)
                    whole = part_of(kind, observed)
                    if whole is not None and whole[1] not in self.audiences.objects.get(whole[0], {}):
                        unread.add(key)
                    for source in self.audiences.sources_of(key):
                        onward.setdefault(source, []).append(key)
        return frozenset(reached(unread, lambda key: onward.get(key, ())))


def best(verdicts: Iterable[ReaderVerdict]) -> ReaderVerdict:
    """The verdict that shows most, and by which they may do most; of equal verdicts the first."""
    return max(verdicts, key=lambda verdict: (verdict.sees, verdict.access.level if verdict.access is not None else 0), default=NOBODY)


ADMINS: Final = "admins"
GIVEN: Final = "given one by one"
_ADMINS: Final = Access(ADMINS, LEVELS.index(ADMIN))
AS_ANYBODY: Final = NamedReader(ReaderSort.ROLE, role=GUEST)


def people_meant(
    kinds: Kinds, actual: Actual, ids: Mapping[Address, str], reader: NamedReader, declared: Mapping[Address, Declared]
) -> tuple[list[Observed], str]:
    """The people that a reader stands for, those who can do nothing too; and why these are not known, "" where they are.

    A team that does not exist yet has its declared members.
    """
    address = reader.person
    if address is None:
        return [], ""
    outer = ids.get(address.container) if address.container is not None else None
    everybody = [person for kind in kinds.values() if kind.personal for person in actual.objects.get(kind.name, {}).values()]
    inside = [person for person in everybody if person.within.get(kinds[person.kind].within or "") == outer]
    listed = all((kind.name, outer) in actual.complete for kind in kinds.values() if kind.personal)
    unread = "" if listed else f"the members of {address.container} were not read"
    if reader.sort is ReaderSort.MEMBER:
        named = [person for person in inside if name_of(kinds, person) == address.key]
        return named, "" if named else unread
    team, kind = ids.get(address), kinds.of(address)
    if team is None:
        members = [field.name for field in kind.fields.values() if field.gathered]
        names = {at.key for name in members for at in declared[address].values.get(name) or ()} if address in declared else set()
        return [person for person in inside if name_of(kinds, person) in names], unread
    teams = {person.id: actual.personal.get(person.key, {}).get(kind.name) for person in inside}
    known = listed and all(some is not None for some in teams.values())
    return [person for person in inside if team in (teams[person.id] or ())], "" if known else f"who is in {address} was not read"


# -- what must be read to know -----------------------------------------------------------------------------------------------------


FEW: Final = 3  # up to this many objects are asked about one by one, where it is unknown how many objects may show them


@dataclass
class NeededReadings:
    """`lists`: to be read. `questions`: objects for which a reading must find out what shows them. `unread`: objects whose sources of
    access were not read."""

    lists: set[Key] = field(default_factory=set)
    questions: set[Key] = field(default_factory=set)
    unread: set[Key] = field(default_factory=set)


def needed(kinds: Kinds, actual: Actual, worlds: Collection[Audiences], keys: Iterable[Key]) -> NeededReadings:
    """What must be read to know who reads these objects in any of these worlds."""
    result, ways = NeededReadings(), _ways(worlds, keys)
    for key in ways:
        for audiences in worlds:
            result.lists |= {(name, id) for name, id in _lists(kinds, audiences, key) if (name, id) not in actual.complete}
    for kind in kinds.values():
        for reading in kind.lookups:
            by_container: dict[str, list[Key]] = defaultdict(list)
            for key in ways:
                observed = actual.find(*key) if key[0] == reading.by else None
                if observed is not None:
                    by_container[observed.within.get(kind.within or "", "")].append(key)
            for container, some in by_container.items():
                _showing(result, kinds, kind, actual, worlds, (container, some))
    return result


def _ways(worlds: Collection[Audiences], keys: Iterable[Key]) -> list[Key]:
    """The objects and everything through which readers may reach them in any of the worlds, in a fixed order."""
    return sorted(reached(keys, lambda key: (source for audiences in worlds for source in audiences.leading(key))))


def _lists(kinds: Kinds, audiences: Audiences, key: Key) -> Iterator[Key]:
    """The unread lists that contain the whole that an object is part of, and what opens the object."""
    kind, observed = kinds[key[0]], audiences.objects.get(key[0], {}).get(key[1])
    if observed is None or kind.audience is None:
        return
    whole = part_of(kind, observed)
    if whole is not None and whole[1] not in audiences.objects.get(whole[0], {}):
        outer = kinds[whole[0]]
        scope = observed.within.get(outer.within or "")
        if outer.whole_listings and scope is not None:
            yield outer.name, scope
    if kind.audience.admits is not None and kind.audience.admits(observed.values):
        for other in kinds.values():
            if other.audience is not None and other.audience.opens == kind.name:
                yield other.name, observed.id


def _showing(
    result: NeededReadings, kinds: Kinds, kind: Kind, actual: Actual, worlds: Collection[Audiences], of: tuple[str, list[Key]]
) -> None:
    """Add to `result` what shows which objects of a kind show some objects of one container: the contents of the former, or a question
    about each of the latter."""
    container, keys = of
    waiting = {key for key in keys if (kind.name, key[1]) not in actual.complete}
    if (kind.name, container) not in actual.complete:
        result.unread |= waiting
        if len(waiting) <= FEW:
            result.questions |= waiting
        else:
            result.lists.add((kind.name, container))
        return
    shows = {key[0] for key in keys}
    inner = [other.name for other in kinds.values() if other.within == kind.name and _refers(other) & shows]
    open_ids = [
        observed.id
        for observed in actual.objects.get(kind.name, {}).values()
        if observed.within.get(kind.within or "") == container and any(audiences.of((kind.name, observed.id)) for audiences in worlds)
    ]
    lists = {(name, id) for id in open_ids for name in inner if (name, id) not in actual.complete}
    if lists and waiting:
        result.unread |= waiting
        if len(waiting) < len(lists):
            result.questions |= waiting
        else:
            result.lists |= lists


def _refers(kind: Kind) -> set[str | None]:
    return {field.refers for field in kind.shows}
