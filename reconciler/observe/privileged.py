"""The members who reach most: their lists show what no other reading does. Pure.

In: what was observed. Out: people, as the kinds declare them. Nothing is read here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconciler.model import Observed
from reconciler.resource import Kinds

Objects = Mapping[str, Mapping[str, Observed]]


def people(kinds: Kinds, objects: Objects) -> Iterator[Observed]:
    """The people who may be referenced without being declared."""
    for kind in kinds.values():
        if kind.undeclared:
            yield from objects.get(kind.name, {}).values()


def reaching(kinds: Kinds, objects: Objects) -> Iterator[Observed]:
    """The people who reach everything: those with a value that some objects must always keep (the admins)."""
    return (person for person in people(kinds, objects) if reaches_all(kinds, person))


def reaches_all(kinds: Kinds, person: Observed) -> bool:
    """Whether a person holds such a value."""
    scarce = kinds[person.kind].scarce
    return scarce is not None and person.values.get(scarce.name) == scarce.body(scarce.scarce)
