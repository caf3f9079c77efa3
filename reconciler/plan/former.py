"""The names that addresses had before. Pure.

In: Desired and State. Out: which bound address became which.
"""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.address import Address
from reconciler.model import Desired, State


def renames(desired: Desired, state: State) -> dict[Address, Address]:
    """New address to the bound address it had before: by `previously`, by `moved`, and below a renamed container."""
    found: dict[Address, Address] = {}
    moves: dict[Address, tuple[Address, ...]] = {}
    for move in desired.moved:
        moves[move.new] = (*moves.get(move.new, ()), move.old)
    for address, declared in desired.resources.items():
        if address in state.bindings:
            continue
        for old in (*declared.previously, *_former(address, moves), *_former(address, {new: (old,) for new, old in found.items()})):
            if old in state.bindings and old not in desired.resources and old not in found.values():
                found[address] = old
                break
        else:
            if declared.previously:
                moves[address] = (*moves.get(address, ()), *declared.previously)
    return found


def _former(address: Address, names: Mapping[Address, tuple[Address, ...]]) -> list[Address]:
    """What the address would be under the former names of itself and of what it stands within."""
    found = []
    at: Address | None = address
    while at is not None:
        found += [Address(old.parts + address.parts[len(at.parts) :]) for old in names.get(at, ())]
        at = at.container
    return found
