"""What is kept of an object of the service beside the values of its fields: what another part of the program reads of it. Pure.

A reading of 10,000 objects would else keep the names and values of a hundred thousand that nobody asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from typing_extensions import is_typeddict

from reconciler.resource.kind import Kind

OF_EACH: Final = frozenset({"id", "title", "name", "label", "slug", "user", "createdAt", "permissions"})
"""What people call it, when it was created, and what the token may do with it."""


class Kept(NamedTuple):
    """`names`: of what is kept whole. `parts`: (name, name in it) of what is kept of the rest."""

    names: frozenset[str]
    parts: tuple[tuple[str, str], ...] = ()

    def of(self, raw: Mapping[str, Any]) -> Mapping[str, Any]:
        """The part of an object that is kept."""
        kept = {name: value for name, value in raw.items() if name in self.names}
        for name, inner in self.parts:
            value = raw.get(name)
            if isinstance(value, Mapping) and inner in value:
                kept[name] = {**kept.get(name, {}), inner: value[inner]}
        return kept


def kept_of(kind: Kind, kinds: Iterable[Kind]) -> Kept | None:
    """What is kept of each object of a kind; None for all of it, because functions of its declaration may read any part of it."""
    located = [field for field in kind.fields.values() if field.container or field is kind.transferable]
    if any(callable(field.usual) for field in kind.fields.values()) or any(field.at is None for field in located):
        return None
    copied = [other.work for other in kinds if any(field.to == kind.name for field in other.service_copies)]
    worked = [word for word in (kind.work, *copied) if word is not None]
    updated = {field.name for verb in kind.update_verbs for field in kind.sent_by(verb.name)}
    partly = [field for field in kind.fields.values() if field.name in updated and is_typeddict(field.type)]
    paths = [
        *(field.at for field in partly if field.at is not None),
        *(str(field.at) for field in located),
        *(path for word in worked for path in (word.state, word.changed_at, word.error)),
        *(name for verb in kind.api.values() for name in verb.brings.values()),
        *([kind.published.at] if kind.published is not None else ()),
        kind.id_is,
    ]
    split = [tuple(path.split(".")[:2]) for path in paths if path]
    names = OF_EACH | {path[0] for path in split if len(path) == 1}
    return Kept(names, tuple(dict.fromkeys((path[0], path[1]) for path in split if len(path) == 2 and path[0] not in names)))
