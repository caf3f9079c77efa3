"""What a run changed of the bindings, taken back: let go of again, bound again, called as before, protected as before. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from reconciler.address import Address
from reconciler.model import Actual, State, Turn, What
from reconciler.resource import Kinds
from reconciler.undo.effects import Cannot
from reconciler.undo.snapshot import Thing


def bound_again(kinds: Kinds, turns: Iterable[Turn], state: State, actual: Actual) -> tuple[dict[Address, Thing], list[Cannot]]:
    """What the run let go of and nobody has taken since, to be adopted again; and what cannot be."""
    found: dict[Address, Thing] = {}
    cannot: list[Cannot] = []
    holders = {(one.kind, one.id): address for address, one in state.bindings.items()}
    for turn in sorted(turns, key=lambda one: one.address):
        if turn.what is not What.FORGET or turn.kind not in kinds:
            continue
        key, container, now = (turn.kind, turn.id), turn.address.container, actual.find(turn.kind, turn.id)
        if holders.get(key) == turn.address:
            continue
        if key in holders:
            reason = f"it is tracked as {holders[key]} now"
        elif key in state.foreign:
            reason = "another project manages it now"
        elif turn.address in state.bindings:
            reason = "another object is tracked there now"
        elif now is None or now.deleted_at is not None:
            reason = "it no longer exists"
        elif container is not None and container not in state.bindings and container not in found:
            reason = f"{container} is not tracked"
        else:
            found[turn.address] = Thing(turn.address, kinds[turn.kind], turn.id, None, now)
            continue
        cannot.append(Cannot(turn.address, f"is no longer managed, and {reason}"))
    return found, cannot


def turned_back(
    turns: Iterable[Turn], state: State, *, added: Collection[Address], removed: Collection[Address], deleted: Collection[str]
) -> tuple[tuple[Turn, ...], list[Cannot]]:
    """What to change of the bindings when all requests are done, and what cannot be.

    `added`: addresses that are bound by then besides those of the state; `removed`: that are not any more. `deleted`: ids of what the run
    deleted itself.
    """
    return _Back(tuple(turns), state, {*state.bindings, *added} - {*removed}, {*removed}, {*deleted}).whole()


def as_remembered(turns: Iterable[Turn]) -> tuple[list[Address], dict[Address, Address], dict[Address, bool]]:
    """What a journal is told for these: addresses to forget, new addresses by old, protection by address."""
    listed = list(turns)
    forget = [one.address for one in listed if one.what is What.FORGET]
    rename = {one.old: one.address for one in listed if one.old is not None}
    return forget, rename, {one.address: one.what is What.PROTECT for one in listed if one.what in (What.PROTECT, What.UNPROTECT)}


@dataclass
class _Back:
    turns: tuple[Turn, ...]
    state: State
    staying: set[Address]
    removed: set[Address]
    deleted: set[str]

    def whole(self) -> tuple[tuple[Turn, ...], list[Cannot]]:
        self.cannot: list[Cannot] = []
        self.holders = {(one.kind, one.id): address for address, one in self.state.bindings.items()}
        forgets = self._forgets()
        self.staying -= {one.address for one in forgets}
        renames = self._renames()
        return (*forgets, *renames, *self._protection({one.old: one.address for one in renames})), self.cannot

    def _mine(self, what: What) -> list[Turn]:
        return [one for one in self.turns if one.what is what and one.id not in self.deleted]

    def _forgets(self) -> list[Turn]:
        """What was adopted is let go of, unless something below it stays bound."""
        found = {one.address: one for one in self._mine(What.ADOPT) if self.holders.get((one.kind, one.id)) == one.address}
        for address in list(found):
            if address in self.removed:
                found.pop(address)
        for address in sorted(found, key=lambda one: -len(one.parts)):
            below = next((one for one in sorted(self.staying) if one.is_within(address) and one not in found), None)
            if below is not None:
                self.cannot.append(Cannot(address, f"was adopted; {below} below it is still tracked, so it is still tracked too"))
                found.pop(address)
        return [Turn(What.FORGET, one.address, one.kind, one.id) for one in found.values()]

    def _renames(self) -> list[Turn]:
        """What was renamed is called as before, with what came to stand below it since."""
        names: dict[Address, Address] = {}
        for one in self._mine(What.RENAME):
            now = self.holders.get((one.kind, one.id))
            if now == one.old or one.old is None or now in self.removed:
                continue
            if now is None:
                self.cannot.append(Cannot(one.address, f"was {one.old}, and is no longer tracked"))
            elif now in self.staying:
                names[now] = one.old
        for address in self.staying - names.keys():
            above = _nearest(address, names)
            if above is not None:
                names[address] = Address(names[above].parts + address.parts[len(above.parts) :])
        while (wrong := self._misplaced(names)) is not None:
            old = names.pop(wrong[0])
            self.cannot.append(Cannot(wrong[0], f"was {old}, and {wrong[1]}; it keeps its address"))
        found = []
        for now, old in sorted(names.items()):
            binding = self.state.bindings.get(now)
            if binding is not None:
                found.append(Turn(What.RENAME, old, binding.kind, binding.id, now))
        return found

    def _misplaced(self, names: Mapping[Address, Address]) -> tuple[Address, str] | None:
        """One that cannot be called as before, and why."""
        later = {names.get(address, address) for address in self.staying}
        for now, old in sorted(names.items()):
            if old in self.staying and old not in names:
                return now, "something else is tracked there now"
            if old.container is not None and old.container not in later:
                return now, f"{old.container} is not tracked"
        return None

    def _protection(self, names: Mapping[Address | None, Address]) -> list[Turn]:
        found = []
        for one in (*self._mine(What.PROTECT), *self._mine(What.UNPROTECT)):
            binding = self.state.bindings.get(self.holders.get((one.kind, one.id), one.address))
            if binding is None or binding.id != one.id or binding.address not in self.staying:
                continue
            if binding.protected == (one.what is What.PROTECT):
                back = What.UNPROTECT if one.what is What.PROTECT else What.PROTECT
                found.append(Turn(back, names.get(binding.address, binding.address), one.kind, one.id))
        return found


def _nearest(address: Address, names: Mapping[Address, Address]) -> Address | None:
    above = address.container
    while above is not None and above not in names:
        above = above.container
    return above
