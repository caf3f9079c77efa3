"""What is transferred together, and whose addresses the state changes together. Frozen data, computed by `plan.transfers`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from reconciler.address import Address
from reconciler.model import Actual
from reconciler.plan.containment import Key


@dataclass(frozen=True)
class TransferredTogether:
    """`roots`: the addresses that need a request of their own, with the keys of everything in them, at any depth.

    `root_of`: the addresses that such a request includes, each with its root. `actual`: the reading as if all were transferred.
    """

    actual: Actual
    roots: Mapping[Address, tuple[Key, ...]] = field(default_factory=dict)
    root_of: Mapping[Address, Address] = field(default_factory=dict)


@dataclass(frozen=True)
class Batch:
    """`roots`: today's addresses of what is transferred, in the order of the requests. `moves`: all addresses, former one to today's."""

    roots: tuple[Address, ...]
    moves: Mapping[Address, Address]

    @cached_property
    def before(self) -> Mapping[Address, Address]:
        """The root that is transferred before each; the first has none."""
        return {second: first for first, second in pairwise(self.roots)}
