"""What a transfer waits for. Pure.

In: the sketches of a plan, and what is transferred. Out: the steps before it: what stops showing it, what leaves it, and the transfer whose
outcome frees an address for it. What cannot move to its target location yet, because that waits for the transfer, moves to the top level
first.
"""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.address import Address
from reconciler.plan.decisions import Draft
from reconciler.plan.steps.requests import Sketches, StepSketch, body_of


def before_transfer(sketches: Sketches, draft: Draft) -> Iterator[int]:
    """The deletes, transfers and updates of what shows it that must have succeeded before an object is transferred."""
    for address in draft.behind:
        removal = sketches.removals.get(address)
        while removal is not None and removal.covered_by is not None:
            removal = sketches.removals.get(removal.covered_by)
        deleted = sketches.deletes.get(removal.address) if removal is not None else None
        yield from (step for step in (deleted, sketches.transfers.get(address)) if step is not None)
        shower = sketches.drafts.get(address)
        if shower is not None and shower.kind.transferable is None:
            yield from (step for step in sketches.of.get(address, ()) if any(_refers(shower, name) for name in sketches.all[step].writes))
    if draft.after_transfer in sketches.transfers:
        yield sketches.transfers[draft.after_transfer]


def _refers(draft: Draft, name: str) -> bool:
    """Whether a field names another object, and not what contains this one."""
    field = draft.kind.fields[name]
    return field.refers is not None and not field.container


def leave_first(sketches: Sketches) -> None:
    """Let each transfer wait for the moves out of the object; what leaves by a transfer of its own needs no move."""
    aside: dict[Address, int] = {}
    for address, transfer in sketches.transfers.items():
        for leaving in (other for other in sketches.drafts[address].behind if other not in sketches.transfers):
            move = sketches.movers.get(leaving, sketches.arrivals.get(leaving))
            if move is not None and leaving not in aside and _waits_for(sketches, move, transfer):
                aside[leaving] = _to_the_top(sketches, leaving, move)
            if move is not None:
                sketches.all[transfer].needs.add(aside.get(leaving, move))


def _to_the_top(sketches: Sketches, address: Address, move: int) -> int:
    """Move an object to the top of its container before it moves where it belongs."""
    sketch, inside = sketches.all[move], sketches.drafts[address].kind.inside
    assert inside is not None
    assert isinstance(sketch.draft, Draft)
    writes = {inside.name: None}
    step = sketches.add(
        StepSketch(sketch.draft, sketch.verb, sketch.path, body_of(sketch.draft.kind, writes), writes, target=sketch.target)
    )
    sketch.needs.add(step)
    return step


def _waits_for(sketches: Sketches, step: int, other: int) -> bool:
    """Whether a step waits for another one, directly or indirectly."""
    seen, ahead = {step}, [step]
    while ahead:
        sketch = sketches.all[ahead.pop()]
        new = (sketch.needs | sketch.after) - seen
        seen |= new
        ahead += new
    return other in seen
