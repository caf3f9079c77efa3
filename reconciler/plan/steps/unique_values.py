"""Values that must be unique among siblings: who has one now, who gets it, and in which order. Pure.

Where objects exchange their values in a circle, one of them gets a temporary value first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reconciler.address import Address
from reconciler.model.codec import is_chosen_name
from reconciler.plan.decisions import Draft, Removal
from reconciler.plan.derived import Level, level
from reconciler.plan.steps.edges import Edge, StepFacts, after, needs
from reconciler.plan.steps.requests import Sketches, StepSketch, body_of
from reconciler.text.names import canonical

Name = tuple[str, Address | None, str]

Writers = Mapping[tuple[Level, str], Sequence[int]]
"""The steps that write a unique value, by where it must be unique and the name of its field."""


def add_temporary_values(sketches: Sketches) -> None:
    """Add the steps that give an object an unused value, one for each circle of values."""
    for name, freeing in _freeing(sketches):
        for index in _first_of_cycles(freeing):
            sketches.temporary[index, name] = _add_temporary_value(sketches, index, name)


def _add_temporary_value(sketches: Sketches, index: int, name: str) -> int:
    sketch = sketches.all[index]
    value = f"{str(sketch.writes[name])[:90]}-aside"
    body = body_of(sketch.draft.kind, {name: value})
    return sketches.add(StepSketch(sketch.draft, sketch.verb, sketch.path, body, {name: value}, target=sketch.target))


def temporary_first(facts: StepFacts) -> Iterator[Edge]:
    """The step that writes the final value needs the one that writes a temporary value."""
    for (index, _), temporary in facts.sketches.temporary.items():
        yield from needs(index, (temporary,))


def freed_first(facts: StepFacts) -> Iterator[Edge]:
    """A step that writes a value needs the one that frees it."""
    sketches = facts.sketches
    for name, freeing in _freeing(sketches):
        for index, freed in freeing.items():
            yield from needs(index, (sketches.temporary.get((freed, name), freed),))


def settled_first(facts: StepFacts) -> Iterator[Edge]:
    """Each create waits for the values written before it: those that creates get by themselves must not interfere."""
    sketches = facts.sketches
    creates: dict[Level, list[int]] = defaultdict(list)
    for address, index in sketches.providers.items():
        if sketches.drafts[address].is_new:
            creates[level(sketches.drafts[address], now=False)].append(index)
    for (where, _), indices in _writers(sketches).items():
        by_create: dict[int, list[int]] = defaultdict(list)
        for index in indices:
            if _is_new(sketches, index):
                by_create[sketches.providers[sketches.all[index].draft.address]].append(index)
        written = [index for index in indices if not _is_new(sketches, index)]
        for create in sorted(set(creates.get(where, []))):
            yield from after(create, written)
            written = by_create.get(create) or (written if len(written) < 2 else [create])  # what waits for it waits for all of them


def names_given_up_first(facts: StepFacts) -> Iterator[Edge]:
    """A request that gives an object a name comes after the one that takes the name from a sibling, or deletes it.

    Most services accept equal names, so this is an order and not a requirement; a circle is left to the run (`apply.detour`).
    """
    sketches = facts.sketches
    writers: dict[Name, list[int]] = defaultdict(list)
    for index, sketch in enumerate(sketches.all):
        if isinstance(sketch.draft, Draft) and (name := _name_of(sketch.draft, sketch.writes)) is not None:
            writers[name].append(index)
    if not writers:
        return
    entries: list[Draft | Removal] = [*sketches.drafts.values(), *sketches.removals.values()]
    for entry in entries:
        name = _name_of(entry, entry.observed.values) if entry.observed is not None else None
        if name not in writers or name is None:
            continue
        if isinstance(entry, Removal):
            delete = sketches.deletes.get(entry.deleted_with or entry.address)
            giving = [] if delete is None else [delete]
        else:
            giving = [
                index for index in sketches.of.get(entry.address, ()) if _name_of(entry, sketches.all[index].writes) not in (None, name)
            ]
        for index in writers[name]:
            if sketches.all[index].draft.address != entry.address:
                yield from after(index, giving)


def _name_of(entry: Draft | Removal, values: Mapping[str, Any]) -> Name | None:
    """What a service may require to be unique: the kind, the fixed container, and the name that people choose; None without a name."""
    for field in entry.kind.keys:
        value = values.get(field.name)
        if is_chosen_name(field) and isinstance(value, str):
            return entry.kind.name, entry.address.container, canonical(value, caseless=True)
    return None


def _is_new(sketches: Sketches, index: int) -> bool:
    draft = sketches.all[index].draft
    return isinstance(draft, Draft) and draft.is_new


def _writers(sketches: Sketches) -> Writers:
    writers: dict[tuple[Level, str], list[int]] = defaultdict(list)
    for index, sketch in enumerate(sketches.all):
        for name in sketch.writes:
            if isinstance(sketch.draft, Draft) and sketch.draft.kind.fields[name].unique:
                writers[(level(sketch.draft, now=False), name)].append(index)
    return writers


def _freeing(sketches: Sketches) -> Iterator[tuple[str, dict[int, int]]]:
    """By list of siblings and unique field: the steps that write a value which a sibling has now, each with the step that frees it."""
    writers = _writers(sketches)
    if not writers:
        return
    siblings: dict[Level, list[Draft | Removal]] = defaultdict(list)
    everyone: list[Draft | Removal] = [*sketches.drafts.values(), *sketches.removals.values()]
    for entry in everyone:
        if entry.observed is not None:
            siblings[level(entry, now=True)].append(entry)
    temporary = frozenset(sketches.temporary.values())
    for (where, name), indices in writers.items():
        final = [index for index in indices if index not in temporary]
        yield name, _freed_by(sketches, siblings.get(where, ()), name, final)


def _freed_by(sketches: Sketches, siblings: Sequence[Draft | Removal], name: str, indices: Sequence[int]) -> dict[int, int]:
    holders = {repr(sibling.observed.values.get(name)): sibling for sibling in siblings if sibling.observed is not None}
    writer_of = {sketches.all[index].draft.address: index for index in indices}
    freeing: dict[int, int] = {}
    for index in indices:
        holder = holders.get(repr(sketches.all[index].writes[name]))
        if holder is None or holder.address == sketches.all[index].draft.address:
            continue
        if isinstance(holder, Removal):
            freed = sketches.deletes.get(holder.deleted_with or holder.address)
        else:
            freed = writer_of.get(holder.address)
        if freed is not None:
            freeing[index] = freed
    return freeing


def _first_of_cycles(follow: Mapping[int, int]) -> list[int]:
    """The first element, in the map's order, of each cycle in the map."""
    turn = {start: number for number, start in enumerate(follow)}
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
            firsts.append(min(cycle, key=turn.__getitem__))
    return firsts
