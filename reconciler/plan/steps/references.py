"""What refers to an object waits for it: rules about names, sources and copies. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.address import Address
from reconciler.model.codec import unresolved_addresses
from reconciler.plan.decisions import Draft
from reconciler.plan.steps.edges import Edge, StepFacts, after, needs
from reconciler.plan.steps.requests import Sketches, StepSketch


def referred_to_first(facts: StepFacts) -> Iterator[Edge]:
    """A request needs the creates of all objects that its path and its body name, and of its own object."""
    sketches = facts.sketches
    for index, sketch in enumerate(sketches.all):
        if isinstance(sketch.draft, Draft) and index != sketches.transfers.get(sketch.draft.address):
            named = _named(sketches, index, sketch, sketch.draft)
            yield from needs(index, (sketches.providers[address] for address in named if address in sketches.providers))


def _named(sketches: Sketches, index: int, sketch: StepSketch, draft: Draft) -> set[Address]:
    """The objects that must exist before a request."""
    named: set[Address] = {part for part in sketch.path if isinstance(part, Address)}
    named.update(
        unresolved_addresses(sketch.body),
        unresolved_addresses(sketch.writes),
        unresolved_addresses([draft.declared.values.get(name) for name in sketch.writes]),
    )
    seed = draft.kind.seed
    if seed is not None and sketch.verb.copies == seed.name:
        named.update(unresolved_addresses(draft.declared.values.get(seed.name)))
    if index != sketches.providers.get(draft.address):
        named.add(draft.address)
    return named


def first_gathers(facts: StepFacts) -> Iterator[Edge]:
    """The first object of a kind that gathers others is created before its siblings."""
    providers = facts.sketches.providers
    for address, index in providers.items():
        draft = facts.sketches.drafts[address]
        if draft.is_new:
            yield from needs(index, (providers[other] for other in draft.created_after if other in providers))


def derived_after_sources(facts: StepFacts) -> Iterator[Edge]:
    """A create from which a value is derived needs what sets its source, and the siblings that get the same value before it.

    A source that failed to change must not make the derived value permanently wrong.
    """
    sketches = facts.sketches
    for address, derivation in facts.derived.items():
        provider = sketches.providers.get(address)
        if provider is None:
            continue
        yield from needs(provider, (sketches.providers[other] for other in derivation.requires if other in sketches.providers))
        for other in derivation.requires:
            yield from needs(provider, sketches.writers(other, derivation.field.name))
        if derivation.shown and derivation.source is not None:
            yield from needs(provider, sketches.writers(derivation.source, derivation.derived.field))


def derived_after_deletes(facts: StepFacts) -> Iterator[Edge]:
    """A create needs the deletes that free its derived values."""
    sketches = facts.sketches
    for address, derivation in facts.derived.items():
        if address in sketches.providers:
            deletes = {sketches.deletes[other] for other in derivation.after if other in sketches.deletes}
            yield from needs(sketches.providers[address], sorted(deletes))


def copies_last(facts: StepFacts) -> Iterator[Edge]:
    """A copy waits until its source is as declared: its undeclared fields keep the values of its source."""
    sketches = facts.sketches
    by_id = {draft.id: address for address, draft in sketches.drafts.items() if draft.id is not None}
    for index, sketch in enumerate(sketches.all):
        if sketch.source is not None:
            source = sketch.source if isinstance(sketch.source, Address) else by_id.get(sketch.source)
            yield from after(index, sketches.of.get(source, ()) if source is not None else ())


def named_first(facts: StepFacts) -> Iterator[Edge]:
    """The natural key of a copy is written before anything refers to it: without a state, only the key identifies the copy and what refers
    to it."""
    sketches = facts.sketches
    naming: dict[int, list[int]] = {}
    for address, create in sketches.providers.items():
        draft = sketches.drafts[address]
        if draft.is_new and sketches.all[create].source is not None:
            keys = {field.name for field in draft.kind.keys if not field.container}
            naming[create] = [step for step in sketches.of.get(address, ()) if step != create and keys & sketches.all[step].writes.keys()]
    for index, sketch in enumerate(sketches.all) if naming else ():
        for create in sorted(facts.waits.needed(index) & naming.keys()):
            if sketch.draft.address != sketches.all[create].draft.address:
                yield from after(index, naming[create])
