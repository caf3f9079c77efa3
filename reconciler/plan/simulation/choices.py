"""Which of its children an object chooses. Pure.

In: each child as it is put or dropped. Out: the ids of the children that are chosen. Every operation takes as long as what it changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from reconciler.model import Observed
from reconciler.model.choices import chooser
from reconciler.resource import Kind, Kinds

Choice = tuple[str, str, str]
"""What chooses: its kind, its id, and its choice field."""


class ChosenChildren:
    """The ids of the chosen children by choice, in the order in which they were put."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._flags = {name: kinds.flags(name) for name in kinds}
        self._ids: dict[Choice, dict[str, None]] = defaultdict(dict)

    def ids(self, choice: Choice) -> Iterable[str]:
        """The chosen children, first put first."""
        return self._ids.get(choice, ())

    def last(self, choice: Choice) -> str | None:
        """The child that was put last."""
        return next(reversed(self._ids[choice]), None) if choice in self._ids else None

    def choice(self, kind: Kind, flag: str, observed: Observed) -> Choice | None:
        """The choice that a child's flag belongs to."""
        parent = chooser(self._kinds, kind, flag, observed)
        return (parent[0], parent[1], parent[2].name) if parent is not None else None

    def put(self, old: Observed | None, new: Observed) -> None:
        """Enter a child where `old` was."""
        if not self._flags[new.kind]:
            return
        before = self._choices(old) if old is not None else set()
        after = self._choices(new)
        for choice in before - after:
            self._ids[choice].pop(new.id, None)
        for choice in after - before:
            self._ids[choice][new.id] = None

    def drop(self, observed: Observed) -> None:
        """Remove a child."""
        for choice in self._choices(observed):
            self._ids[choice].pop(observed.id, None)

    def _choices(self, observed: Observed) -> set[Choice]:
        kind = self._kinds[observed.kind]
        flags = [flag for flag in self._flags[kind.name] if observed.flags.get(flag)]
        choices = (self.choice(kind, flag, observed) for flag in flags)
        return {choice for choice in choices if choice is not None}
