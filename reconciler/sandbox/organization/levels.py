"""What members may do with spaces: levels of spaces and of the collections they are in."""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.sandbox.service import RANKS
from reconciler.sandbox.store import Object, Store

NONE = -1


def rank(level: object) -> int:
    """How much a level allows; `inherit`, null and unknown levels add nothing."""
    return RANKS.index(level) if isinstance(level, str) and level in RANKS else NONE


def collection_ranks(store: Store, organization: str) -> dict[str, int]:
    """Read all collections of an organization once: the rank of each is the highest of its own level and those around it."""
    collections = {collection["id"]: collection for collection in store.select("collection", organization=organization)}
    ranks: dict[str, int] = {}
    for id in collections:
        chain: list[str] = []
        outer: str | None = id
        while outer is not None and outer in collections and outer not in ranks and outer not in chain:
            chain.append(outer)
            outer = collections[outer].get("parent")
        around = ranks.get(outer, NONE) if outer is not None else NONE
        for inner in reversed(chain):
            around = ranks[inner] = max(around, rank(collections[inner].get("defaultLevel")))
    return ranks


def member_level(ranks: Mapping[str, int], role: str | None, space: Object) -> str | None:
    """The level of a member with that role in a space; nobody has any in a deleted one. `ranks`: those of the collections."""
    # an admin reads every space whatever its levels are; a guest, who has no role, reads only what a site or a link opens
    if space.get("deletedAt") or role is None:
        return None
    if role == "admin":
        return "admin"
    highest = max(rank(space.get("defaultLevel")), ranks.get(str(space.get("parent")), NONE))
    return RANKS[highest] if highest >= 0 else None
