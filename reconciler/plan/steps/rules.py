"""What each step must wait for: all rules, in two tuples; and the steps in an order that could be run one by one. Pure.

In: what a plan decides. Out: its steps, numbered, with the steps that each of them waits for. Raises `ReconcilerError` where they wait for
each other, naming the steps of the cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from reconciler.address import Address
from reconciler.errors import ReconcilerError
from reconciler.model import Position, Step
from reconciler.plan.decisions import Draft, Removal
from reconciler.plan.derived import Derivation
from reconciler.plan.siblings.rows import SiblingRow
from reconciler.plan.steps import containers, values
from reconciler.plan.steps.graph import Acyclic, Cycle, Edge, Edges, ordered
from reconciler.plan.steps.requests import Requests
from reconciler.plan.steps.values import add_temporary_values
from reconciler.resource import Kinds

Rule = Callable[[Requests], Iterator[Edge]]
"""What it yields for the requests of a plan; it may read the edges of the rules before it."""

REQUIRED: Final[tuple[Rule, ...]] = (
    values.referred_to_first,  # what a request names exists
    containers.leaves_before_joins,  # an object is in one container at a time
    containers.rows_in_sequence,  # the moves of a row assume the order that those before them leave
    containers.anchors_first,  # what an object is put beside is in the same list
    containers.containers_move_first,  # nothing is moved into itself
    containers.one_way_last,  # what cannot be undone is sent last
    values.first_gathers,  # what gathers its siblings' contents is created before them
    values.temporary_first,  # an object gets its temporary value before its final one
    values.freed_first,  # a value is free before it is used again
    containers.deletes_last,  # nothing refers to what is deleted, and nothing is left in it
    values.derived_after_sources,  # the source of a derived value is set first
    containers.creates_before_one_delete,  # the last sibling is not deleted before new ones exist
    values.prerequisites_first,  # what takes away the last way in needs what gives the new one
    containers.ready_to_transfer,  # nothing shows what is transferred, and the address is free
    containers.leave_first,  # what stays leaves what is transferred
)
"""Without them the plan would be wrong: a circle of their edges refuses it.

The order matters for two of them: `creates_before_one_delete` reads what the rules above it have yielded; `leave_first` reads all edges and
may add a step, so it is the last.
"""

PREFERRED: Final[tuple[Rule, ...]] = (
    containers.other_deletes_after_it,  # new siblings exist before the old ones are deleted
    values.derived_after_deletes,  # a derived value is freed before it is derived again
    values.settled_first,  # no create takes a value that another request is about to write
    values.copies_last,  # what is copied is as declared
    containers.chosen_first,  # the service chooses the child that is declared first
    values.named_first,  # a copy has its natural key before anything refers to it
    values.names_given_up_first,  # a service that requires different names accepts each request
    containers.chosen_complete,  # readers find a new default when it is complete
)
"""Better than none: each of their edges is added where it makes no circle with all before it, so the more important ones come first."""


def connect(requests: Requests) -> dict[int, Edges]:
    """What each step waits for, by its id."""
    for rule in REQUIRED:
        for edge in rule(requests):
            requests.waits.add(edge)
    # An order that agrees with most of the edges to come: a created object is completed at once.
    required = {step.id: requests.waits.of(step.id).all for step in requests.steps}
    acyclic = Acyclic(required, {step.id: (requests.providers.get(step.address, step.id), step.id) for step in requests.steps})
    for rule in PREFERRED:
        for edge in rule(requests):
            if acyclic.add(edge.step, edge.on):
                requests.waits.add(edge)
                continue
            for on in edge.otherwise:
                if acyclic.add(edge.step, on):
                    requests.waits.add(edge._replace(on=on))
    return {index: requests.waits.of(index) for index in range(len(requests.steps))}


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
