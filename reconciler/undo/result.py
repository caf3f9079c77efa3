"""What taking a run back comes to. Pure."""

from __future__ import annotations

from reconciler.address import Address
from reconciler.dataclass import dataclass
from reconciler.model import Desired, StateChange
from reconciler.undo.effects import Cannot


@dataclass(frozen=True)
class Inverse:
    """`desired`: everything as it stands, but for what is taken back. `only`: the addresses the plan is to be about.

    `turns`: what is to change of the bindings once the plan is carried out.
    """

    desired: Desired
    only: frozenset[Address]
    cannot: tuple[Cannot, ...]
    turns: tuple[StateChange, ...] = ()
