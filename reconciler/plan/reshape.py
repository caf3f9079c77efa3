"""What the service rearranges by itself when the first object of a kind comes or the last one goes: that part waits. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.address import Address
from reconciler.model import Actual
from reconciler.plan.drafts import Draft
from reconciler.plan.match import Matches
from reconciler.plan.removal import Removal
from reconciler.resource import Field, Kind, Kinds, Role


def reshape(kinds: Kinds, actual: Actual, found: Matches, drafts: dict[Address, Draft], removals: dict[Address, Removal]) -> None:
    """Put off to a second run what touches objects that the service will have moved by then."""
    for kind in kinds.values():
        create, delete = kind.api.get("create"), kind.api.get("delete")
        names = {*(create.reshapes if create else ()), *(delete.reshapes if delete else ())}
        if not names:
            continue
        touched: list[Draft | Removal] = [*drafts.values(), *removals.values()]
        for container in sorted({one.address.container for one in touched if one.kind is kind and one.address.container}):
            _container(kind, names, container, actual, found, drafts, removals)
    for draft in drafts.values():
        waits = [one.field.name for one in draft.sendable if _chosen_later(draft, one.field, drafts)]
        if waits and draft.active:
            draft.deferred = f"{' and '.join(waits)} waits for what the service rearranges"


def _chosen_later(draft: Draft, field: Field, drafts: Mapping[Address, Draft]) -> bool:
    """Whether the field chooses one of the objects that wait."""
    chosen = draft.declared.values.get(field.name)
    return field.role is Role.CHOICE and isinstance(chosen, Address) and chosen in drafts and drafts[chosen].deferred is not None


def _container(
    kind: Kind,
    names: set[str],
    container: Address,
    actual: Actual,
    found: Matches,
    drafts: Mapping[Address, Draft],
    removals: Mapping[Address, Removal],
) -> None:
    scope = found.ids.get(container)
    if scope is None:
        return
    there = [one for one in actual.objects.get(kind.name, {}).values() if one.within.get(kind.within or "") == scope]
    below = [one for name in names for one in actual.objects.get(name, {}).values() if one.within.get(kind.within or "") == scope]
    comes = any(draft.born and draft.active for draft in drafts.values() if draft.kind is kind and draft.address.container == container)
    leaving = {removal.id for removal in removals.values() if removal.kind is kind and removal.delete and removal.active}
    if there and not comes and all(one.id in leaving for one in there):
        reason = f"the service rearranges it when the last {kind.name} goes"
        for removal in removals.values():
            if removal.kind.name in names and removal.address.container == container:
                removal.deferred = reason
        for draft in drafts.values():
            touched = draft.born or draft.sendable
            if draft.kind.name in names and draft.address.container == container and draft.active and touched:
                draft.deferred = reason
    if below and not there and comes:
        reason = f"the service rearranges it when the first {kind.name} comes"
        for removal in removals.values():
            if removal.kind.name in names and removal.address.container == container:
                removal.deferred = reason
        for draft in drafts.values():
            if draft.kind.name in names and draft.address.container == container and draft.observed is not None and draft.sendable:
                draft.deferred = reason
