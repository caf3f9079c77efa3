"""What a run did, under today's addresses: later runs may have renamed its objects. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from reconciler.address import Address
from reconciler.model import JournalEntry, Position, StateChange, What

Later = Iterable[Iterable[StateChange]]
"""The changes of state of each run since, in the order in which they ran."""


def entries_today(entries: Sequence[JournalEntry], later: Later) -> tuple[JournalEntry, ...]:
    """The entries, with today's address in place of every address."""
    now = _calling(later)
    ids = {(turn.old, turn.address): turn.id for run in later for turn in run if turn.what is What.RENAME}
    return tuple(_entry(entry, now, ids) for entry in entries)


def turns_today(turns: Sequence[StateChange], later: Later) -> tuple[StateChange, ...]:
    """The changes of state, with today's addresses of their objects; the former address of a rename is kept."""
    now = _calling(later)
    return tuple(replace(turn, address=now(turn.address, turn.id)) for turn in turns)


class _Calling(Protocol):
    """Today's address of a former one. `id`: of the object that had it, None where that is not known."""

    def __call__(self, address: Address, id: str | None = None) -> Address: ...


def _calling(later: Later) -> _Calling:
    renames = [{turn.old: turn for turn in run if turn.what is What.RENAME} for run in later]

    def now(address: Address, id: str | None = None) -> Address:
        for names in renames:
            renamed = names.get(address)
            if renamed is not None and id in (None, renamed.id):
                address = renamed.address
        return address

    return now


def _entry(entry: JournalEntry, now: _Calling, ids: Mapping[tuple[Address | None, Address], str]) -> JournalEntry:
    """`ids`: of what later runs renamed, by both addresses: only the id identifies each of two objects that exchange addresses."""
    intent = entry.intent
    position = intent.before.position
    if position is not None:
        position = Position(
            position.parent and now(position.parent), position.index, None if position.previous is None else now(position.previous)
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
