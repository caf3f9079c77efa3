"""Objects in their containers: rules about memberships, the order of siblings, moves, transfers and deletes. Pure.

The premise: a request that puts an object somewhere assumes what the list contains at that moment. "Move b behind a" assumes that a is in
the list; where a arrives by a request of its own, that one comes first. The moves of a list were computed one after the other
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
from reconciler.model.codec import ids_in, unresolved_addresses
from reconciler.plan.containment import Key, containers
from reconciler.plan.decisions import Draft, Transfer
from reconciler.plan.siblings.moves import SiblingMove
from reconciler.plan.steps.graph import Edge, Waits, after, needs
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


def chosen_complete(requests: Requests) -> Iterator[Edge]:
    """A new child is complete, with what it shows, before it is chosen instead of another one: until then, readers find that."""
    for step, entry in requests:
        for field in entry.kind.fields.values():
            chosen = step.writes.get(field.name) if field.role is FieldRole.CHOICE else None
            if isinstance(chosen, Address) and chosen in requests.providers and not (isinstance(entry, Draft) and entry.is_new):
                named = unresolved_addresses(list(requests.drafts[chosen].declared.values.values()))
                shown = [at for at in named if at in requests.providers and at != step.address]
                yield from after(step.id, [id for at in (chosen, *shown) for id in requests.of.get(at, ()) if id != step.id])


def _chooser(requests: Requests, draft: Draft) -> Draft | None:
    """What chooses among this one and its siblings."""
    addresses = (draft.declared.parent, draft.address.container)
    outer = [(requests.drafts[at].kind.name, requests.drafts[at]) for at in addresses if at is not None and at in requests.drafts]
    choosers = (requests.kinds.chooser(draft.kind.name, flag, outer) for flag in requests.kinds.flags(draft.kind.name))
    return next((chooser[0] for chooser in choosers if chooser is not None), None)


# -- Transfers -----------------------------------------------------------------------------------------------------------------------


def ready_to_transfer(requests: Requests) -> Iterator[Edge]:
    """A transfer needs the deletes, transfers and updates of what shows its object, and the transfer that frees its address."""
    for address, transfer in requests.transfers.items():
        draft = requests.drafts[address]
        for other in _behind(draft):
            removal = requests.removals.get(other)
            while removal is not None and removal.deleted_with is not None:
                removal = requests.removals.get(removal.deleted_with)
            deleted = requests.deletes.get(removal.address) if removal is not None else None
            yield from needs(transfer, (step for step in (deleted, requests.transfers.get(other)) if step is not None))
            shower = requests.drafts.get(other)
            if shower is not None and shower.kind.transferable is None:
                # The fields by which it shows another object, and not those that say where it is.
                showing = {name for name, field in shower.kind.fields.items() if field.refers is not None and not field.container}
                updates = (step for step in requests.of.get(other, ()) if showing & requests.steps[step].writes.keys())
                yield from needs(transfer, updates)
        if draft.after_transfer in requests.transfers:
            yield from needs(transfer, (requests.transfers[draft.after_transfer],))


def _behind(draft: Draft) -> tuple[Address, ...]:
    """What must leave an object, or stop showing it, before its transfer."""
    return draft.purpose.waits_for if isinstance(draft.purpose, Transfer) else ()


def leave_first(requests: Requests) -> Iterator[Edge]:
    """A transfer needs the moves out of its object; what leaves by a transfer of its own needs no move.

    Adds a move to the top level where a move waits for the transfer: by the rules before this one, or by an edge that it has yielded.
    """
    to_the_top: dict[Address, int] = {}
    for address, transfer in requests.transfers.items():
        # Those that wait for the transfer, and those that do not; edges from the transfer change nothing.
        waiting, others = {transfer}, set[int]()
        for leaving in (other for other in _behind(requests.drafts[address]) if other not in requests.transfers):
            move = requests.moves.get(leaving, requests.memberships.get(leaving))
            if move is None:
                continue
            if leaving not in to_the_top and _waits(requests.waits, move, waiting, others):
                inside = requests.drafts[leaving].kind.inside
                assert inside is not None
                to_the_top[leaving] = requests.add_like(move, {inside.name: None})
                yield from needs(move, (to_the_top[leaving],))
            yield from needs(transfer, (to_the_top.get(leaving, move),))


def _waits(waits: Waits, step: int, waiting: set[int], others: set[int]) -> bool:
    """Whether a step waits for one of `waiting`, directly or indirectly. Both sets grow, so that each is asked once."""
    seen, ahead, result = {step}, [step], step in waiting
    while ahead and not result:
        new = waits.of(ahead.pop()).all - seen - others
        result = not waiting.isdisjoint(new)
        seen |= new
        ahead += new
    if result:
        waiting.add(step)
    else:
        others |= seen
    return result


# -- Deletes -------------------------------------------------------------------------------------------------------------------------


def deletes_last(requests: Requests) -> Iterator[Edge]:
    """A delete waits for what stops referring to it, and for the deletes in it."""
    if not requests.deletes:
        return
    mentions = _mentions(requests)
    inside: dict[Key, list[int]] = defaultdict(list)
    for address, index in requests.deletes.items():
        removal = requests.removals[address]
        if removal.observed is not None:
            for outer in containers(removal.kind, removal.observed):
                inside[outer].append(index)
    for address, index in requests.deletes.items():
        removal = requests.removals[address]
        yield from needs(index, mentions.get(removal.id, ()))
        yield from needs(index, inside.get((removal.kind.name, removal.id), ()))
        yield from needs(index, (requests.deletes[other] for other in removal.deleted_after if other in requests.deletes))
        if removal.replaces is not None and removal.replaces in requests.providers:
            yield from needs(index, (requests.providers[removal.replaces],))


def _mentions(requests: Requests) -> dict[str, set[int]]:
    """By id: the steps that stop referring to an object, or transfer something out of it."""
    mentions: dict[str, set[int]] = defaultdict(set)
    for step, entry in requests:
        if not isinstance(entry, Draft):
            continue
        for difference in entry.sendable:
            if difference.field.name in step.writes and difference.before is not UNSET:
                for id in ids_in(difference.before):
                    mentions[id].add(step.id)
        if isinstance(entry.purpose, Transfer) and step.verb == "transfer" and entry.purpose.left is not None:
            mentions[entry.purpose.left].add(step.id)
    return mentions


def creates_before_one_delete(requests: Requests) -> Iterator[Edge]:
    """Where siblings are created too, one of the deletes waits for all creates that do not wait for it: the last sibling must not be
    deleted before new ones exist."""
    for creates, first, _ in _exchanges(requests):
        # A create may need what this delete frees, such as a path; one of the others is enough.
        yield from needs(first, creates - requests.waits.needing(first, creates) or creates)


def other_deletes_after_it(requests: Requests) -> Iterator[Edge]:
    """The other deletes wait for that one, which is enough; where that makes a cycle, for the creates themselves."""
    for creates, first, others in _exchanges(requests):
        for index in others:
            yield Edge(index, first, "needs", otherwise=creates)


def _exchanges(requests: Requests) -> Iterator[tuple[frozenset[int], int, list[int]]]:
    """Siblings that are deleted while others are created: the creates, the delete that waits for all of them, the other deletes.

    What is deleted so that a new sibling can derive its value is not among them: siblings are left.
    """
    if not requests.deletes:
        return
    freeing = {address for derivation in requests.derived.values() for address in derivation.after}
    created: dict[tuple[str, Address | None], set[int]] = defaultdict(set)
    for address, provider in requests.providers.items():
        if requests.drafts[address].is_new:
            created[requests.drafts[address].kind.name, address.container].add(provider)
    deleted: dict[tuple[str, Address | None], list[int]] = defaultdict(list)
    for address, index in requests.deletes.items():
        if address not in freeing and (requests.removals[address].kind.name, address.container) in created:
            deleted[requests.removals[address].kind.name, address.container].append(index)
    for siblings, indices in deleted.items():
        competing = frozenset(indices)
        # Not one that needs another of these deletes, which would then wait for all creates as well.
        first = min(indices, key=lambda index: (not competing.isdisjoint(requests.waits.needed(index)), index))
        yield frozenset(created[siblings]), first, [index for index in indices if index != first]
