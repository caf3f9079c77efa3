"""What members may do with spaces: levels of spaces and of the collections they are in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.sandbox.service import RANKS
from reconciler.sandbox.store import Object, Store

NONE = -1


def rank(level: object) -> int:
    """How much a level allows; `inherit`, null and unknown levels add nothing."""
    return RANKS.index(level) if isinstance(level, str) and level in RANKS else NONE


@dataclass(frozen=True)
class Levels:
    """The levels of one organization's content."""

    collections: Mapping[str, int]

    @classmethod
    def of(cls, store: Store, organization: str) -> Levels:
        """Read all collections once: the level of each is the highest of its own and those around it."""
        collections = {collection["id"]: collection for collection in store.select("collection", organization=organization)}
        levels: dict[str, int] = {}
        for id in collections:
            chain: list[str] = []
            at: str | None = id
            while at is not None and at in collections and at not in levels and at not in chain:
                chain.append(at)
                at = collections[at].get("parent")
            around = levels.get(at, NONE) if at is not None else NONE
            for inner in reversed(chain):
                around = levels[inner] = max(around, rank(collections[inner].get("defaultLevel")))
        return cls(levels)

    def space(self, space: Object) -> int:
        """The rank every member has in a space, who is neither an admin nor a guest; nobody has any in a deleted one."""
        if space.get("deletedAt"):
            return NONE
        return max(rank(space.get("defaultLevel")), self.collections.get(str(space.get("parent")), NONE))

    def member(self, role: str | None, space: Object) -> str | None:
        """The level of a member with that role in a space. Admins read all, guests nothing."""
        if role == "admin":
            return None if space.get("deletedAt") else "admin"
        level = self.space(space) if role is not None else NONE
        return RANKS[level] if level >= 0 else None
