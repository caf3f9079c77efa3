"""Reverts what a run changed in the bindings: tracking, addresses and protection. Pure.

What a run did, under today's addresses: later runs may have renamed its objects. Pure.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any

from reconciler.address import Address
from reconciler.features.undo.effects import Cannot, Inverse
from reconciler.features.undo.objects import ObservedObject
from reconciler.model import Actual, JournalEntry, Position, State, StateChange, What
from reconciler.resource import UNSET, Kinds


def tracked_again(
    kinds: Kinds, state_changes: Iterable[StateChange], state: State, actual: Actual
) -> tuple[dict[Address, ObservedObject], list[Cannot]]:
    """(objects that the run stopped tracking and nobody tracks now, to be adopted again; those that cannot be)."""
    again: dict[Address, ObservedObject] = {}
    cannot: list[Cannot] = []
    for state_change in sorted(state_changes, key=lambda state_change: state_change.address):
        if state_change.what is not What.FORGET or state_change.kind not in kinds:
            continue
        key, container, now = (
            (state_change.kind, state_change.id),
            state_change.address.container,
            actual.find(state_change.kind, state_change.id),
        )
        if state.addresses.get(key) == state_change.address:
            continue
        if key in state.addresses:
            reason = f"it is tracked as {state.addresses[key]} now"
        elif key in state.foreign:
            reason = "another project manages it now"
        elif state_change.address in state.bindings:
            reason = "another object is tracked there now"
        elif now is None or now.deleted_at is not None:
            reason = "it no longer exists"
        elif container is not None and container not in state.bindings and container not in again:
            reason = f"{container} is not tracked"
        else:
            again[state_change.address] = ObservedObject(state_change.address, kinds[state_change.kind], state_change.id, None, now)
            continue
        cannot.append(Cannot(state_change.address, f"is no longer managed, and {reason}"))
    return again, cannot


def reverted_state_changes(
    state_changes: Iterable[StateChange],
    state: State,
    *,
    added: Collection[Address],
    removed: Collection[Address],
    deleted: Collection[str],
) -> tuple[tuple[StateChange, ...], list[Cannot]]:
    """The changes of bindings when all requests are done, and those that cannot be made.

    `added`: addresses that are tracked by then in addition to those of the state; `removed`: those that no longer are. `deleted`: ids of
    what the run deleted itself.
    """
    return _Back(tuple(state_changes), state, {*state.bindings, *added} - {*removed}, {*removed}, {*deleted}).inverse()


def journal_arguments(state_changes: Iterable[StateChange]) -> tuple[list[Address], dict[Address, Address], dict[Address, bool]]:
    """These changes as arguments for the journal: (addresses to forget, new addresses by old, protection by address)."""
    listed = list(state_changes)
    forget = [state_change.address for state_change in listed if state_change.what is What.FORGET]
    rename = {state_change.old: state_change.address for state_change in listed if state_change.old is not None}
    return (
        forget,
        rename,
        {
            state_change.address: state_change.what is What.PROTECT
            for state_change in listed
            if state_change.what in (What.PROTECT, What.UNPROTECT)
        },
    )


def stop_managing_fields(inverse: Inverse, state: State) -> dict[Address, dict[str, Any]]:
    """The fields that are no longer managed once a run is undone, as values of a binding, by tracked address."""
    return {address: dict.fromkeys(names, UNSET) for address, names in inverse.unmanaged.items() if address in state.bindings}


@dataclass
class _Back:
    state_changes: tuple[StateChange, ...]
    state: State
    staying: set[Address]
    removed: set[Address]
    deleted: set[str]

    def inverse(self) -> tuple[tuple[StateChange, ...], list[Cannot]]:
        self.cannot: list[Cannot] = []
        forgets = self._forgets()
        self.staying -= {state_change.address for state_change in forgets}
        renames = self._renames()
        return (*forgets, *renames, *self._protection({state_change.old: state_change.address for state_change in renames})), self.cannot

    def _mine(self, what: What) -> list[StateChange]:
        return [state_change for state_change in self.state_changes if state_change.what is what and state_change.id not in self.deleted]

    def _forgets(self) -> list[StateChange]:
        """Stop tracking what was adopted, unless something below it stays tracked."""
        adopted = {
            state_change.address: state_change
            for state_change in self._mine(What.ADOPT)
            if self.state.addresses.get((state_change.kind, state_change.id)) == state_change.address
        }
        for address in list(adopted):
            if address in self.removed:
                adopted.pop(address)
        # An address that is still tracked needs its containers: `state` has no address whose container is unknown.
        first: dict[Address, Address] = {}  # by container, the first in it that stays tracked
        for kept in sorted(self.staying - adopted.keys()):
            first |= {container: kept for container in kept.containers if container not in first}
        for address in sorted(adopted, key=lambda address: -len(address.parts)):
            if address in first:
                self.cannot.append(Cannot(address, f"was adopted; {first[address]} below it is still tracked, so it is still tracked too"))
                adopted.pop(address)
                if address in self.staying:
                    first |= {container: min(address, first.get(container, address)) for container in address.containers}
        return [StateChange(What.FORGET, state_change.address, state_change.kind, state_change.id) for state_change in adopted.values()]

    def _renames(self) -> list[StateChange]:
        """Give what was renamed its former address, with everything below it."""
        names: dict[Address, Address] = {}
        for state_change in self._mine(What.RENAME):
            now = self.state.addresses.get((state_change.kind, state_change.id))
            if now == state_change.old or state_change.old is None or now in self.removed:
                continue
            if now is None:
                self.cannot.append(Cannot(state_change.address, f"was {state_change.old}, and is no longer tracked"))
            elif now in self.staying:
                names[now] = state_change.old
        for address in self.staying - names.keys():
            # What is below a renamed address has its name in front of its own, so it is renamed with it.
            above = _nearest(address, names)
            if above is not None:
                names[address] = Address(names[above].parts + address.parts[len(above.parts) :])
        self._drop_misplaced(names)
        renames = []
        for now, old in sorted(names.items()):
            binding = self.state.bindings.get(now)
            if binding is not None:
                renames.append(StateChange(What.RENAME, old, binding.kind, binding.id, now))
        return renames

    def _drop_misplaced(self, names: dict[Address, Address]) -> None:
        """Remove what cannot get its former address, in the order of addresses, and report why."""
        # Each name that is dropped may make others impossible: those that were to take its place, and those below it.
        later = Counter(names.get(address, address) for address in self.staying)
        by_old: dict[Address, list[Address]] = defaultdict(list)
        inside: dict[Address, list[Address]] = defaultdict(list)
        for now, old in names.items():
            by_old[old].append(now)
            if old.container is not None:
                inside[old.container].append(now)
        suspects = sorted(names)
        while suspects:
            now = heappop(suspects)
            reason = self._misplaced(names[now], names, later) if now in names else None
            if reason is None:
                continue
            old = names.pop(now)
            self.cannot.append(Cannot(now, f"was {old}, and {reason}; it keeps its address"))
            later[old] -= 1
            later[now] += 1
            for other in (*by_old[now], *inside[old]):  # whose former address another tracked object has, or whose container is missing
                heappush(suspects, other)

    def _misplaced(self, old: Address, names: Mapping[Address, Address], later: Mapping[Address, int]) -> str | None:
        """Why an object cannot get its former address; None where it can. `later`: the addresses that are tracked then."""
        if old in self.staying and old not in names:
            return "something else is tracked there now"
        if old.container is not None and not later.get(old.container):
            return f"{old.container} is not tracked"
        return None

    def _protection(self, names: Mapping[Address | None, Address]) -> list[StateChange]:
        protections = []
        for state_change in (*self._mine(What.PROTECT), *self._mine(What.UNPROTECT)):
            binding = self.state.bindings.get(self.state.addresses.get((state_change.kind, state_change.id), state_change.address))
            if binding is None or binding.id != state_change.id or binding.address not in self.staying:
                continue
            if binding.protected == (state_change.what is What.PROTECT):
                back = What.UNPROTECT if state_change.what is What.PROTECT else What.PROTECT
                protections.append(StateChange(back, names.get(binding.address, binding.address), state_change.kind, state_change.id))
        return protections


def _nearest(address: Address, names: Mapping[Address, Address]) -> Address | None:
    above = address.container
    while above is not None and above not in names:
        above = above.container
    return above


Later = Iterable[Iterable[StateChange]]
"""The changes of state of each run since, in the order in which they ran."""


def entries_today(entries: Sequence[JournalEntry], later: Later) -> tuple[JournalEntry, ...]:
    """The entries, with today's address in place of every address."""
    now = _todays_address(later)
    ids = {
        (state_change.old, state_change.address): state_change.id
        for run in later
        for state_change in run
        if state_change.what is What.RENAME
    }
    return tuple(_entry(entry, now, ids) for entry in entries)


