"""Objects in their containers: rules about memberships, the order of siblings, moves, and what is sent for a container as a whole. Pure.

The premise: a request that puts an object somewhere assumes what the list contains at that moment. "Move b behind a" assumes that a is in
it; where a arrives by a request of its own, that one comes first. The moves of a list were computed one after the other
(`siblings.rows`), so they are sent one after the other. And an object cannot be moved into something that is still in it:

    now      a            wanted   b            b must leave a before a can be moved into b, or into anything in b
               b                     a

In: the requests of a plan. Out: edges between them; `rules` says which of them a plan could do without.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from reconciler.address import Address
from reconciler.plan.decisions import Draft
from reconciler.plan.siblings.moves import SiblingMove
from reconciler.plan.steps.graph import Edge, after, needs
from reconciler.plan.steps.requests import Requests
from reconciler.resource import UNSET, FieldRole


def leaves_before_joins(requests: Requests) -> Iterator[Edge]:
    """A join needs the leave of the same object."""
    for join, leave in requests.leave_before.items():
        yield from needs(join, (leave,))


def rows_in_sequence(requests: Requests) -> Iterator[Edge]:
    """The steps of a row run one after the other: what is added to it, then its moves, then the newcomers at its end."""
    # AFTER and not NEEDS: where one of them fails, the others still do most of the order, and the next run does the rest.
    for row in requests.rows:
        added = [step for address in row.appended if (step := requests.appended_by(address)) is not None]
        for earlier, later in pairwise(added):
            yield from after(later, (earlier,))
        previous = added
        for item in (*row.moves, *row.tail):
            step = requests.moves[item.item] if isinstance(item, SiblingMove) else requests.appended_by(item)
            if step is not None:
                yield from after(step, previous)
                previous = [step]


def anchors_first(requests: Requests) -> Iterator[Edge]:
    """A move beside a sibling needs what brings that one into the list."""
    for row in requests.rows:
        for move in row.moving():
            anchor = move.before if move.before is not None else move.after
            if anchor is not None:
                yield from needs(requests.moves[move.item], _steps_that_insert(requests, anchor))


def _steps_that_insert(requests: Requests, address: Address) -> Iterator[int]:
    """The steps after which an object is among its siblings, where it is not among them from the start."""
    for steps in (requests.providers, requests.transfers, requests.memberships):
        if address in steps:
            yield steps[address]
    # A move among siblings writes nothing; one that writes brings the object from another list.
    if address in requests.moves and requests.steps[requests.moves[address]].writes:
        yield requests.moves[address]


def containers_move_first(requests: Requests) -> Iterator[Edge]:
    """A move into an object waits until that has left the moved one, at any depth: nothing can be moved into itself."""
    for address, index in requests.moves.items():
        # The nearest object around its new place that moves itself: if nothing there moves, the object is not in what it moves into.
        parent = requests.drafts[address].declared.parent
        while parent is not None and parent not in requests.moves:
            parent = requests.drafts[parent].declared.parent if parent in requests.drafts else None
        if parent is not None and requests.steps[index].writes:
            yield from after(index, (requests.moves[parent],))


def one_way_last(requests: Requests) -> Iterator[Edge]:
    """What cannot be undone is sent after everything else for the object and what is in it."""
    temporary = frozenset(requests.temporary.values())
    last: dict[Address, list[int]] = defaultdict(list)
    for step, entry in requests:
        if isinstance(entry, Draft) and any(entry.kind.fields[name].one_way for name in step.writes):
            last[step.address].append(step.id)
    if not last:
        return
    for address, ids in requests.of.items():
        if address in requests.drafts:
            # A step with a temporary value is left out: the final value comes after it, and is among the others.
            others = [id for id in ids if id not in temporary]
            for outer in (address, *address.containers):
                for id in last.get(outer, ()):
                    yield from after(id, others)


def chosen_first(requests: Requests) -> Iterator[Edge]:
    """The first declared child is created first where no choice is declared: the service chooses the child that is created first."""
    among: dict[tuple[Address, str], list[Draft]] = defaultdict(list)
    for draft in requests.drafts.values():
        parent = _chooser(requests, draft)
        if parent is not None:
            among[parent.address, draft.kind.name].append(draft)
    for (address, name), children in among.items():
        parent = requests.drafts[address]
        choosing = [field for field in parent.kind.fields.values() if field.role is FieldRole.CHOICE and field.to == name]
        is_declared = any(parent.wants.get(field.name, UNSET) is not UNSET for field in choosing)
        if is_declared or any(child.observed is not None for child in children):
            continue
        creates = [requests.providers[child.address] for child in children if child.is_new and child.address in requests.providers]
        for index in creates[1:]:
            yield from after(index, creates[:1])


def _chooser(requests: Requests, draft: Draft) -> Draft | None:
    """What chooses among this one and its siblings."""
    addresses = (draft.declared.parent, draft.address.container)
    outer = [(requests.drafts[at].kind.name, requests.drafts[at]) for at in addresses if at is not None and at in requests.drafts]
    choosers = (requests.kinds.chooser(draft.kind.name, flag, outer) for flag in requests.kinds.flags(draft.kind.name))
    return next((chooser[0] for chooser in choosers if chooser is not None), None)
