"""A project and the objects that its resources are; and the objects that the files declare and a patch of the environment removes: they
are not new, and their lines are not edited. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from reconciler.address import Address
from reconciler.model import Actual, Desired, Source, State
from reconciler.plan.matching.match import identify
from reconciler.plan.matching.matches import Matches
from reconciler.resource import Kinds


@dataclass(frozen=True)
class MatchedProject:
    """What a project declares and what exists. `ids`: the ids of the objects by address. `excluded`: the addresses of objects that a patch
    of the environment removes, by kind and id."""

    kinds: Kinds
    desired: Desired
    state: State
    actual: Actual
    ids: Mapping[Address, str]
    excluded: Mapping[tuple[str, str], Address] = field(default_factory=dict)

    @cached_property
    def addresses(self) -> Mapping[tuple[str, str], Address]:
        """The addresses of the objects, by kind and id."""
        return {(self.desired.resources[address].kind, id): address for address, id in self.ids.items()}


def excluded_objects(kinds: Kinds, desired: Desired, state: State, actual: Actual, matches: Matches) -> Mapping[tuple[str, str], Address]:
    """The addresses of such objects by kind and id. `matches`: which objects the declared resources are."""
    if not desired.excluded:
        return {}
    resources = {**desired.resources, **{address: excluded.declared for address, excluded in desired.excluded.items()}}
    every = identify(kinds, replace(desired, resources=resources), state, actual)
    taken = {(desired.resources[address].kind, id) for address, id in matches.ids.items() if address in desired.resources}
    ids = {(desired.excluded[address].declared.kind, id): address for address, id in every.ids.items() if address in desired.excluded}
    return {ref: address for ref, address in ids.items() if ref not in taken}


def removed_by(address: Address, at: Source) -> str:
    """The sentence about a resource that a patch removes."""
    return f"{address} is removed by a patch of the environment: {at}"
