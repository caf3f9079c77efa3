"""When objects are deleted: rules about what refers to them, what is in them, and the siblings that are created instead. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from reconciler.address import Address
from reconciler.model.codec import ids_in
from reconciler.plan.containment import Key, containers
from reconciler.plan.decisions import Draft, Transfer
from reconciler.plan.steps.graph import Edge, Wait, needs
from reconciler.plan.steps.requests import Requests
from reconciler.resource import UNSET


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
    """Where siblings are created too, one of the deletes waits for all creates: the last sibling must not be deleted before new ones
    exist."""
    for creates, first, _ in _exchanges(requests):
        yield from needs(first, creates)


def other_deletes_after_it(requests: Requests) -> Iterator[Edge]:
    """The other deletes wait for that one, which is enough; where that makes a cycle, for the creates themselves."""
    for creates, first, others in _exchanges(requests):
        for index in others:
            yield Edge(index, first, Wait.NEEDS, otherwise=creates)


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
