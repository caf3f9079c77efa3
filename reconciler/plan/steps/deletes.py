"""When objects are deleted: rules about what refers to them, what is in them, and the siblings that are created instead. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from reconciler.address import Address
from reconciler.model.codec import ids_in
from reconciler.plan.containment import Key, containers
from reconciler.plan.decisions import Draft, Transfer
from reconciler.plan.steps.edges import Edge, StepFacts, Wait, needs
from reconciler.plan.steps.requests import Sketches
from reconciler.resource import UNSET


def deletes_last(facts: StepFacts) -> Iterator[Edge]:
    """A delete waits for what stops referring to it, and for the deletes in it."""
    sketches = facts.sketches
    if not sketches.deletes:
        return
    mentions = _mentions(sketches)
    inside: dict[Key, list[int]] = defaultdict(list)
    for address, index in sketches.deletes.items():
        removal = sketches.removals[address]
        for outer in containers(removal.kind, removal.observed) if removal.observed is not None else ():
            inside[outer].append(index)
    for address, index in sketches.deletes.items():
        removal = sketches.removals[address]
        yield from needs(index, mentions.get(removal.id, ()))
        yield from needs(index, inside.get((removal.kind.name, removal.id), ()))
        yield from needs(index, (sketches.deletes[other] for other in removal.deleted_after if other in sketches.deletes))
        if removal.replaces is not None and removal.replaces in sketches.providers:
            yield from needs(index, (sketches.providers[removal.replaces],))


def _mentions(sketches: Sketches) -> dict[str, set[int]]:
    """By id: the steps that stop referring to an object, or transfer something out of it."""
    mentions: dict[str, set[int]] = defaultdict(set)
    for index, sketch in enumerate(sketches.all):
        if not isinstance(sketch.draft, Draft):
            continue
        for difference in sketch.draft.sendable:
            if difference.field.name in sketch.writes:
                for text in ids_in(difference.before) if difference.before is not UNSET else ():
                    mentions[text].add(index)
        if isinstance(sketch.draft.purpose, Transfer) and sketch.verb.name == "transfer" and sketch.draft.purpose.left is not None:
            mentions[sketch.draft.purpose.left].add(index)
    return mentions


def creates_before_one_delete(facts: StepFacts) -> Iterator[Edge]:
    """Where siblings are created too, one of the deletes waits for all creates: the last sibling must not be deleted before new ones
    exist."""
    for exchange in _exchanges(facts):
        yield from needs(exchange.first, exchange.creates)


def other_deletes_after_it(facts: StepFacts) -> Iterator[Edge]:
    """The other deletes wait for that one, which is enough; where that makes a cycle, for the creates themselves."""
    for exchange in _exchanges(facts):
        for index in exchange.others:
            yield Edge(index, exchange.first, Wait.NEEDS, otherwise=exchange.creates)


@dataclass(frozen=True)
class _Exchange:
    """Siblings that are deleted while others are created. `first`: the delete that waits for all creates, before the `others`."""

    creates: frozenset[int]
    first: int
    others: tuple[int, ...]


def _exchanges(facts: StepFacts) -> Iterator[_Exchange]:
    """What is deleted so that a new sibling can derive its value is not among them: siblings are left."""
    sketches = facts.sketches
    if not sketches.deletes:
        return
    freeing = {address for derivation in facts.derived.values() for address in derivation.after}
    created: dict[tuple[str, Address | None], set[int]] = defaultdict(set)
    for address, provider in sketches.providers.items():
        if sketches.drafts[address].is_new:
            created[sketches.drafts[address].kind.name, address.container].add(provider)
    deleted: dict[tuple[str, Address | None], list[int]] = defaultdict(list)
    for address, index in sketches.deletes.items():
        if address not in freeing and (sketches.removals[address].kind.name, address.container) in created:
            deleted[sketches.removals[address].kind.name, address.container].append(index)
    for siblings, indices in deleted.items():
        competing = frozenset(indices)
        first = min(indices, key=lambda index: (not competing.isdisjoint(facts.waits.needed(index)), index))
        yield _Exchange(frozenset(created[siblings]), first, tuple(index for index in indices if index != first))
