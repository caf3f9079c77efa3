"""What refers to something waits for it, and a value that is unique among siblings is given up before it is given. Pure.

Rules about names, sources, copies and unique values.

The premise: the service refuses a request that gives an object a value which a sibling has at that moment. So whoever has it gives it up
first. Where objects exchange their values in a circle, nobody can be first, and one of them gets a temporary value before:

    path       now     wanted         sent
    site a     docs    api            1. a: docs-aside      2. b: docs      3. a: api
    site b     api     docs

In: the requests of a plan. Out: the steps with temporary values, and edges.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reconciler.address import Address
from reconciler.model import Step
from reconciler.model.codec import is_chosen_name, unresolved_addresses
from reconciler.plan.decisions import Draft, Removal
from reconciler.plan.derived import Namespace, namespace
from reconciler.plan.steps.graph import Edge, after, needs
from reconciler.plan.steps.requests import Requests
from reconciler.text.names import canonical

# -- References ----------------------------------------------------------------------------------------------------------------------


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


# -- Unique values -------------------------------------------------------------------------------------------------------------------

Name = tuple[str, Address | None, str]

Writers = Mapping[tuple[Namespace, str], Sequence[int]]
"""The steps that write a unique value, by where it must be unique and the name of its field."""


def add_temporary_values(requests: Requests) -> None:
    """Add the steps that give an object an unused value, one for each circle of values."""
    for name, freeing in _freeing(requests):
        for index in _first_of_cycles(freeing):
            # Short enough for the limit of such values, 100 characters, whatever the value was.
            value = f"{str(requests.steps[index].writes[name])[:90]}-aside"
            requests.temporary[index, name] = requests.add_like(index, {name: value})


def temporary_first(requests: Requests) -> Iterator[Edge]:
    """The step that writes the final value needs the one that writes a temporary value."""
    for (index, _), temporary in requests.temporary.items():
        yield from needs(index, (temporary,))


def freed_first(requests: Requests) -> Iterator[Edge]:
    """A step that writes a value needs the one that frees it."""
    for name, freeing in _freeing(requests):
        for index, freed in freeing.items():
            yield from needs(index, (requests.temporary.get((freed, name), freed),))


def settled_first(requests: Requests) -> Iterator[Edge]:
    """Each create waits for the values written before it: those that creates get by themselves must not interfere."""
    creates: dict[Namespace, list[int]] = defaultdict(list)
    for address, index in requests.providers.items():
        if requests.drafts[address].is_new:
            creates[namespace(requests.drafts[address], now=False)].append(index)
    for (where, _), indices in _writers(requests).items():
        by_create: dict[int, list[int]] = defaultdict(list)
        for index in indices:
            if _is_new(requests, index):
                by_create[requests.providers[requests.entries[index].address]].append(index)
        written = [index for index in indices if not _is_new(requests, index)]
        for create in sorted(set(creates.get(where, []))):
            yield from after(create, written)
            written = by_create.get(create) or (written if len(written) < 2 else [create])  # what waits for it waits for all of them


def names_given_up_first(requests: Requests) -> Iterator[Edge]:
    """A request that gives an object a name comes after the one that takes the name from a sibling, or deletes it.

    Most services accept equal names, so this is an order and not a requirement; a circle is left to the run (`apply.detour`).
    """
    writers: dict[Name, list[int]] = defaultdict(list)
    for step, entry in requests:
        if isinstance(entry, Draft) and (name := _name_of(entry, step.writes)) is not None:
            writers[name].append(step.id)
    if not writers:
        return
    entries: list[Draft | Removal] = [*requests.drafts.values(), *requests.removals.values()]
    for entry in entries:
        name = _name_of(entry, entry.observed.values) if entry.observed is not None else None
        if name not in writers or name is None:
            continue
        if isinstance(entry, Removal):
            delete = requests.deletes.get(entry.deleted_with or entry.address)
            giving = [] if delete is None else [delete]
        else:
            giving = [
                index for index in requests.of.get(entry.address, ()) if _name_of(entry, requests.steps[index].writes) not in (None, name)
            ]
        for index in writers[name]:
            if requests.entries[index].address != entry.address:
                yield from after(index, giving)


def _name_of(entry: Draft | Removal, values: Mapping[str, Any]) -> Name | None:
    """What a service may require to be unique: the kind, the fixed container, and the name that people choose; None without a name."""
    for field in entry.kind.keys:
        value = values.get(field.name)
        if is_chosen_name(field) and isinstance(value, str):
            return entry.kind.name, entry.address.container, canonical(value, caseless=True)
    return None


def _is_new(requests: Requests, index: int) -> bool:
    draft = requests.entries[index]
    return isinstance(draft, Draft) and draft.is_new


def _writers(requests: Requests) -> Writers:
    writers: dict[tuple[Namespace, str], list[int]] = defaultdict(list)
    for step, entry in requests:
        if isinstance(entry, Draft):
            for name in step.writes:
                if entry.kind.fields[name].unique:
                    writers[namespace(entry, now=False), name].append(step.id)
    return writers


def _freeing(requests: Requests) -> Iterator[tuple[str, dict[int, int]]]:
    """By list of siblings and unique field: the steps that write a value which a sibling has now, each with the step that frees it."""
    writers = _writers(requests)
    if not writers:
        return
    siblings: dict[Namespace, list[Draft | Removal]] = defaultdict(list)
    everyone: list[Draft | Removal] = [*requests.drafts.values(), *requests.removals.values()]
    for entry in everyone:
        if entry.observed is not None:
            siblings[namespace(entry, now=True)].append(entry)
    temporary = frozenset(requests.temporary.values())
    for (where, name), indices in writers.items():
        final = [index for index in indices if index not in temporary]
        yield name, _freed_by(requests, siblings.get(where, ()), name, final)


def _freed_by(requests: Requests, siblings: Sequence[Draft | Removal], name: str, indices: Sequence[int]) -> dict[int, int]:
    holders = {repr(sibling.observed.values.get(name)): sibling for sibling in siblings if sibling.observed is not None}
    writer_of = {requests.entries[index].address: index for index in indices}
    freeing: dict[int, int] = {}
    for index in indices:
        holder = holders.get(repr(requests.steps[index].writes[name]))
        if holder is None or holder.address == requests.entries[index].address:
            continue
        if isinstance(holder, Removal):
            freed = requests.deletes.get(holder.deleted_with or holder.address)
        else:
            freed = writer_of.get(holder.address)
        if freed is not None:
            freeing[index] = freed
    return freeing


def _first_of_cycles(follow: Mapping[int, int]) -> list[int]:
    """The first element, in the map's order, of each cycle in the map."""
    position = {start: number for number, start in enumerate(follow)}
    walk: dict[int, int] = {}  # the walk that reached each first
    firsts: list[int] = []
    for number, start in enumerate(follow):
        at = start
        while at in follow and at not in walk:
            walk[at] = number
            at = follow[at]
        if walk.get(at) == number and at in follow:
            cycle = [at]
            while follow[cycle[-1]] != at:
                cycle.append(follow[cycle[-1]])
            firsts.append(min(cycle, key=position.__getitem__))
    return firsts
