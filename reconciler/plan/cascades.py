"""What nobody manages and a delete takes along: it disappears as well, so it is shown and counted. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from reconciler.address import Address, bare
from reconciler.model import Action, Actual, Change, Observed
from reconciler.model.codec import title
from reconciler.plan.decisions import Removal
from reconciler.plan.world import Rearrangement
from reconciler.resource import Kinds


def taken_along(kinds: Kinds, actual: Actual, gone: Mapping[Address, Removal], changing: Collection[Rearrangement]) -> list[Change]:
    """One delete for each unmanaged object in what is deleted, at whatever depth."""
    deleted = {(removal.kind.name, removal.id): removal for removal in gone.values() if removal.deletes}
    if not deleted:
        return []
    stays = {(one.kind.name, one.keeper_id, name) for one in changing for name in one.names}
    below = _below(kinds, actual)
    along: dict[tuple[str, str], Change] = {}
    waiting = [(key, removal.address) for key, removal in deleted.items() if removal.replaces is None]
    while waiting:
        outer, address = waiting.pop()
        for one in below.get(outer, ()):
            key = (one.kind, one.id)
            if key in deleted or key in along or (*outer, one.kind) in stays:
                continue
            container = address if kinds[one.kind].within == outer[0] else address.container
            if container is not None:
                named = kinds[one.kind].address(container, bare(one.id))
                reason = f"unmanaged; deleted with {address}"
                along[key] = Change(named, one.kind, (Action.DELETE,), reason=reason, id=one.id, title=title(one))
                waiting.append((key, named))
    return sorted(along.values(), key=lambda change: change.address)


def _below(kinds: Kinds, actual: Actual) -> dict[tuple[str, str], list[Observed]]:
    """The objects by the kind and id of what takes them along when it is deleted."""
    below: dict[tuple[str, str], list[Observed]] = defaultdict(list)
    for kind in kinds.values():
        inside = kind.inside if kind.inside is not None and kind.inside.cascade else None
        for one in actual.objects.get(kind.name, {}).values():
            if one.deleted_at is not None:
                continue
            if (holder := kind.listed_with(one.values)) is not None:
                below[holder].append(one)
            if kind.within is not None:
                below[kind.within, one.within.get(kind.within, "")].append(one)
            if inside is not None and isinstance(node := one.values.get(inside.name), str):
                below[str(inside.to), node].append(one)
    return below
