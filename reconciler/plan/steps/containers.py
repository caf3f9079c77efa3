"""Objects in their containers: rules about memberships, the order of siblings, moves, and what is sent for a container as a whole. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from reconciler.address import Address
from reconciler.plan.decisions import Draft
from reconciler.plan.siblings.moves import SiblingMove
from reconciler.plan.steps.edges import Edge, StepFacts, after, needs
from reconciler.plan.steps.requests import Sketches
from reconciler.resource import UNSET, Field, FieldRole, Kind


def leaves_before_joins(facts: StepFacts) -> Iterator[Edge]:
    """A join needs the leave of the same object."""
    for join, leave in facts.sketches.leave_before.items():
        yield from needs(join, (leave,))


def rows_in_sequence(facts: StepFacts) -> Iterator[Edge]:
    """The steps of a row run one after the other: what is added to it, then its moves, then the newcomers at its end."""
    sketches = facts.sketches
    for row in sketches.rows:
        added = [step for address in row.appended if (step := sketches.appended_by(address)) is not None]
        for earlier, later in pairwise(added):
            yield from after(later, (earlier,))
        previous = added
        for item in (*row.moves, *row.tail):
            step = sketches.moves[item.item] if isinstance(item, SiblingMove) else sketches.appended_by(item)
            if step is not None:
                yield from after(step, previous)
                previous = [step]


def anchors_first(facts: StepFacts) -> Iterator[Edge]:
    """A move beside a sibling needs what brings that one into the list."""
    sketches = facts.sketches
    for row in sketches.rows:
        for move in row.moving():
            anchor = move.before if move.before is not None else move.after
            if anchor is not None:
                yield from needs(sketches.moves[move.item], _there(sketches, anchor))


def _there(sketches: Sketches, address: Address) -> Iterator[int]:
    """The steps after which an object is among its siblings, where it is not among them from the start."""
    for steps in (sketches.providers, sketches.transfers, sketches.memberships):
        if address in steps:
            yield steps[address]
    if address in sketches.moves and sketches.all[sketches.moves[address]].writes:
        yield sketches.moves[address]


def containers_move_first(facts: StepFacts) -> Iterator[Edge]:
    """A move into an object waits until that has left the moved one, at any depth: nothing can be moved into itself."""
    sketches = facts.sketches
    for address, index in sketches.moves.items():
        parent = sketches.drafts[address].declared.parent
        while parent is not None and parent not in sketches.moves:
            parent = sketches.drafts[parent].declared.parent if parent in sketches.drafts else None
        if parent is not None and sketches.all[index].writes:
            yield from after(index, (sketches.moves[parent],))


def one_way_last(facts: StepFacts) -> Iterator[Edge]:
    """What cannot be undone is sent after everything else for the object and what is in it."""
    sketches = facts.sketches
    temporary = frozenset(sketches.temporary.values())
    last: dict[Address, list[int]] = defaultdict(list)
    for index, sketch in enumerate(sketches.all):
        if isinstance(sketch.draft, Draft) and any(sketch.draft.kind.fields[name].one_way for name in sketch.writes):
            last[sketch.draft.address].append(index)
    for address, steps in sketches.of.items() if last else ():
        for outer in (address, *address.containers) if address in sketches.drafts else ():
            for index in last.get(outer, ()):
                yield from after(index, (step for step in steps if step not in temporary))  # the final value comes after these


def chosen_first(facts: StepFacts) -> Iterator[Edge]:
    """The first declared child is created first where no choice is declared: the service chooses the child that is created first."""
    sketches = facts.sketches
    among: dict[tuple[Address, str], list[Draft]] = defaultdict(list)
    for draft in sketches.drafts.values():
        parent = _chooser(sketches, draft)
        if parent is not None:
            among[parent.address, draft.kind.name].append(draft)
    for (address, name), children in among.items():
        parent = sketches.drafts[address]
        is_declared = any(parent.wants.get(field.name, UNSET) is not UNSET for field in _choices(parent.kind, name))
        if is_declared or any(child.observed is not None for child in children):
            continue
        creates = [sketches.providers[child.address] for child in children if child.is_new and child.address in sketches.providers]
        for index in creates[1:]:
            yield from after(index, creates[:1])


def _chooser(sketches: Sketches, draft: Draft) -> Draft | None:
    """What chooses among this one and its siblings."""
    addresses = (draft.declared.parent, draft.address.container)
    outer = [(sketches.drafts[at].kind.name, sketches.drafts[at]) for at in addresses if at is not None and at in sketches.drafts]
    choosers = (sketches.kinds.chooser(draft.kind.name, flag, outer) for flag in sketches.kinds.flags(draft.kind.name))
    return next((chooser[0] for chooser in choosers if chooser is not None), None)


def _choices(kind: Kind, of: str) -> list[Field]:
    return [field for field in kind.fields.values() if field.role is FieldRole.CHOICE and field.to == of]
