"""Which objects an object contains, and which it chooses. Pure.

In: each object as it is put or dropped. Out: the ids of what another object contains or chooses. Every operation takes as long as what it
changes, however many objects there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from reconciler.model import Observed
from reconciler.model.choices import chooser
from reconciler.resource import Field, Kind, Kinds

Entry = tuple[str, str, str, str]
"""("inside", kind, outer kind, outer id), or ("chosen", choosing kind, its id, its choice field)."""


class ContainerIndex:
    """Ids by entry, in the order in which they were put."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._flags = {name: kinds.flags(name) for name in kinds}
        self._fields = {name: [(str(field.to), field.name) for field in containers(kind)] for name, kind in kinds.items()}
        self._ids: dict[Entry, dict[str, None]] = defaultdict(dict)

    def ids(self, entry: Entry) -> Iterable[str]:
        """The ids of an entry, first put first."""
        return self._ids.get(entry, ())

    def count(self, entry: Entry) -> int:
        return len(self._ids.get(entry, ()))

    def last(self, entry: Entry) -> str | None:
        """The id that was put last."""
        return next(reversed(self._ids[entry]), None) if entry in self._ids else None

    def put(self, old: Observed | None, new: Observed) -> None:
        """Enter an object where `old` was."""
        before = self._entries(old) if old is not None else set()
        after = self._entries(new)
        for entry in before - after:
            self._ids[entry].pop(new.id, None)
        for entry in after - before:
            self._ids[entry][new.id] = None

    def drop(self, observed: Observed) -> None:
        for entry in self._entries(observed):
            self._ids[entry].pop(observed.id, None)

    def chooser(self, kind: Kind, flag: str, observed: Observed) -> Entry | None:
        """Whose choice a child's flag is."""
        parent = chooser(self._kinds, kind, flag, observed)
        return ("chosen", parent[0], parent[1], parent[2].name) if parent is not None else None

    def _entries(self, observed: Observed) -> set[Entry]:
        """Where the index has an object."""
        kind, values = self._kinds[observed.kind], observed.values
        entries: set[Entry] = {
            ("inside", kind.name, to, id) for to, name in self._fields[kind.name] if isinstance(id := values.get(name), str)
        }
        if kind.within is not None and isinstance(outer := observed.within.get(kind.within), str):
            entries.add(("inside", kind.name, kind.within, outer))
        for flag in self._flags[kind.name]:
            chosen = self.chooser(kind, flag, observed) if observed.flags.get(flag) else None
            if chosen is not None:
                entries.add(chosen)
        return entries


def containers(kind: Kind) -> list[Field]:
    """The fields of a kind that name what contains its objects."""
    return [field for field in kind.fields.values() if field.container]


def holds(kinds: Kinds, kind: Kind) -> list[Kind]:
    """The kinds whose objects one of this kind may contain."""
    return [other for other in kinds.values() if other.within == kind.name or any(field.to == kind.name for field in containers(other))]
