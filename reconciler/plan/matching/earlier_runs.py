"""What earlier runs left: objects of requests that were considered lost, and deleted objects that can still be restored. Pure.

In: State and Actual. Out: what is ours by its mark, whether an absence can be believed so soon, and what a resource that is declared again
gets back instead of an empty object, with how long that is possible.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from math import ceil

from reconciler.address import Address
from reconciler.model import Actual, Declared, State
from reconciler.plan.matching.matches import Match
from reconciler.plan.matching.natural_keys import unread
from reconciler.resource import Kind, Kinds

# -- created ---------------------------------------------------------------------------------------------------------------------


def late(kinds: Kinds, state: State, actual: Actual, taken: Collection[tuple[str, str]]) -> dict[tuple[str, str], Address]:
    """The unclaimed objects with a marker that this project wrote, each with the address for which it was created."""
    late_objects = {}
    for name in {name for name, _ in state.marks}:
        marker = kinds[name].api["create"].marker if name in kinds else None
        if marker is None:
            continue
        for observed in actual.objects.get(name, {}).values():
            address = state.marks.get((name, str(observed.values.get(marker, ""))))
            if (
                address is not None
                and (name, observed.id) not in taken
                and (name, observed.id) not in state.foreign
                and observed.deleted_at is None
            ):
                late_objects[(name, observed.id)] = address
    return late_objects


def is_in_place(kind: Kind, declared: Declared, id: str | None, actual: Actual, ids: Mapping[Address, str]) -> bool:
    """Whether the late object is in the location where the resource is declared."""
    observed = actual.find(kind.name, id) if id is not None else None
    container = declared.address.container
    return observed is not None and container is not None and observed.within.get(kind.within or "") == ids.get(container)


def may_lag(state: State, address: Address, actual: Actual) -> bool:
    """Whether the address was written so recently that a list may not show its object yet."""
    until = state.recent.get(address)
    return until is not None and (actual.date is None or actual.date < until)


# -- deleted ---------------------------------------------------------------------------------------------------------------------


def deleted_before(kind: Kind, declared: Declared, state: State) -> str | None:
    """The id of the object that an earlier run deleted at the address of a resource and that may be restored; None where there is none."""
    name, id = state.deleted.get(declared.address, ("", ""))
    usable = name == kind.name and kind.restore_days > 0 and (name, id) not in state.foreign
    return id if usable and declared.adopt and declared.id is None and not declared.implied else None


def match_deleted(kind: Kind, declared: Declared, id: str, actual: Actual, ids: Mapping[Address, str]) -> Match | None:
    """The deleted object, where it can be restored, or why it is not known; None where neither is known. `ids`: of its containers."""
    container = declared.address.container
    scope = ids.get(container) if container is not None else None
    now = actual.find(kind.name, id)
    if now is None:
        reason = None if (kind.name, id) in actual.absent else unread(kind, (), id, actual)
        return Match(unknown=reason) if reason is not None else None
    belongs = scope is None or now.within.get(kind.within or "") == scope
    if not belongs or (now.deleted_at is not None and window(kind, now.deleted_at, actual)[1] <= timedelta(0)):
        return None
    return Match(id=id, adopted=True)


def window(kind: Kind, deleted_at: datetime, actual: Actual) -> tuple[timedelta, timedelta]:
    """How long ago an object was deleted, and how long it can still be restored (zero or less: no longer), by the service's clock."""
    ago = max((actual.date or deleted_at) - deleted_at, timedelta(0))
    return ago, timedelta(days=kind.restore_days) - ago


def last_moment(kind: Kind, deleted_at: datetime) -> datetime:
    """When an object that was deleted then can no longer be restored."""
    return deleted_at + timedelta(days=kind.restore_days)


def left_over(delta: timedelta) -> str:
    """How much time is left, in days rounded up: 7 days right after the delete; hours and minutes on the last day."""
    return span(timedelta(days=ceil(delta / timedelta(days=1)))) if delta > timedelta(days=1) else span(delta)


def span(delta: timedelta) -> str:
    """`3 days`, `5 hours`, `1 min`."""
    days, hours = delta.days, delta.seconds // 3600
    if days:
        return f"{days} day{'s' if days != 1 else ''}"
    return f"{hours} hour{'s' if hours != 1 else ''}" if hours else f"{max(delta.seconds // 60, 1)} min"
