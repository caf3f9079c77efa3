"""What a transfer waits for: what stops showing it, what leaves it, and the transfer whose outcome frees an address for it. Pure.

What cannot move to its target location yet, because that waits for the transfer, moves to the top level first.
"""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.address import Address
from reconciler.plan.decisions import Draft, Transfer
from reconciler.plan.steps.graph import Edge, Waits, needs
from reconciler.plan.steps.requests import Requests


def ready_to_transfer(requests: Requests) -> Iterator[Edge]:
    """A transfer needs the deletes, transfers and updates of what shows its object, and the transfer that frees its address."""
    for address, transfer in requests.transfers.items():
        yield from needs(transfer, _before_transfer(requests, requests.drafts[address]))


def _behind(draft: Draft) -> tuple[Address, ...]:
    """What must leave an object, or stop showing it, before its transfer."""
    return draft.purpose.waits_for if isinstance(draft.purpose, Transfer) else ()


def _before_transfer(requests: Requests, draft: Draft) -> Iterator[int]:
    for address in _behind(draft):
        removal = requests.removals.get(address)
        while removal is not None and removal.deleted_with is not None:
            removal = requests.removals.get(removal.deleted_with)
        deleted = requests.deletes.get(removal.address) if removal is not None else None
        yield from (step for step in (deleted, requests.transfers.get(address)) if step is not None)
        shower = requests.drafts.get(address)
        if shower is not None and shower.kind.transferable is None:
            # The fields by which it shows another object, and not those that say where it is.
            showing = {name for name, field in shower.kind.fields.items() if field.refers is not None and not field.container}
            yield from (step for step in requests.of.get(address, ()) if showing & requests.steps[step].writes.keys())
    if draft.after_transfer in requests.transfers:
        yield requests.transfers[draft.after_transfer]


def leave_first(requests: Requests) -> Iterator[Edge]:
    """A transfer needs the moves out of its object; what leaves by a transfer of its own needs no move.

    Adds a move to the top level where a move waits for the transfer: by the rules before this one, or by an edge that it has yielded.
    """
    to_the_top: dict[Address, int] = {}
    for address, transfer in requests.transfers.items():
        waiting = _Waiting(requests.waits, transfer)
        for leaving in (other for other in _behind(requests.drafts[address]) if other not in requests.transfers):
            move = requests.moves.get(leaving, requests.memberships.get(leaving))
            if move is None:
                continue
            if leaving not in to_the_top and waiting.includes(move):
                inside = requests.drafts[leaving].kind.inside
                assert inside is not None
                to_the_top[leaving] = requests.add_like(move, {inside.name: None})
                yield from needs(move, (to_the_top[leaving],))
            yield from needs(transfer, (to_the_top.get(leaving, move),))


class _Waiting:
    """Which steps wait for a transfer, directly or indirectly. Each step is looked at once; edges from the transfer change nothing."""

    def __init__(self, waits: Waits, transfer: int) -> None:
        self._waits = waits
        self._waiting, self._others = {transfer}, set[int]()

    def includes(self, step: int) -> bool:
        seen, ahead, is_waiting = {step}, [step], step in self._waiting
        while ahead and not is_waiting:
            new = self._waits.of(ahead.pop()).all - seen - self._others
            is_waiting = not self._waiting.isdisjoint(new)
            seen |= new
            ahead += new
        if is_waiting:
            self._waiting.add(step)
        else:
            self._others |= seen
        return is_waiting
