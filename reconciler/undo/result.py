"""The result of reverting a run. Pure."""

from __future__ import annotations

from reconciler.address import Address
from reconciler.dataclass import dataclass
from reconciler.model import Desired, StateChange
from reconciler.undo.effects import Cannot


@dataclass(frozen=True)
class Inverse:
    """`desired`: everything as it is, except for what is reverted. `only`: the addresses to which the plan is limited.

    `turns`: the changes of bindings once the plan is carried out.
    """

    desired: Desired
    only: frozenset[Address]
    cannot: tuple[Cannot, ...]
    turns: tuple[StateChange, ...] = ()
