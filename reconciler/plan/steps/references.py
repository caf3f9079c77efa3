"""What refers to an object waits for it: rules about names, sources and copies. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.address import Address
from reconciler.model import Step
from reconciler.model.codec import unresolved_addresses
from reconciler.plan.decisions import Draft, Removal
from reconciler.plan.steps.graph import Edge, after, needs
from reconciler.plan.steps.requests import Requests


def referred_to_first(requests: Requests) -> Iterator[Edge]:
    """A request needs the creates of all objects that its path and its body name, and of its own object."""
    for step, entry in requests:
        if isinstance(entry, Draft) and step.id != requests.transfers.get(step.address):
            named = _named(requests, step, entry)
            yield from needs(step.id, (requests.providers[address] for address in named if address in requests.providers))


def _named(requests: Requests, step: Step, draft: Draft) -> set[Address]:
    """The objects that must exist before a request."""
    named: set[Address] = {part for part in step.path if isinstance(part, Address)}
    named.update(
        unresolved_addresses(step.body),
        unresolved_addresses(step.writes),
        unresolved_addresses([draft.declared.values.get(name) for name in step.writes]),
    )
    seed = draft.kind.seed
    if seed is not None and step.verb == "create" and draft.kind.api["create"].copies == seed.name:
        named.update(unresolved_addresses(draft.declared.values.get(seed.name)))
    if step.id != requests.providers.get(draft.address):
        named.add(draft.address)
    return named


def first_gathers(requests: Requests) -> Iterator[Edge]:
    """The first object of a kind that gathers others is created before its siblings."""
    providers = requests.providers
    for address, index in providers.items():
        draft = requests.drafts[address]
        if draft.is_new:
            yield from needs(index, (providers[other] for other in draft.created_after if other in providers))


def derived_after_sources(requests: Requests) -> Iterator[Edge]:
    """A create from which a value is derived needs what sets its source, and the siblings that get the same value before it.

    A source that failed to change must not make the derived value permanently wrong.
    """
    for address, derivation in requests.derived.items():
        provider = requests.providers.get(address)
        if provider is None:
            continue
        yield from needs(provider, (requests.providers[other] for other in derivation.requires if other in requests.providers))
        for other in derivation.requires:
            yield from needs(provider, requests.writers(other, derivation.field.name))
        if derivation.shown and derivation.source is not None:
            yield from needs(provider, requests.writers(derivation.source, derivation.derived.field))


def derived_after_deletes(requests: Requests) -> Iterator[Edge]:
    """A create needs the deletes that free its derived values."""
    for address, derivation in requests.derived.items():
        if address in requests.providers:
            deletes = {requests.deletes[other] for other in derivation.after if other in requests.deletes}
            yield from needs(requests.providers[address], sorted(deletes))


def copies_last(requests: Requests) -> Iterator[Edge]:
    """A copy waits until its source is as declared: its undeclared fields keep the values of its source."""
    by_id: dict[str | None, Address] = {draft.id: address for address, draft in requests.drafts.items() if draft.id is not None}
    for step in requests.steps:
        source = step.source if isinstance(step.source, Address) else by_id.get(step.source)
        if source is not None:
            yield from after(step.id, requests.of.get(source, ()))


def named_first(requests: Requests) -> Iterator[Edge]:
    """The natural key of a copy is written before anything refers to it: without a state, only the key identifies the copy and what refers
    to it."""
    naming: dict[int, list[int]] = {}
    for address, create in requests.providers.items():
        draft = requests.drafts[address]
        if draft.is_new and requests.steps[create].source is not None:
            keys = {field.name for field in draft.kind.keys if not field.container}
            naming[create] = [step for step in requests.of.get(address, ()) if step != create and keys & requests.steps[step].writes.keys()]
    if not naming:
        return
    for step in requests.steps:
        for create in sorted(requests.waits.needed(step.id) & naming.keys()):
            if step.address != requests.steps[create].address:
                yield from after(step.id, naming[create])


# -- prerequisites -----------------------------------------------------------------------------------------------------------------


def prerequisites_first(requests: Requests) -> Iterator[Edge]:
    """The request that takes away the last admin, or that requires a provider, needs the requests that give the new one."""
    entries: list[Draft | Removal] = [*requests.drafts.values(), *requests.removals.values()]
    for entry in entries:
        for prerequisite in entry.prerequisites:
            if prerequisite.address is None:
                continue
            giving = _writing(requests, prerequisite.address, prerequisite.writes)
            deletes = isinstance(entry, Removal)
            taking = [requests.deletes[entry.address]] if deletes else _writing(requests, entry.address, prerequisite.field)
            for step in taking:
                yield from needs(step, giving)


def _writing(requests: Requests, address: Address, field: str) -> list[int]:
    """The requests of an address that write a field, or all of them."""
    return requests.writers(address, field) if field else list(requests.of.get(address, ()))
