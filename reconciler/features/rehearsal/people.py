"""Whom of the members new readers are, by name: as the plan names them. Pure.

In: the plan, and what it was made from. Out: for a class of members of the copy and an object, those of them who may do more with it after
the plan. Nobody is named where it was not read what single people may do. Whoever loses access is not named: they may keep what they were
given one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from reconciler.features.rehearsal.moments import BY_ROLE, leveled
from reconciler.features.rehearsal.predictions import PlannedWorld
from reconciler.plan.audience.people import is_unread, newly, people_of
from reconciler.plan.audience.readers import Access, Audiences
from reconciler.plan.containment import Key
from reconciler.resource.risks import MEMBERS


class NewPeople(NamedTuple):
    """`names`: `ada@acme.example, grace@acme.example and 12 more`. `others`: somebody else may be among them, because it was not read of
    everybody what they were given one by one."""

    names: str = ""
    others: bool = False


def new_people(predicted: PlannedWorld) -> Callable[[str, Key], NewPeople]:
    """A function that names those of a reader of the copy who may do more with an object after the plan."""
    kinds, actual = predicted.kinds, predicted.actual
    before = Audiences(kinds, actual.objects, complete=actual.complete)
    named = newly(kinds, actual, before, predicted.audiences)
    unread = any(is_unread(kinds, actual, person) for person in people_of(kinds, actual.objects))

    def new(reader: str, key: Key) -> NewPeople:
        who, level = leveled(reader)
        members = MEMBERS if who == MEMBERS else BY_ROLE.get(who)
        audience = kinds[key[0]].audience if key[0] in kinds else None
        if members is None or audience is None or not audience.at_top:
            return NewPeople()
        return NewPeople(named(key, Access(members, max(level, 0))), unread)

    return new
