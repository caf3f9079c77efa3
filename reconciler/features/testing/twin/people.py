"""What the files of a test say of people: their roles, and who is in which team. Pure.

No file of a project says what single people were given, and only a plan of the service reads it. So a twin has the people of the files and
of the seed, and what the seed gives them. What follows for the `access` of the project, which is about the service:

    mustNotSee   judged by the files: whoever reads something by them reads it in the service too
    sees         left to a plan, where the files do not show it: they may have been given it

In: a project, and the e-mails of the people in a seed. Out: the project as a twin can judge it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from reconciler.config import Project
from reconciler.model import AccessTest, Desired, NamedReader
from reconciler.resource import Kinds


def people_in_files(desired: Desired, seeded: Collection[str]) -> frozenset[str]:
    """The e-mails of the people whose role some file says. `seeded`: those of the seed."""
    declared = {address.key.lower() for address, declared in desired.resources.items() if not declared.implied}
    return frozenset({*declared, *seeded, *([desired.lister.key.lower()] if desired.lister is not None else [])})


def as_files_say(kinds: Kinds, project: Project, seeded: Collection[str]) -> Project:
    """The project without the demands that no file can decide."""
    known = people_in_files(project.desired, seeded)
    access = tuple(test for test in (_decided(kinds, project.desired, test, known) for test in project.desired.access) if test is not None)
    return replace(project, desired=replace(project.desired, access=access))


def _decided(kinds: Kinds, desired: Desired, test: AccessTest, known: frozenset[str]) -> AccessTest | None:
    if test.reader.person is None:
        return test
    is_known = known.issuperset(_people(kinds, desired, test.reader))
    return replace(test, sees=()) if is_known and test.must_not_see else None


def _people(kinds: Kinds, desired: Desired, reader: NamedReader) -> Iterator[str]:
    """The e-mails of the people that a reader stands for, as the project declares them."""
    address = reader.person
    if address is None or address not in desired.resources:
        yield from [address.key.lower()] if address is not None else []
        return
    fields = [field for field in kinds.of(address).fields.values() if field.gathered]
    for field in fields:
        yield from (at.key.lower() for at in desired.resources[address].values.get(field.name) or ())
    if not fields:
        yield address.key.lower()
