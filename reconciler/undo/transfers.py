"""What a run transferred, transferred back: to its former container, under its former address. Pure.

In: what the run did, the state, and what exists now. Out: the former address by today's, the other changes of state, and what cannot be
transferred back; and a Desired that declares all of it in its former location, with the lines of `moved` for that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from reconciler.address import Address
from reconciler.model import Actual, Desired, Moved, State, StateChange
from reconciler.resource import Kinds
from reconciler.undo.effects import Cannot, RunEffect
from reconciler.undo.objects import NOWHERE


def transferred_back(
    kinds: Kinds, done: Mapping[Address, RunEffect], state_changes: Collection[StateChange], state: State, actual: Actual
) -> tuple[dict[Address, Address], tuple[StateChange, ...], list[Cannot]]:
    """(former address by today's, of what can be transferred back; the changes of state that no transfer reverts; what cannot be
    transferred back)."""
    cannot: list[Cannot] = []
    roots = {
        state_change.old: state_change.address
        for state_change in state_changes
        if state_change.old is not None and state_change.old.container is None
    }
    across = {
        state_change
        for state_change in state_changes
        if state_change.old is not None and roots.get(state_change.old.root, state_change.old.root) != state_change.address.root
    }
    back: dict[Address, Address] = {}
    holders = {(binding.kind, binding.id): at for at, binding in state.bindings.items()}
    for change in done.values():
        if change.left is None:
            continue
        if _is_back(change, state, actual, holders):
            continue
        reason = _why_not(kinds, change, state, actual, holders)
        if reason is None:
            back |= {new: old for old, new in change.carried.items() if new in state.bindings}
        else:
            cannot.append(Cannot(change.address, f"was transferred, and {reason}; it was not transferred back"))
    today = {old: new for new, old in back.items()}
    taken = [new for new, old in back.items() if old in state.bindings and old not in back]
    while taken:
        new = taken.pop()
        cannot.append(Cannot(new, f"was {back.pop(new)}, where something else is tracked now; it was not transferred back"))
        taken += [today[new]] if new in today else []  # the object with that address now keeps it
    for state_change in sorted(across, key=lambda state_change: state_change.address):
        if state_change.address not in back and state_change.address not in done and state_change.address in state.bindings:
            cannot.append(
                Cannot(state_change.address, f"was {state_change.old}, and was not transferred by this run; it keeps its address")
            )
    given = {(old, new) for new, old in back.items()}  # also what was renamed within a container for a transfer
    return (
        back,
        tuple(
            state_change
            for state_change in state_changes
            if state_change not in across and (state_change.old, state_change.address) not in given
        ),
        cannot,
    )


Holders = Mapping[tuple[str, str], Address]
"""The address at which an object is tracked today, by its kind and id."""


def _tracked(change: RunEffect, holders: Holders) -> Address | None:
    return holders.get((change.kind.name, str(change.id)))


def _within(change: RunEffect, actual: Actual) -> str | None:
    """The id of the object's container now."""
    now, owner = actual.find(change.kind.name, change.id or ""), change.kind.transferable
    return now.within.get(str(owner.to)) if now is not None and owner is not None else None


def _root(state: State, address: Address | None) -> str | None:
    binding = state.bindings.get(address.root) if address is not None else None
    return binding.id if binding is not None else None


def _is_back(change: RunEffect, state: State, actual: Actual, holders: Holders) -> bool:
    """Whether another undo transferred it back, with its address."""
    at = _tracked(change, holders)
    return at is not None and at != change.address and change.left == _root(state, at) == _within(change, actual)


def _why_not(kinds: Kinds, change: RunEffect, state: State, actual: Actual, holders: Holders) -> str | None:
    """Why an object cannot be transferred back; None where it can."""
    binding, owner = state.bindings.get(change.address), change.kind.transferable
    now = actual.find(change.kind.name, change.id or "")
    if now is None or now.deleted_at is not None:
        return "no longer exists"
    if binding is None or binding.id != change.id:
        at = _tracked(change, holders)
        if change.left == _root(state, at):
            return f"is still tracked as {at}, because the run ended between two transfers: run reconciler apply first, then undo that run"
        return "is no longer tracked"
    if owner is None or _within(change, actual) not in (_root(state, change.address), change.left):
        return f"belongs to another {change.kind.within} now"
    former = holders.get((str(owner.to), str(change.left)))
    if former is None or former.container is not None:
        return f"{change.left}, which it was in, is no longer tracked"
    return None


def append_to_roots(rows: dict[Address, list[Address]], back: Mapping[Address, Address]) -> None:
    """Put what is transferred back, and has no position in its former root, at the end of that."""
    for parent in [*rows]:
        root = back.get(parent, parent).root
        leaving = dict.fromkeys(address for address in rows[parent] if address in back and back[address].root != root)
        rows[parent] = [address for address in rows[parent] if address not in leaving]
        for address in leaving:
            rows.setdefault(back[address].root, []).append(address)


def under_former_addresses(desired: Desired, back: Mapping[Address, Address]) -> Desired:
    """The same with these declared under their former addresses, and lines of `moved` for them that apply even if done before."""
    if not back:
        return desired

    def called(value: Any) -> Any:
        match value:
            case Address():
                return back.get(value, value)
            case Mapping():
                return {key: called(part) for key, part in value.items()}
            case list() | tuple():
                return type(value)(called(part) for part in value)
            case _:
                return value

    resources = {}
    for address, declared in desired.resources.items():
        today = back.get(address, address)
        resources[today] = replace(declared, address=today, values=called(declared.values), parent=called(declared.parent))
    moved = tuple(Moved(new, old, NOWHERE, again=True) for new, old in back.items())
    return replace(desired, resources=resources, moved=(*desired.moved, *moved))
