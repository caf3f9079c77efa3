"""The check of `doctor` on what an access review reads: what the token may not list, and what follows from each. Only GET.

Lists are read whole where the project did not need them yet; of the people, one is asked as an example of all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from reconciler.client.service import Reader
from reconciler.errors import ServiceError
from reconciler.features.doctor.local import problem
from reconciler.model import Actual, Observed
from reconciler.observe.readers import with_readers
from reconciler.plan.audience.people import name_of, people_of
from reconciler.plan.matching.matches import Matches
from reconciler.report.findings import Check
from reconciler.report.words import Level, listed
from reconciler.resource import Kinds
from reconciler.text.names import a

NAME: Final = "access"
REMEDY: Final = "Use the token of an admin where somebody has to sign the review. Without it, these readers are shown as perhaps."


async def review_readings(reader: Reader, kinds: Kinds, actual: Actual, matches: Matches) -> list[Check]:
    """What an access review could not read of the project's roots: a warning each; or that it can read everything."""
    roots = {matches.ids[address] for address in matches.ids if address.container is None}
    if not roots:
        return []
    outer = {kind.name for kind in kinds.roots}
    names = [kind.name for kind in kinds.values() if kind.within in outer and kind.whole_listings and _bears(kinds, kind.name)]
    try:
        actual = await with_readers(reader, kinds, actual, (), [(name, root) for name in names for root in roots])
        example = _example(kinds, actual)
        if example is not None:
            actual = await with_readers(reader, kinds, actual, [example.key])
    except ServiceError as error:
        return [problem(NAME, error)]
    gaps = [*_lists(kinds, actual, names, roots), *([] if example is None else _person(kinds, actual, example))]
    if gaps:
        return [Check(NAME, Level.WARNING, gap, REMEDY, id="RC-not-permitted") for gap in gaps]
    asked = f", and what single people may do (asked about {name_of(kinds, example)})" if example is not None else ""
    return [Check(NAME, Level.OK, f"a review can list every {listed(names, len(names))}{asked}")]


def _bears(kinds: Kinds, name: str) -> bool:
    """Whether who can read something follows from a kind: people, what they are in, and what has readers."""
    people = [kind for kind in kinds.values() if kind.personal]
    return kinds[name].audience is not None or any(name in (kind.name, *(of.kind for of in kind.personal)) for kind in people)


def _example(kinds: Kinds, actual: Actual) -> Observed | None:
    """Somebody about whom every list has to be asked: no admin, and in teams if anybody is; None where there is nobody."""
    able = (person for person in people_of(kinds, actual.objects) if not kinds[person.kind].holds_scarce(person.values))

    def unneeded(person: Observed) -> tuple[int, str]:
        numbers = [reading.number for reading in kinds[person.kind].personal if reading.number]
        return sum(person.values.get(number) == 0 for number in numbers), person.id

    return min(able, key=unneeded, default=None)


def _lists(kinds: Kinds, actual: Actual, names: Collection[str], roots: Collection[str]) -> Iterator[str]:
    """A sentence for each kind that could not be listed in every root."""
    for name in names:
        reason = next((unknown.reason for unknown in actual.unknown if unknown.kind == name and unknown.id is None), "")
        if any((name, root) not in actual.complete for root in roots):
            if kinds[name].personal:
                follows = "nobody is known by name, so that a review shows classes of readers, and every test of a member or a team fails"
            elif kinds[name].audience is not None:
                follows = "what was not seen has unknown readers, and so has what it shows"
            else:
                follows = "no access test can name it, and who is in it is not shown"
            yield f"{name}: not every one can be listed ({reason or 'the list is incomplete'}): {follows}"


def _person(kinds: Kinds, actual: Actual, person: Observed) -> Iterator[str]:
    """A sentence for each list of what one person may do that could not be read."""
    reason = actual.personal_failures.get(person.key, "")
    for reading in kinds[person.kind].personal:
        if reading.kind in actual.personal.get(person.key, {}):
            continue
        if kinds[reading.kind].audience is not None:
            follows = f"everybody may have been given any {reading.kind} one by one, so that every test fails that a member must not see it"
        else:
            follows = (
                f"who is in {a(reading.kind)} is not known: tests of {a(reading.kind)} fail, and drift does not say who joined or left"
            )
        yield f"{person.kind}: each {reading.kind} of {name_of(kinds, person)}, an example of all, cannot be listed ({reason}): {follows}"
