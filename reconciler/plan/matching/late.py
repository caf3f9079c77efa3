"""Late results: objects of requests that were considered lost, and lists that do not show recent writes yet. Pure.

In: State and Actual. Out: what is ours by its mark, and whether an absence can be believed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from reconciler.address import Address
from reconciler.model import Actual, Declared, State
from reconciler.resource import Kind, Kinds


def late(kinds: Kinds, state: State, actual: Actual, taken: Collection[tuple[str, str]]) -> dict[tuple[str, str], Address]:
    """The unclaimed objects with a marker that this project wrote, each with the address for which it was created."""
    found = {}
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
                found[(name, observed.id)] = address
    return found


def stands_there(kind: Kind, declared: Declared, id: str | None, actual: Actual, ids: Mapping[Address, str]) -> bool:
    """Whether the late object is in the location where the resource is declared."""
    observed = actual.find(kind.name, id) if id is not None else None
    container = declared.address.container
    return observed is not None and container is not None and observed.within.get(kind.within or "") == ids.get(container)


def may_lag(state: State, address: Address, actual: Actual) -> bool:
    """Whether the address was written so recently that a list may not show its object yet."""
    until = state.recent.get(address)
    return until is not None and (actual.date is None or actual.date < until)
