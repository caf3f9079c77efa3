"""Unmanaged objects that the service deletes with a managed one: the plan shows and counts them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from reconciler.address import Address, bare
from reconciler.model import Action, Change
from reconciler.model.codec import title
from reconciler.plan.containment import Key
from reconciler.plan.decisions import Removal
from reconciler.plan.world import Rearrangement, World


def unmanaged_cascades(world: World, removals: Mapping[Address, Removal], changing: Collection[Rearrangement]) -> list[Change]:
    """One delete for each unmanaged object in a deleted one, at any depth."""
    deleted = {(removal.kind.name, removal.id): removal for removal in removals.values() if removal.deletes}
    if not deleted:
        return []
    kept = {(*rearrangement.trigger_key, name) for rearrangement in changing for name in rearrangement.names}
    deletions: dict[Key, Change] = {}
    waiting = [(key, removal.address) for key, removal in deleted.items() if removal.replaces is None]
    while waiting:
        outer, address = waiting.pop()
        for observed in world.contents.deleted_directly(outer):
            key = (observed.kind, observed.id)
            if observed.deleted_at is not None or key in deleted or key in deletions or (*outer, observed.kind) in kept:
                continue
            container = address if world.kinds[observed.kind].within == outer[0] else address.container
            if container is not None:
                named = world.kinds[observed.kind].address(container, bare(observed.id))
                reason = f"unmanaged; deleted with {address}"
                deletions[key] = Change(named, observed.kind, (Action.DELETE,), reason=reason, id=observed.id, title=title(observed))
                waiting.append((key, named))
    return sorted(deletions.values(), key=lambda change: change.address)
