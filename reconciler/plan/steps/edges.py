"""What each step must wait for. Pure.

In: the sketches of a plan. Out: nothing; the edges are added to them. An edge belongs to the step that carries a reference, which breaks
the cycles of the service: a create comes first, the field that refers back is a later step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from reconciler.address import Address
from reconciler.model import Observed
from reconciler.model.codec import ids_in, unresolved_addresses
from reconciler.plan.decisions import Draft, Removal, Transfer
from reconciler.plan.derived import Derivation, Level, level
from reconciler.plan.steps.graph import Acyclic, Cycle
from reconciler.plan.steps.requests import Sketches, StepSketch, body_of
from reconciler.plan.steps.transfers import before_transfer, leave_first
from reconciler.resource import UNSET, Field, FieldRole, Kind


def connect(sketches: Sketches, derived: Mapping[Address, Derivation]) -> None:
    """Add every edge. `derived`: what created objects get by themselves.

    First those without which the plan would be wrong: a circle of them refuses the plan. Then those
    that are better than none, each where it makes no circle with all before it: the more important ones come first.
    """
    for index, sketch in enumerate(sketches.all):
        if isinstance(sketch.draft, Draft):
            _needs(sketches, index, sketch, sketch.draft)  # what a request names exists
    _containers_move_first(sketches)  # nothing is moved into itself
    _one_way_last(sketches)  # what cannot be undone is sent last
    _first_gathers(sketches)  # what gathers its siblings' contents is created before them
    _unique_values(sketches)  # a value is free before it is used again
    _deletes_last(sketches)  # nothing refers to what is deleted, and nothing is left in it
    others = _creates_before_deletes(sketches, {address for derivation in derived.values() for address in derivation.after})
    _derived_after(sketches, derived)  # the source of a derived value is set first
    leave_first(sketches)  # what stays leaves what is transferred
    try:
        waits = Acyclic(*_graph(sketches))
    except Cycle:
        return  # the plan is refused for that
    _follow_leaders(sketches, others, waits)  # new siblings exist before the old ones are deleted
    _derived_after_deletes(sketches, derived, waits)  # a derived value is freed before it is derived again
    _settle_values(sketches, waits)  # no create takes a value that another request is about to write
    _copies_last(sketches, waits)  # what is copied is as declared
    _chosen_first(sketches, waits)  # the service chooses the child that is declared first
    _named_first(sketches, waits)  # a copy has its natural key before anything refers to it


def _graph(sketches: Sketches) -> tuple[dict[int, set[int]], dict[int, tuple[int, int]]]:
    """What each sketch waits for so far, in an order that agrees with most later edges: a created object is completed at once."""
    waits = {index: sketch.needs | sketch.after for index, sketch in enumerate(sketches.all)}
    return waits, {index: (sketches.makers.get(sketch.draft.address, index), index) for index, sketch in enumerate(sketches.all)}


def _needs(sketches: Sketches, index: int, sketch: StepSketch, draft: Draft) -> None:
    """A request needs the creates of all objects that its path and its body name, and of its own object."""
    needed: set[Address] = {part for part in sketch.path if isinstance(part, Address)}
    needed.update(
        unresolved_addresses(sketch.body),
        unresolved_addresses(sketch.writes),
        unresolved_addresses([draft.declared.values.get(name) for name in sketch.writes]),
    )
    seed = draft.kind.seed
    if seed is not None and sketch.verb.copies == seed.name:
        needed |= set(unresolved_addresses(draft.declared.values.get(seed.name)))
    if index not in (sketches.makers.get(draft.address), sketches.transfers.get(draft.address)):
        needed.add(draft.address)
    if index == sketches.transfers.get(draft.address):
        sketch.needs |= set(before_transfer(sketches, draft))
        return
    sketch.needs |= {sketches.makers[address] for address in needed if address in sketches.makers and sketches.makers[address] != index}


def _containers_move_first(sketches: Sketches) -> None:
    """A move into an object waits until that has left the moved one, at any depth: nothing can be moved into itself."""
    for address, index in sketches.movers.items():
        parent = sketches.drafts[address].declared.parent
        while parent is not None and parent not in sketches.movers:
            parent = sketches.drafts[parent].declared.parent if parent in sketches.drafts else None
        if parent is not None and sketches.all[index].writes:
            sketches.all[index].after.add(sketches.movers[parent])


def _one_way_last(sketches: Sketches) -> None:
    last: dict[Address, list[int]] = defaultdict(list)
    for index, sketch in enumerate(sketches.all):
        if isinstance(sketch.draft, Draft) and any(sketch.draft.kind.fields[name].one_way for name in sketch.writes):
            last[sketch.draft.address].append(index)
    for address, steps in sketches.of.items() if last else ():
        for outer in (address, *address.containers) if address in sketches.drafts else ():
            for index in last.get(outer, ()):
                sketches.all[index].after |= set(steps) - {index}


def _first_gathers(sketches: Sketches) -> None:
    """The first object of a kind that gathers others is created before its siblings."""
    for address, index in sketches.makers.items():
        draft = sketches.drafts[address]
        if draft.is_new:
            sketches.all[index].needs |= {sketches.makers[other] for other in draft.behind if sketches.makers.get(other, index) != index}


def _unique_values(sketches: Sketches) -> None:
    """Free a value before another takes it."""
    writers = _unique_writers(sketches)
    if not writers:
        return
    holders: dict[Level, list[Draft | Removal]] = defaultdict(list)
    everyone: list[Draft | Removal] = [*sketches.drafts.values(), *sketches.removals.values()]
    for holder in everyone:
        if holder.observed is not None:
            holders[level(holder, now=True)].append(holder)
    for (where, name), indices in writers.items():
        _free_first(sketches, holders.get(where, []), name, indices)


def _unique_writers(sketches: Sketches) -> dict[tuple[Level, str], list[int]]:
    """The steps that write a unique value, by where it must be unique."""
    writers: dict[tuple[Level, str], list[int]] = defaultdict(list)
    for index, sketch in enumerate(sketches.all):
        for name in sketch.writes:
            if isinstance(sketch.draft, Draft) and sketch.draft.kind.fields[name].unique:
                writers[(level(sketch.draft, now=False), name)].append(index)
    return writers


def _settle_values(sketches: Sketches, waits: Acyclic) -> None:
    """Prevent values that creates get by themselves from interfering: each waits for the values written before it, where that makes no
    cycle."""
    creates: dict[Level, list[int]] = defaultdict(list)
    for address, index in sketches.makers.items():
        if sketches.drafts[address].is_new:
            creates[level(sketches.drafts[address], now=False)].append(index)
    for (where, _), indices in _unique_writers(sketches).items():
        by_maker: dict[int, list[int]] = defaultdict(list)
        for index in indices:
            if _is_born(sketches, index):
                by_maker[sketches.makers[sketches.all[index].draft.address]].append(index)
        written = [index for index in indices if not _is_born(sketches, index)]
        for maker in sorted(set(creates.get(where, []))):
            sketches.all[maker].after |= {index for index in written if waits.add(maker, index)}
            written = by_maker.get(maker) or (written if len(written) < 2 else [maker])  # what waits for it waits for all of them


def _copies_last(sketches: Sketches, waits: Acyclic) -> None:
    """A copy waits until its source is as declared, where that makes no cycle: its undeclared fields keep the values of its source."""
    by_id = {draft.id: address for address, draft in sketches.drafts.items() if draft.id is not None}
    for index, sketch in enumerate(sketches.all):
        if sketch.source is None:
            continue
        source = sketch.source if isinstance(sketch.source, Address) else by_id.get(sketch.source)
        if source is not None:
            sketch.after |= {step for step in sketches.of.get(source, ()) if waits.add(index, step)}


def _chosen_first(sketches: Sketches, waits: Acyclic) -> None:
    """Create the first declared child first where no choice is declared: the service chooses the child that is created first."""
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
        creates = [sketches.makers[child.address] for child in children if child.is_new and child.address in sketches.makers]
        for index in creates[1:]:
            if waits.add(index, creates[0]):
                sketches.all[index].after.add(creates[0])


def _named_first(sketches: Sketches, waits: Acyclic) -> None:
    """Write the natural key of a copy before anything refers to it, where that makes no cycle: without a state, only the key identifies the
    copy and what refers to it."""
    naming: dict[int, list[int]] = {}
    for address, maker in sketches.makers.items():
        draft = sketches.drafts[address]
        if draft.is_new and sketches.all[maker].source is not None:
            keys = {field.name for field in draft.kind.keys if not field.container}
            naming[maker] = [step for step in sketches.of.get(address, ()) if step != maker and keys & sketches.all[step].writes.keys()]
    for index, sketch in enumerate(sketches.all):
        for maker in sketch.needs & naming.keys():
            if sketch.draft.address != sketches.all[maker].draft.address:
                sketch.after |= {step for step in naming[maker] if waits.add(index, step)}


def _chooser(sketches: Sketches, draft: Draft) -> Draft | None:
    """What chooses among this one and its siblings."""
    addresses = (draft.declared.parent, draft.address.container)
    outer = [(sketches.drafts[at].kind.name, sketches.drafts[at]) for at in addresses if at is not None and at in sketches.drafts]
    choosers = (sketches.kinds.chooser(draft.kind.name, flag, outer) for flag in sketches.kinds.flags(draft.kind.name))
    return next((chooser[0] for chooser in choosers if chooser is not None), None)


def _choices(kind: Kind, of: str) -> list[Field]:
    return [field for field in kind.fields.values() if field.role is FieldRole.CHOICE and field.to == of]


def _is_born(sketches: Sketches, index: int) -> bool:
    draft = sketches.all[index].draft
    return isinstance(draft, Draft) and draft.is_new


def _free_first(sketches: Sketches, everyone: Sequence[Draft | Removal], name: str, indices: Sequence[int]) -> None:
    holders: dict[str, Draft | Removal] = {}
    for other in everyone:
        if other.observed is not None:
            holders[repr(other.observed.values.get(name))] = other
    freeing: dict[int, int] = {}
    by_address = {sketches.all[index].draft.address: index for index in indices}
    for index in indices:
        holder = holders.get(repr(sketches.all[index].writes[name]))
        if holder is None or holder.address == sketches.all[index].draft.address:
            continue
        if isinstance(holder, Removal):
            freed = sketches.deletes.get(holder.covered_by or holder.address)
        else:
            freed = by_address.get(holder.address)
        if freed is not None:
            freeing[index] = freed
    aside = {index: _step_aside(sketches, index, name) for index in _rings(freeing)}
    for index, freed in freeing.items():
        sketches.all[index].needs.add(aside.get(freed, freed))


def _step_aside(sketches: Sketches, index: int, name: str) -> int:
    """Give the object an unused value, which breaks a cycle of values; returns the number of that sketch."""
    sketch = sketches.all[index]
    assert isinstance(sketch.draft, Draft)
    draft = sketch.draft
    aside = f"{str(sketch.writes[name])[:90]}-aside"
    body = body_of(draft.kind, {name: aside})
    new = sketches.add(StepSketch(draft, sketch.verb, sketch.path, body, {name: aside}, target=sketch.target))
    sketch.needs.add(new)
    return new


def _derived_after(sketches: Sketches, derived: Mapping[Address, Derivation]) -> None:
    """A create from which a value is derived needs what sets its source, and the siblings that get the same value before it.

    A source that failed to change must not make the derived value permanently wrong.
    """
    for address, derivation in derived.items():
        maker = sketches.makers.get(address)
        if maker is None:
            continue
        needs = {sketches.makers[other] for other in derivation.behind if other in sketches.makers}
        needs |= {
            index
            for other in derivation.behind
            for index in sketches.of.get(other, ())
            if derivation.field.name in sketches.all[index].writes
        }
        if derivation.shown and derivation.source is not None:
            needs |= {index for index in sketches.of.get(derivation.source, ()) if derivation.derived.field in sketches.all[index].writes}
        sketches.all[maker].needs |= needs - {maker}


def _derived_after_deletes(sketches: Sketches, derived: Mapping[Address, Derivation], waits: Acyclic) -> None:
    """A create needs the deletes that free its derived values, where that makes no cycle."""
    for address, derivation in derived.items():
        maker = sketches.makers.get(address)
        deletes = {sketches.deletes[other] for other in derivation.after if other in sketches.deletes}
        if maker is not None:
            sketches.all[maker].needs |= {index for index in sorted(deletes) if waits.add(maker, index)}


def _deletes_last(sketches: Sketches) -> None:
    """A delete waits for what stops referring to it, and for the deletes in it."""
    if not sketches.deletes:
        return
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
    inside: dict[tuple[str, str], set[int]] = defaultdict(set)
    for address, index in sketches.deletes.items():
        for outer in _stands_in(sketches.removals[address].kind, sketches.removals[address].observed):
            inside[outer].add(index)
    for address, index in sketches.deletes.items():
        removal = sketches.removals[address]
        waits = set(mentions.get(removal.id, ())) | inside[removal.kind.name, removal.id]
        waits |= {sketches.deletes[other] for other in removal.behind if other in sketches.deletes}
        if removal.replaces is not None and removal.replaces in sketches.makers:
            waits.add(sketches.makers[removal.replaces])
        sketches.all[index].needs |= waits


def _creates_before_deletes(sketches: Sketches, first: Collection[Address]) -> list[tuple[int, int, frozenset[int]]]:
    """The last sibling must not be deleted before new ones exist: where siblings are created too, one of the deletes waits for all creates.

    Returns the other deletes, each with that one and with the creates: it is enough that they wait for it. `first`: what is deleted before
    new siblings, others being left.
    """
    if not sketches.deletes:
        return []
    created: dict[tuple[str, Address | None], set[int]] = defaultdict(set)
    for address, maker in sketches.makers.items():
        if sketches.drafts[address].is_new:
            created[sketches.drafts[address].kind.name, address.container].add(maker)
    deleted: dict[tuple[str, Address | None], list[int]] = defaultdict(list)
    for address, index in sketches.deletes.items():
        if address not in first and (sketches.removals[address].kind.name, address.container) in created:
            deleted[sketches.removals[address].kind.name, address.container].append(index)
    others: list[tuple[int, int, frozenset[int]]] = []
    for beside, indices in deleted.items():
        competing = set(indices)
        leader = min(indices, key=lambda index: (not competing.isdisjoint(sketches.all[index].needs), index))
        creates = frozenset(created[beside])
        sketches.all[leader].needs |= creates
        others += [(index, leader, creates) for index in indices if index != leader]
    return others


def _follow_leaders(sketches: Sketches, others: Collection[tuple[int, int, frozenset[int]]], waits: Acyclic) -> None:
    """Let each delete wait for the one that waits for the creates; where that makes a cycle, for the creates themselves."""
    for index, leader, creates in others:
        sketches.all[index].needs |= {leader} if waits.add(index, leader) else {maker for maker in creates if waits.add(index, maker)}


def _stands_in(kind: Kind, observed: Observed | None) -> Iterator[tuple[str, str]]:
    """The objects, by kind and id, that contain an object."""
    if observed is None:
        return
    node = observed.values.get(kind.inside.name) if kind.inside is not None else None
    if kind.inside is not None and isinstance(node, str):
        yield str(kind.inside.to), node
    yield from observed.within.items()


def _rings(follow: Mapping[int, int]) -> list[int]:
    """The first element, in the map's order, of each cycle in the map."""
    turn = {start: number for number, start in enumerate(follow)}
    walk: dict[int, int] = {}  # the walk that reached each first
    rings: list[int] = []
    for number, start in enumerate(follow):
        at = start
        while at in follow and at not in walk:
            walk[at] = number
            at = follow[at]
        if walk.get(at) == number and at in follow:
            ring = [at]
            while follow[ring[-1]] != at:
                ring.append(follow[ring[-1]])
            rings.append(min(ring, key=turn.__getitem__))
    return rings
