"""What a run did, under the addresses of today: later runs may have renamed what it was about. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from reconciler.address import Address
from reconciler.model import Entry, Stood, Turn, What

Later = Iterable[Iterable[Turn]]
"""The changes of state of each run since, in the order in which they ran."""


def entries_today(entries: Sequence[Entry], later: Later) -> tuple[Entry, ...]:
    """The entries, every address in them as it is called now."""
    now = _calling(later)
    return tuple(_entry(one, now) for one in entries)


def turns_today(turns: Sequence[Turn], later: Later) -> tuple[Turn, ...]:
    """The changes of state, their objects' addresses as they are called now; what a rename was from stays."""
    now = _calling(later)
    return tuple(replace(one, address=now(one.address)) for one in turns)


def _calling(later: Later) -> Callable[[Address], Address]:
    renames = [{one.old: one.address for one in run if one.what is What.RENAME} for run in later]

    def now(address: Address) -> Address:
        for names in renames:
            address = names.get(address, address)
        return address

    return now


def _entry(entry: Entry, now: Callable[[Address], Address]) -> Entry:
    intent = entry.intent
    stood = intent.before.stood
    if stood is not None:
        stood = Stood(now(stood.parent), stood.index, None if stood.previous is None else now(stood.previous))
    return replace(
        entry,
        intent=replace(intent, address=now(intent.address), before=replace(intent.before, stood=stood)),
        bound={now(address): id for address, id in entry.bound.items()},
        forgotten=tuple(now(address) for address in entry.forgotten),
        after={now(address): seen for address, seen in entry.after.items()},
    )
