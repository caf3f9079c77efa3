"""Ids in the YAML that belong to another resource. Pure.

In: Desired, State (under today's addresses), Actual. Out: by address, why its `id` cannot be meant.
"""

from __future__ import annotations

from reconciler.address import Address, bare
from reconciler.model import Actual, Blocked, Declared, Desired, State
from reconciler.resource import UNSET, Kind, Kinds
from reconciler.text.suggest import a


def wrong_ids(kinds: Kinds, desired: Desired, state: State, actual: Actual) -> dict[Address, Blocked]:
    """Resources whose written `id` is tracked under another declared address, or is an object that has another key on the service."""
    untracked = [resource for at, resource in desired.resources.items() if resource.id is not None and at not in state.bindings]
    if not untracked:
        return {}
    tracked = {(binding.kind, binding.id): at for at in desired.resources if (binding := state.bindings.get(at)) is not None}
    blocked_resources: dict[Address, Blocked] = {}
    for declared in untracked:
        id, kind = str(declared.id), kinds[declared.kind]
        holder, other = tracked.get((declared.kind, id)), _other_key(kind, declared, actual)
        if holder is not None:
            reason = f"the YAML says id {bare(id)}, which is tracked as {holder}"
        elif other is not None:
            reason = f"the YAML says id {bare(id)}, which is the {kind.name} {other}"
        else:
            continue
        key = f": {a(kind.name)} is matched by its key" if other is not None else ""
        way = f"correct the id, or remove it{key}"
        blocked_resources[declared.address] = Blocked(declared.address, reason, way, declared.source, id="RC-id-of-another-resource")
    return blocked_resources


def _other_key(kind: Kind, declared: Declared, actual: Actual) -> str | None:
    """The key of the object with the declared id, where keys are a field of the object and it differs; else None."""
    place, object_ = kind.place, actual.find(kind.name, str(declared.id))
    if place.key_is is None or object_ is None:
        return None
    seen = object_.values.get(place.key_is, UNSET)
    return str(seen) if seen is not UNSET and seen != declared.values.get(place.key_is) else None
