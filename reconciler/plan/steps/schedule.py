"""The steps of a plan, numbered in an order that could be run one by one. Pure.

Raises `ReconcilerError` where steps wait for each other, naming the steps of the cycle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from reconciler.address import Address
from reconciler.errors import ReconcilerError
from reconciler.model import Position, Step
from reconciler.plan.decisions import Draft, Removal
from reconciler.plan.derived import Derivation
from reconciler.plan.siblings.rows import SiblingRow
from reconciler.plan.steps.graph import Cycle, ordered
from reconciler.plan.steps.requests import Requests
from reconciler.plan.steps.rules import connect
from reconciler.plan.steps.unique_values import add_temporary_values
from reconciler.resource import Kinds


def scheduled(
    kinds: Kinds,
    drafts: Mapping[Address, Draft],
    rows: Sequence[SiblingRow],
    removals: Mapping[Address, Removal],
    ids: Mapping[Address, str],
    positions: Mapping[Address, Position],
    derived: Mapping[Address, Derivation] = {},
) -> tuple[Step, ...]:
    """All steps of a plan. `positions`: the positions of siblings before it. `derived`: the values that the service derives for created
    objects."""
    # A request names the new object of a replacement, and never the old one by its id.
    known = {address: id for address, id in ids.items() if address not in drafts or not drafts[address].is_new}
    requests = Requests(kinds, drafts, rows, removals, known, positions, derived)
    # The creates come first, so that every later request can look up the one that it needs.
    requests.add_creates()
    requests.add_changes()
    requests.add_moves()
    requests.add_deletes()
    if not requests.steps:
        return ()
    add_temporary_values(requests)
    try:
        waits = connect(requests)
        sequence = ordered(waits)
    except Cycle as cycle:
        circle = [requests.steps[id] for id in cycle.nodes]
        names = ", ".join(f"{step.address} ({', '.join(step.writes)})" for step in circle)
        raise ReconcilerError(
            f"these fields wait for each other: {names}", id="RC-fields-in-a-circle", hint="remove one of the references"
        ) from cycle
    number = {id: number for number, id in enumerate(sequence, start=1)}
    return tuple(
        replace(
            requests.steps[id],
            id=number[id],
            needs=frozenset(number[other] for other in waits[id].needs),
            after=frozenset(number[other] for other in waits[id].after),
        )
        for id in sequence
    )
