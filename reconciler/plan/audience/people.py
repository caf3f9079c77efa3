"""What one person may do with one object: at least and at most. Pure.

The premise: the levels of objects say what everybody with a role may do, and beside them single people and teams were given access, one by
one. Nothing shows what somebody was given; what shows it is the difference between what the levels say of a person and what the service
says that the person may do.

    levels say read,  the service says admin    ->  they were given access: a change of the levels may leave it as it is
    levels say read,  the service says read     ->  perhaps they were given the same: after a change of the levels, at most this remains
    levels say nothing, and the service too     ->  they were given nothing: only the levels count
    the service was not asked                   ->  at least nothing, at most everything

In: a world, the world in which the service was asked, and its answers. Out: levels of `LEVELS` by index, -1 for none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
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
    """The people whose own access and teams were not read yet."""
    return frozenset(
        person.key
        for person in people_of(kinds, actual.objects)
        if person.key not in actual.personal and person.key not in actual.personal_failures
    )


def role_of(kinds: Kinds, person: Observed) -> str:
    """The role of a person: one of ROLES; `guest` where it is unknown."""
    scarce = kinds[person.kind].scarce
    role = person.values.get(scarce.name) if scarce is not None else None
    return role if isinstance(role, str) else GUEST


@dataclass(frozen=True)
class PersonalAccess:
    """Answers for one world. `audiences`: that world. `first`: the world of the answers. `actual`: the answers."""

    kinds: Kinds
    audiences: Audiences
    first: Audiences
    actual: Actual

    def of(self, person: Observed, key: Key) -> PersonalLevel:
        """What a person may do with an object as one of its organization; what everybody may do with it does not count."""
        kind = self.kinds[person.kind]
        if not kind.is_active(person.values) or self.audiences.find(key) is None:
            return PersonalLevel(NOTHING, NOTHING)
        if kind.holds_scarce(person.values):
            mine = self.audiences.objects[key[0]][key[1]].within.get(kind.within or "") == person.within.get(kind.within or "")
            return PersonalLevel(EVERYTHING, EVERYTHING) if mine else PersonalLevel(NOTHING, NOTHING)
        access = self._by_levels(self.audiences, person, key)
        ruled = access.level if access is not None else NOTHING
        if self.first.find(key) is None and self.actual.find(*key) is None:  # the plan creates it: nobody was given anything there
            return PersonalLevel(ruled, ruled, access=access)
        listed = {reading.kind for reading in kind.personal}
        if key[0] not in listed:
            most = max((self.of(person, inner).most for inner in self._inside(listed, key)), default=ruled)
            return PersonalLevel(ruled, max(ruled, most), doubt=UNLISTED if ruled < 0 <= most else "", access=access)
        levels = self.actual.personal.get(person.key, {}).get(key[0])
        if levels is None:
            doubt = self.actual.personal_failures.get(person.key, GRANTED)
            return PersonalLevel(min(ruled, 0), EVERYTHING, doubt=doubt if ruled < 0 else "", access=access)
        said = LEVELS.index(levels[key[1]]) if levels.get(key[1]) in LEVELS else NOTHING
        before = self._by_levels(self.first, person, key)
        was = before.level if before is not None else NOTHING
        granted = said != was
        if ruled == was and not self._moved(key):
            return PersonalLevel(said, said, granted, access=access)
        if said == NOTHING and was == NOTHING:
            return PersonalLevel(ruled, ruled, access=access)
        least, most = min(said, ruled), max(said, ruled)
        return PersonalLevel(least, most, granted, REMAINING if least < most else "", access)

    def _inside(self, listed: Collection[str], key: Key) -> Iterator[Key]:
        """The objects of these kinds that are part of an object and leave it to that who may do what with them: what somebody was given
        there shows in these."""
        for name in sorted(listed):
            audience = self.kinds[name].audience
            if audience is None:
                continue
            for observed in self.audiences.objects.get(name, {}).values():
                if asks(audience, observed.values) and key in whole_of(self.kinds, self.audiences.objects, observed.key):
                    yield observed.key

    def _moved(self, key: Key) -> bool:
        """Whether the object is part of something else than it was when the service was asked."""
        return [*self.audiences.leading(key)] != [*self.first.leading(key)]

    def _by_levels(self, audiences: Audiences, person: Observed, key: Key) -> Access | None:
        """The class of members by which a person may do most; None where the levels of objects say nothing of them."""
        outer = self.kinds[person.kind].within or ""
        role, home = role_of(self.kinds, person), (outer, person.within.get(outer, ""))
        mine = [
            access
            for access in audiences.of(key)
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
        able = sorted(
            name_of(kinds, person)
            for person in people
            if role_of(kinds, person) in roles and then.of(person, key).most > now.of(person, key).most
        )
        more = f" and {len(able) - NAMED:,} more" if len(able) > NAMED else ""
        return f"{', '.join(able[:NAMED])}{more}"

    return named
