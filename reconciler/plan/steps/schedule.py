"""The steps of a plan, numbered in an order that could be run one by one. Pure.

Raises `ReconcilerError` where steps wait for each other, naming the steps of the cycle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reconciler.address import Address
from reconciler.errors import ReconcilerError
from reconciler.model import Position, Step
from reconciler.plan.decisions import Draft, Removal
from reconciler.plan.derived import Derivation
from reconciler.plan.siblings.rows import SiblingRow
from reconciler.plan.steps.graph import Cycle, Edges, ordered
from reconciler.plan.steps.requests import Sketches, StepSketch
from reconciler.plan.steps.rules import connect
from reconciler.plan.steps.unique_values import add_temporary_values
from reconciler.resource import Kinds


def requests(
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
    known = {address: id for address, id in ids.items() if address not in drafts or not drafts[address].is_new}
    sketches = Sketches(kinds, drafts, rows, removals, known, positions)
    sketches.add_creates()
    sketches.add_changes()
    sketches.add_moves()
    sketches.add_deletes()
    if not sketches.all:
        return ()
    add_temporary_values(sketches)
    try:
        waits = connect(sketches, derived)
        sequence = ordered(waits)
    except Cycle as cycle:
        names = ", ".join(f"{sketches.all[n].draft.address} ({', '.join(sketches.all[n].writes)})" for n in cycle.nodes)
        raise ReconcilerError(
            f"these fields wait for each other: {names}", id="RC-fields-in-a-circle", hint="remove one of the references"
        ) from cycle
    numbers = {index: number for number, index in enumerate(sequence, start=1)}
    return tuple(_step(sketches, sketches.all[index], waits[index], numbers, numbers[index]) for index in sequence)


def _relies(sketch: StepSketch) -> tuple[tuple[str, str], ...]:
    """The objects that must still be as they were read when a request is sent."""
    fields = sketch.writes if isinstance(sketch.draft, Draft) else ("",)
    return tuple(
        prerequisite.remains
        for prerequisite in sketch.draft.prerequisites
        if prerequisite.remains is not None and prerequisite.field in fields
    )


def _step(sketches: Sketches, sketch: StepSketch, waits: Edges, numbers: Mapping[int, int], id: int) -> Step:
    return Step(
        id=id,
        address=sketch.draft.address,
        kind=sketch.draft.kind.name,
        verb=sketch.verb.name,
        method=sketch.verb.method,
        path=sketch.path,
        body=sketch.body,
        writes=sketch.writes,
        target=sketch.target,
        create_like=sketch.create_like,
        identity=sketch.identity,
        source=sketch.source,
        brings=sketch.brings,
        takes=sketch.takes,
        before=sketches.before(sketch),
        renames=sketch.renames,
        relies=_relies(sketch),
        needs=frozenset(numbers[index] for index in waits.needs),
        after=frozenset(numbers[index] for index in waits.after),
    )