def state_changes_today(state_changes: Sequence[StateChange], later: Later) -> tuple[StateChange, ...]:
    """The changes of state, with today's addresses of their objects; the former address of a rename is kept."""
    now = _todays_address(later)
    return tuple(replace(state_change, address=now(state_change.address, state_change.id)) for state_change in state_changes)


TodaysAddress = Callable[[Address, str | None], Address]
"""Today's address of a former one, by the id of the object that had it; None where that is not known."""


def _todays_address(later: Later) -> TodaysAddress:
    renames = [{state_change.old: state_change for state_change in run if state_change.what is What.RENAME} for run in later]

    def now(address: Address, id: str | None) -> Address:
        for names in renames:
            renamed = names.get(address)
            if renamed is not None and id in (None, renamed.id):
                address = renamed.address
        return address

    return now


def _entry(entry: JournalEntry, now: TodaysAddress, ids: Mapping[tuple[Address | None, Address], str]) -> JournalEntry:
    """`ids`: of what later runs renamed, by both addresses: only the id identifies each of two objects that exchange addresses."""
    intent = entry.intent
    position = intent.before.position
    if position is not None:
        position = Position(
            position.parent and now(position.parent, None),
            position.index,
            None if position.previous is None else now(position.previous, None),
        )
    carried = {old: now(new, entry.bound.get(new, ids.get((old, new)))) for old, new in intent.before.renames.items()}
    about = now(intent.address, entry.bound.get(intent.address, None if intent.verb == "create" else intent.target))

    def called(address: Address) -> Address:
        return about if address == intent.address else now(address, entry.bound.get(address))

    return replace(
        entry,
        intent=replace(intent, address=about, before=replace(intent.before, position=position, renames=carried)),
        bound={called(address): id for address, id in entry.bound.items()},
        forgotten=tuple(about if address == intent.address else address for address in entry.forgotten),
        after={called(address): seen for address, seen in entry.after.items()},
    )
