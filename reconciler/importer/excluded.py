"""Objects that the files declare and a patch of the environment removes: they are not new, and their lines are not edited.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reconciler.address import Address
from reconciler.model import Actual, Desired, Source, State
from reconciler.plan import match
from reconciler.plan.matching.matches import Matches
from reconciler.resource import Kinds


def excluded_objects(kinds: Kinds, desired: Desired, state: State, actual: Actual, found: Matches) -> Mapping[tuple[str, str], Address]:
    """The addresses of such objects by kind and id. `found`: which objects the declared resources of the environment are."""
    if not desired.excluded:
        return {}
    resources = {**desired.resources, **{address: excluded.declared for address, excluded in desired.excluded.items()}}
    every = match(kinds, replace(desired, resources=resources), state, actual)
    taken = {(desired.resources[address].kind, id) for address, id in found.ids.items() if address in desired.resources}
    ids = {(desired.excluded[address].declared.kind, id): address for address, id in every.ids.items() if address in desired.excluded}
    return {ref: address for ref, address in ids.items() if ref not in taken}


def removed_by(address: Address, at: Source) -> str:
    """The sentence about a resource that a patch removes."""
    return f"{address} is removed by a patch of the environment: {at}"
