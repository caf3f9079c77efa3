"""Unmanaged objects that the service deletes with a managed one: the plan shows and counts them. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from reconciler.address import Address, bare
from reconciler.model import Action, Actual, Change, Observed
from reconciler.model.codec import title
from reconciler.plan.containment import Key, deleted_with
from reconciler.plan.decisions import Removal
from reconciler.plan.world import Rearrangement
from reconciler.resource import Kinds


def unmanaged_cascades(
    kinds: Kinds, actual: Actual, removals: Mapping[Address, Removal], changing: Collection[Rearrangement]
) -> list[Change]:
    """One delete for each unmanaged object in a deleted one, at any depth."""
    deleted = {(removal.kind.name, removal.id): removal for removal in removals.values() if removal.deletes}
    if not deleted:
        return []
    stays = {(rearrangement.kind.name, rearrangement.keeper_id, name) for rearrangement in changing for name in rearrangement.names}
    below = _below(kinds, actual)
    deletions: dict[Key, Change] = {}
    waiting = [(key, removal.address) for key, removal in deleted.items() if removal.replaces is None]
    while waiting:
        outer, address = waiting.pop()
        for observed in below.get(outer, ()):
            key = (observed.kind, observed.id)
            if key in deleted or key in deletions or (*outer, observed.kind) in stays:
                continue
            container = address if kinds[observed.kind].within == outer[0] else address.container
            if container is not None:
                named = kinds[observed.kind].address(container, bare(observed.id))
                reason = f"unmanaged; deleted with {address}"
                deletions[key] = Change(named, observed.kind, (Action.DELETE,), reason=reason, id=observed.id, title=title(observed))
                waiting.append((key, named))
    return sorted(deletions.values(), key=lambda change: change.address)


def _below(kinds: Kinds, actual: Actual) -> dict[Key, list[Observed]]:
    """The objects by the kind and id of the object with which they are deleted."""
    below: dict[Key, list[Observed]] = defaultdict(list)
    for kind in kinds.values():
        for observed in actual.objects.get(kind.name, {}).values():
            for outer in deleted_with(kind, observed) if observed.deleted_at is None else ():
                below[outer].append(observed)
    return below
