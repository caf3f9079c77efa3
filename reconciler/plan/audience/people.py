"""What one person may do with one object: at least and at most. Pure.

The premise: the levels of objects say what everybody with a role may do, and single people and teams were given access beside them, one by
one. The nearest counts: what somebody was given at the object, its level, what they were given at what it is part of, the level of that.
No list shows what was given where. The service only says what a person may do with each space in the end:

    levels say read,     it says admin    ->  they were given access, here or at what it is part of
    levels say read,     it says read     ->  perhaps they were given the same: after a change of the levels, this may remain
    levels say nothing,  it says nothing  ->  they were given nothing, here or at what it is part of as far as the levels are inherited

So after a change everything is possible that does not contradict what was said; and where nothing changes, what was said holds.

In: a world, the world in which the service was asked, and its answers. Out: levels of `LEVELS` by index, -1 for none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from reconciler.model import Actual, Observed
from reconciler.plan.audience.readers import Access, Audiences, asks, whole_of
from reconciler.plan.containment import Key
from reconciler.resource import Kinds
from reconciler.resource.risks import BY_ROLE, EACH_BY_ROLE, GUEST, LEVELS, MEMBERS

NOTHING: Final = -1
EVERYTHING: Final = len(LEVELS) - 1
GRANTED: Final = "what they were given one by one was not read"
UNLISTED: Final = "the service does not list who was given access to it"
REMAINING: Final = "what they were given one by one may remain"


@dataclass(frozen=True)
class PersonalLevel:
    """`least`, `most`: indexes of LEVELS. `granted`: the service says another level than the levels of objects do, so that the person was
    given it. `doubt`: why both differ, "" where they do not. `access`: the class of members by which they have it, None where by none."""

    least: int
    most: int
    granted: bool = False
    doubt: str = ""
    access: Access | None = None


def people_of(kinds: Kinds, objects: Mapping[str, Mapping[str, Observed]]) -> Iterator[Observed]:
    """The people of all organizations who can do anything."""
    for kind in kinds.values():
        if kind.personal:
            yield from (person for person in objects.get(kind.name, {}).values() if kind.is_active(person.values))


def unasked(kinds: Kinds, actual: Actual) -> frozenset[Key]:
    """The people whose own access and teams were not read yet; those who can do nothing too, because they are in teams."""
    people = (person for kind in kinds.values() if kind.personal for person in actual.objects.get(kind.name, {}).values())
    return frozenset(person.key for person in people if person.key not in actual.personal and person.key not in actual.personal_failures)


def is_unread(kinds: Kinds, actual: Actual, person: Observed) -> bool:
    """Whether it is not known what a person was given, who may not do everything anyway."""
    return person.key not in actual.personal and not kinds[person.kind].holds_scarce(person.values)


def role_of(kinds: Kinds, person: Observed) -> str:
    """The role of a person: one of ROLES; `guest` where it is unknown."""
    scarce = kinds[person.kind].scarce
    role = person.values.get(scarce.name) if scarce is not None else None
    return role if isinstance(role, str) else GUEST


@dataclass(eq=False)
class PersonalAccess:
    """Answers for one world. `audiences`: that world. `first`: the world of the answers. `actual`: the answers."""

    kinds: Kinds
    audiences: Audiences
    first: Audiences
    actual: Actual
    _without: dict[Key, frozenset[Key]] = field(default_factory=dict)
    _classes: dict[Key, tuple[int, int]] = field(default_factory=dict)
    _numbers: dict[tuple[object, ...], int] = field(default_factory=dict)

    def alike(self, person: Observed, key: Key) -> tuple[int, str | None]:
        """The same for people who may do the same with an object: of the same role, and of whom the service says the same."""
        by_role, by_answers = self._classes.get(person.key) or self._classified(person)
        levels = self.actual.personal.get(person.key, {}).get(key[0])
        # After a change it matters what the service says of other objects, too.
        return (by_role, levels.get(key[1])) if levels is not None and self.audiences is self.first else (by_answers, None)

    def _classified(self, person: Observed) -> tuple[int, int]:
        now, first = (side.find(person.key) or person for side in (self.audiences, self.first))
        kind, lists = self.kinds[person.kind], self.actual.personal.get(person.key, {}).items()
        who = (*(self._as_member(side) for side in (now, first)), kind.is_active(now.values), kind.holds_scarce(now.values))
        said = frozenset((name, frozenset(levels.items())) for name, levels in lists if self.kinds[name].audience is not None)
        classes = ((person.kind, *who), (person.kind, *who, said, self.actual.personal_failures.get(person.key)))
        by_role, by_answers = (self._numbers.setdefault(known, len(self._numbers)) for known in classes)
        self._classes[person.key] = by_role, by_answers
        return by_role, by_answers

    def of(self, person: Observed, key: Key) -> PersonalLevel:
        """What a person may do with an object as one of its organization; what everybody may do with it does not count."""
        kind, person = self.kinds[person.kind], self.audiences.find(person.key) or person
        if not kind.is_active(person.values) or self.audiences.find(key) is None:
            return PersonalLevel(NOTHING, NOTHING)
        if kind.holds_scarce(person.values):
            mine = self.audiences.objects[key[0]][key[1]].within.get(kind.within or "") == person.within.get(kind.within or "")
            return PersonalLevel(EVERYTHING, EVERYTHING) if mine else PersonalLevel(NOTHING, NOTHING)
        listed = {reading.kind for reading in kind.personal}
        access = _by_levels(self.audiences, *self._as_member(person), key)
        ruled = access.level if access is not None else NOTHING
        if key[0] not in listed:
            if all(self.first.find(at) is None or at in self._ungranted(person) for at in self._way(self.audiences, key)):
                return PersonalLevel(ruled, ruled, access=access)
            asked = UNLISTED if person.key in self.actual.personal else self.actual.personal_failures.get(person.key, GRANTED)
            return PersonalLevel(min(ruled, 0), EVERYTHING, doubt=asked if ruled < 0 else "", access=access)
        levels = self.actual.personal.get(person.key, {}).get(key[0])
        if self.first.find(key) is not None and levels is None:
            doubt = self.actual.personal_failures.get(person.key, GRANTED)
            return PersonalLevel(min(ruled, 0), EVERYTHING, doubt=doubt if ruled < 0 else "", access=access)
        said = self._said(person, key)
        before = _by_levels(self.first, *self._as_member(self.first.find(person.key) or person), key)
        was = before.level if before is not None else NOTHING
        granted, way = self.first.find(key) is not None and said != was, self._way(self.audiences, key)
        if self.first.find(key) is not None and way == self._way(self.first, key) and ruled == was:
            return PersonalLevel(said, said, granted, access=access)
        possible = {ruled} if said == NOTHING else {ruled, said}
        if any(self.first.find(at) is not None and at not in self._ungranted(person) for at in way[1:]):
            possible |= {0, EVERYTHING}
        least, most = min(possible), max(possible)
        return PersonalLevel(least, most, granted, REMAINING if least < 0 <= most else "", access)

    def _said(self, person: Observed, key: Key) -> int:
        """What the service says that a person may do with an object."""
        level = self.actual.personal.get(person.key, {}).get(key[0], {}).get(key[1])
        return LEVELS.index(level) if level in LEVELS else NOTHING

    def _way(self, audiences: Audiences, key: Key) -> list[Key]:
        """The object, and what it is part of as far as each leaves it to the next who may do what."""
        way = [key]
        for whole in whole_of(self.kinds, audiences.objects, key):
            observed, audience = audiences.find(way[-1]), self.kinds[way[-1][0]].audience
            if observed is None or audience is None or not asks(audience, observed.values):
                break
            way.append(whole)
        return way

    def _ungranted(self, person: Observed) -> frozenset[Key]:
        """The objects at which a person was given nothing: what leaves it to them would show it."""
        if person.key not in self._without:
            listed = self.actual.personal.get(person.key, {})
            unseen = (
                (name, id)
                for name in listed
                for id in self.first.objects.get(name, {})
                if self.kinds[name].audience is not None and self._said(person, (name, id)) == NOTHING
            )
            self._without[person.key] = frozenset(at for key in unseen for at in self._way(self.first, key))
        return self._without[person.key]

    def granted(self) -> Iterator[tuple[Key, Observed, int]]:
        """What the service says and the levels of objects do not, in the world of the answers: an object, a person, and their level."""
        everybody = [person for person in people_of(self.kinds, self.actual.objects) if person.key in self.actual.personal]
        people = [person for person in everybody if not self.kinds[person.kind].holds_scarce(person.values)]
        for name in sorted({name for person in people for name in self.actual.personal[person.key] if self.kinds[name].audience}):
            asked = [person for person in people if name in self.actual.personal[person.key]]
            for id in self.first.objects.get(name, {}):
                ruled: dict[tuple[str, Key], int] = {}
                for person in asked if self.first.find((name, id)) is not None else ():
                    of = self._as_member(person)
                    if of not in ruled:
                        access = _by_levels(self.first, *of, (name, id))
                        ruled[of] = access.level if access is not None else NOTHING
                    if (said := self._said(person, (name, id))) != ruled[of]:
                        yield (name, id), person, said

    def _as_member(self, person: Observed) -> tuple[str, Key]:
        """The role of a person, and the object whose people they are among."""
        outer = self.kinds[person.kind].within or ""
        return role_of(self.kinds, person), (outer, person.within.get(outer, ""))


def _by_levels(audiences: Audiences, role: str, home: Key, key: Key) -> Access | None:
    """The class of members by which somebody with a role may do most; None where the levels of objects say nothing of them."""
    mine = [
        access
        for access in audiences.members(key)
        if access.of == home and (access.who == MEMBERS or BY_ROLE.get(access.who) == role) and not access.via
    ]
    return max(mine, key=lambda access: access.level, default=None)


# -- by name -------------------------------------------------------------------------------------------------------------------------

NAMED: Final = 3  # people in a sentence


def name_of(kinds: Kinds, person: Observed) -> str:
    """How a person is called: by what their address ends with."""
    return str(person.values.get(str(kinds[person.kind].place.key_is)))


def newly(kinds: Kinds, actual: Actual, before: Audiences, after: Audiences) -> Callable[[Key, Access], str]:
    """A function that names the people of a class of readers who can do more with an object after a plan than before it:
    `ada@acme.example, grace@acme.example, linus@acme.example and 12 more`; "" where it was not read what single people may do."""
    now, then = PersonalAccess(kinds, before, before, actual), PersonalAccess(kinds, after, before, actual)
    people = [person for person in people_of(kinds, actual.objects) if person.key in actual.personal]

    def named(key: Key, access: Access) -> str:
        whom = set(BY_ROLE) if access.who in (MEMBERS, EACH_BY_ROLE) else {access.who} & BY_ROLE.keys()
        roles = {BY_ROLE[who] for who in whom}
        gains: dict[tuple[int, str | None], bool] = {}
        able = []
        for person in people:
            alike = then.alike(person, key)
            if alike not in gains:
                gains[alike] = role_of(kinds, person) in roles and _is_more(now.of(person, key), then.of(person, key))
            if gains[alike]:
                able.append(name_of(kinds, person))
        return some(sorted(able))

    return named


def _is_more(before: PersonalLevel, after: PersonalLevel) -> bool:
    """Whether somebody may do more, or can for sure what they perhaps could before."""
    return after.most > before.most or after.least > before.least


def some(names: Sequence[str]) -> str:
    """`ada@acme.example, grace@acme.example, linus@acme.example and 12 more`."""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def given_one_by_one(kinds: Kinds, actual: Actual) -> dict[Key, list[str]]:
    """By object, the people who were given another access than its level says, as `vera@acme.example (admin)`; of those who were asked."""
    now = Audiences(kinds, actual.objects, complete=actual.complete)
    given: dict[Key, list[str]] = defaultdict(list)
    for key, person, said in PersonalAccess(kinds, now, now, actual).granted():
        given[key].append(f"{name_of(kinds, person)} ({LEVELS[said] if said >= 0 else 'nothing'})")
    return {key: sorted(names) for key, names in given.items()}
