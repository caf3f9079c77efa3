"""What the service creates for other objects and keeps writing: nobody has to manage it, and nothing prunes it. Pure.

In: objects as they were read. Out: which of them are such results, of which objects, and what they are copies of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from reconciler.model import Observed
from reconciler.resource import Kind, Kinds

Key = tuple[str, str]
"""An object: its kind and its id."""

Objects = Mapping[str, Mapping[str, Observed]]


def results(kinds: Kinds, objects: Objects) -> frozenset[Key]:
    """Every object that is the result of another one."""
    return frozenset(result for result, _ in _copied(kinds, objects))


def copied(kinds: Kinds, objects: Objects) -> dict[Key, list[Key]]:
    """By object: the results that are copies of it."""
    copies: dict[Key, list[Key]] = {}
    for result, original in _copied(kinds, objects):
        if original is not None:
            copies.setdefault(original, []).append(result)
    return copies


def _copied(kinds: Kinds, objects: Objects) -> Iterator[tuple[Key, Key | None]]:
    for kind in kinds.values():
        for field in kind.results:
            for observed in objects.get(kind.name, {}).values():
                result, original = observed.values.get(field.name), observed.values.get(str(field.copies))
                if isinstance(result, str):
                    yield (str(field.to), result), (str(field.to), original) if isinstance(original, str) else None


def makers(kinds: Kinds, names: Collection[str] | None = None) -> Iterable[tuple[Kind, str]]:
    """The kinds that have results, each with the kind of those; of `names` only, where given."""
    for kind in kinds.values():
        for to in dict.fromkeys(str(field.to) for field in kind.results):
            if names is None or to in names:
                yield kind, to
