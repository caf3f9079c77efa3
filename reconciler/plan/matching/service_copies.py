"""Objects that the service creates for others and keeps up to date, as copies: nobody has to manage them, and nothing prunes them. Pure.

In: objects as they were read. Out: which of them are such copies, of which objects, and for which objects the service made them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from reconciler.model import Observed
from reconciler.plan.containment import Key
from reconciler.resource import Kind, Kinds

Objects = Mapping[str, Mapping[str, Observed]]


def service_copies(kinds: Kinds, objects: Objects) -> frozenset[Key]:
    """Every object that the service created for another one."""
    return frozenset(copy for copy, _ in _copied(kinds, objects))


def copied(kinds: Kinds, objects: Objects) -> dict[Key, list[Key]]:
    """By object: the copies of it that the service created."""
    copies: dict[Key, list[Key]] = {}
    for copy, original in _copied(kinds, objects):
        if original is not None:
            copies.setdefault(original, []).append(copy)
    return copies


def _copied(kinds: Kinds, objects: Objects) -> Iterator[tuple[Key, Key | None]]:
    for kind in kinds.values():
        for field in kind.service_copies:
            for observed in objects.get(kind.name, {}).values():
                copy, original = observed.values.get(field.name), observed.values.get(str(field.copies))
                if isinstance(copy, str):
                    yield (str(field.to), copy), (str(field.to), original) if isinstance(original, str) else None


def makers(kinds: Kinds, names: Collection[str] | None = None) -> Iterable[tuple[Kind, str]]:
    """The kinds for whose objects the service creates copies, each with the kind of those; of `names` only, where given."""
    for kind in kinds.values():
        for to in dict.fromkeys(str(field.to) for field in kind.service_copies):
            if names is None or to in names:
                yield kind, to
