"""The requests of a run and what each must wait for. Pure.

In: drafts, rows of siblings, removals. Out: steps numbered in an order that could be run one by one. An edge stands on the step that
carries a reference, so that the cycles of the service dissolve: a create goes first, the field that refers back is a later step.
Raises `ReconcilerError` where a cycle remains, naming what is in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reconciler.address import Address
from reconciler.errors import ReconcilerError
from reconciler.graph import Cycle, Edges, ordered
from reconciler.model import Step
from reconciler.order import Move
from reconciler.plan.arrange import Row
from reconciler.plan.drafts import Draft
from reconciler.plan.removal import Removal
from reconciler.reading import ids_in, unborn
from reconciler.resource import UNSET, Kind, Kinds, Role, Verb, placeholders


@dataclass
class _Sketch:
    """A step before it has its number."""

    draft: Draft | Removal
    verb: Verb
    path: tuple[str | Address, ...]
    body: Any = None
    writes: dict[str, Any] = field(default_factory=dict)
    target: str | Address | None = None
    create_like: bool = False
    identity: dict[str, Any] = field(default_factory=dict)
    source: str | Address | None = None
    brings: tuple[tuple[str, str, Address], ...] = ()
    needs: set[int] = field(default_factory=set)
    after: set[int] = field(default_factory=set)


class Requests:
    """Collects the sketches of one plan; `steps()` numbers them."""

    def __init__(
        self,
        kinds: Kinds,
        drafts: Mapping[Address, Draft],
        rows: Sequence[Row],
        removals: Mapping[Address, Removal],
        ids: Mapping[Address, str],
    ) -> None:
        self.kinds, self.drafts, self.rows, self.removals, self.ids = kinds, drafts, rows, removals, ids
        self.sketches: list[_Sketch] = []
        self.makers: dict[Address, int] = {}
        self.of: dict[Address, list[int]] = defaultdict(list)
        self.arrivals: dict[Address, int] = {}
        self.movers: dict[Address, int] = {}
        self.deletes: dict[Address, int] = {}

    # -- sketching ---------------------------------------------------------------------------------------------------------------

    def _add(self, sketch: _Sketch) -> int:
        self.sketches.append(sketch)
        index = len(self.sketches) - 1
        self.of[sketch.draft.address].append(index)
        return index

    def makers_first(self) -> None:
        """The creates and restores, so that every later step can name the one it needs."""
        for draft in self.drafts.values():
            if not draft.active:
                continue
            if draft.restore:
                verb = draft.kind.api["restore"]
                self.makers[draft.address] = self._add(_Sketch(draft, verb, self._path(verb, draft), target=draft.id))
            elif draft.born and draft.brought_by is None:
                self.makers[draft.address] = self._create(draft)
        for draft in self.drafts.values():
            if draft.active and draft.brought_by is not None:
                self.makers[draft.address] = self.makers[draft.brought_by]

    def _create(self, draft: Draft) -> int:
        kind, verb = draft.kind, draft.kind.api["create"]
        writes: dict[str, Any] = {}
        for one in kind.carried("create"):
            value = draft.wants.get(one.name, UNSET)
            if value is UNSET or (one.container and value is None):
                continue
            if one.role is not Role.SEED:
                writes[one.name] = value
        brings = []
        for name, at in verb.brings.items():
            child = next((d for d in self.drafts.values() if d.brought_by == draft.address and d.kind.name == name), None)
            if child is not None:
                brings.append((name, at, child.address))
        sketch = _Sketch(draft, verb, self._path(verb, draft), _body(kind, writes) or None, writes, create_like=not verb.upsert)
        sketch.brings = tuple(brings)
        sketch.identity = {one.name: draft.wants.get(one.name) for one in kind.keys}
        sketch.source = draft.wants.get(verb.copies) if verb.copies is not None else None
        return self._add(sketch)

    def changes(self) -> None:
        """Fields of what exists or was just made, carried by as few requests as can be."""
        for draft in self.drafts.values():
            if not draft.active:
                continue
            made = draft.born and draft.brought_by is None
            open_fields = {one.field.name for one in draft.sendable}
            if made:
                open_fields -= {one.name for one in draft.kind.carried("create")}
            elif draft.brought_by is not None:
                open_fields -= _brought_fields(draft)
            for verb in draft.kind.carriers:
                carried = [one for one in draft.kind.carried(verb.name) if one.name in open_fields]
                if not carried:
                    continue
                open_fields -= {one.name for one in carried}
                writes = {one.name: draft.wants[one.name] for one in carried}
                extra = {name: _always(draft, name) for name in verb.always if name not in writes}
                body = _body(draft.kind, {**extra, **{k: v for k, v in writes.items() if not draft.kind.fields[k].one_way}})
                self._add(_Sketch(draft, verb, self._path(verb, draft), body or None, writes, target=self._self(draft)))
            self._membership(draft)

    def _membership(self, draft: Draft) -> None:
        for one in draft.sendable:
            if one.field.role is not Role.MEMBER:
                continue
            assert one.field.join is not None
            assert one.field.leave is not None
            assert one.field.to is not None
            left = None
            if one.before is not UNSET and one.before is not None:
                path = self._path(one.field.leave, draft, {one.field.to: one.before})
                left = self._add(_Sketch(draft, one.field.leave, path, None, {one.field.name: None}, target=self._self(draft)))
            if one.after is not None:
                path = self._path(one.field.join, draft, {one.field.to: one.after})
                body = {one.field.wire: self._self(draft)}
                joined = _Sketch(draft, one.field.join, path, body, {one.field.name: one.after}, target=self._self(draft))
                joined.needs |= {left} if left is not None else set()
                self.arrivals[draft.address] = self._add(joined)
            elif left is not None:
                self.arrivals[draft.address] = left

    def moves(self) -> None:
        """Moves among siblings and to other containers, one request each; a row's moves run one after the other."""
        for row in self.rows:
            arrived: list[int] = []
            for address in row.arrivals:
                index = self.arrivals.get(address, self.makers.get(address))
                if index is not None:
                    self.sketches[index].after |= set(arrived[-1:])
                    arrived.append(index)
            previous: set[int] = set(arrived)
            for one in (*row.moves, *row.tail):
                index = self._move(self.drafts[one.item], one) if isinstance(one, Move) else self.arrivals.get(one, self.makers.get(one))
                if index is not None:
                    self.sketches[index].after |= previous - {index}
                    previous = {index}

    def _move(self, draft: Draft, move: Move[Address]) -> int:
        verb, inside = draft.kind.api["move"], draft.kind.inside
        writes: dict[str, Any] = {}
        if inside is not None and "move" in inside.on:
            carried = any(one.field is inside for one in draft.sendable)
            if carried or (draft.born and "create" not in inside.on):
                writes[inside.name] = draft.wants.get(inside.name)
        body = _body(draft.kind, writes)
        anchor, side = (move.before, "before") if move.before is not None else (move.after, "after")
        if anchor is not None:
            name = self.ids.get(anchor, anchor) if anchor not in self.makers or not self.drafts[anchor].born else anchor
            body["position"] = {side: {key: name if value == "{id}" else value for key, value in verb.anchor.items()}}
        index = self._add(_Sketch(draft, verb, self._path(verb, draft), body, writes, target=self._self(draft)))
        if anchor is not None and anchor in self.makers:
            self.sketches[index].needs.add(self.makers[anchor])
        self.movers[draft.address] = index
        return index

    def removes(self) -> None:
        """The deletes, each after whatever empties it or stops referring to it."""
        for removal in self.removals.values():
            if not (removal.delete and removal.active) or removal.covered_by is not None:
                continue
            verb = removal.kind.api["delete"]
            holes: dict[str, Any] = {"id": removal.id, **(removal.observed.within if removal.observed else {})}
            if removal.observed is not None:
                holes |= {field.name: removal.observed.values.get(field.name) for field in removal.kind.keys}
            path = tuple(str(holes[part[1:-1]]) if part.startswith("{") else part for part in verb.path.strip("/").split("/"))
            self.deletes[removal.address] = self._add(_Sketch(removal, verb, path, target=removal.id))

    # -- edges -------------------------------------------------------------------------------------------------------------------

    def edges(self) -> None:
        for index, sketch in enumerate(self.sketches):
            if isinstance(sketch.draft, Draft):
                self._needs(index, sketch, sketch.draft)
        self._containers_move_first()
        self._one_way_last()
        self._unique_values()
        self._deletes_last()

    def _needs(self, index: int, sketch: _Sketch, draft: Draft) -> None:
        needed: set[Address] = {part for part in sketch.path if isinstance(part, Address)}
        needed |= set(unborn(sketch.body)) | set(unborn(list(sketch.writes.values())))
        for name in sketch.writes:
            needed |= set(unborn(draft.declared.values.get(name)))
        seed = draft.kind.seed
        if seed is not None and sketch.verb.copies == seed.name:
            needed |= set(unborn(draft.declared.values.get(seed.name)))
        if index != self.makers.get(draft.address):
            needed.add(draft.address)
        sketch.needs |= {self.makers[address] for address in needed if address in self.makers and self.makers[address] != index}

    def _containers_move_first(self) -> None:
        for address, index in self.movers.items():
            parent = self.drafts[address].declared.parent
            if parent in self.movers and self.sketches[index].writes:
                self.sketches[index].after.add(self.movers[parent])

    def _one_way_last(self) -> None:
        for index, sketch in enumerate(self.sketches):
            draft = sketch.draft
            if isinstance(draft, Draft) and any(draft.kind.fields[name].one_way for name in sketch.writes):
                for address, steps in self.of.items():
                    if address in self.drafts and (address == draft.address or address.is_within(draft.address)):
                        sketch.after |= {step for step in steps if step != index}

    def _level(self, draft: Draft | Removal, now: bool) -> tuple[str, Any, Any]:
        """What a unique value must be unique in: the node that replaces when it changes, else the fixed container."""
        kind, inside = draft.kind, draft.kind.inside
        stands: Any = None
        if inside is not None and inside.role is Role.INSIDE and inside.on_change == "replace":
            if now:
                stands = draft.observed.values.get(inside.name) if draft.observed else None
            elif isinstance(draft, Draft):
                stands = draft.wants.get(inside.name)
        container = draft.address.container
        return kind.name, container, stands

    def _unique_values(self) -> None:
        """Free a value before another takes it, and let no create's own choice of a value come between."""
        writers: dict[tuple[tuple[str, Any, Any], str], list[int]] = defaultdict(list)
        for index, sketch in enumerate(self.sketches):
            for name in sketch.writes:
                if isinstance(sketch.draft, Draft) and sketch.draft.kind.fields[name].unique:
                    writers[(self._level(sketch.draft, False), name)].append(index)
        creates: dict[tuple[str, Any, Any], list[int]] = defaultdict(list)
        for address, index in self.makers.items():
            draft = self.drafts[address]
            if draft.born:
                creates[self._level(draft, False)].append(index)
        for (level, name), indices in writers.items():
            self._free_first(level, name, indices)
            born = {index: self.makers.get(self.sketches[index].draft.address) for index in indices}
            settled = {index for index, maker in born.items() if maker is None or not self._is_born(index)}
            made = sorted(creates.get(level, []))
            for position, maker in enumerate(made):
                earlier = set(made[:position])
                waits = settled | {index for index, own in born.items() if own in earlier}
                self.sketches[maker].after |= waits - {maker}

    def _is_born(self, index: int) -> bool:
        draft = self.sketches[index].draft
        return isinstance(draft, Draft) and draft.born

    def _free_first(self, level: tuple[str, Any, Any], name: str, indices: Sequence[int]) -> None:
        holders: dict[str, Draft | Removal] = {}
        everyone: list[Draft | Removal] = [*self.drafts.values(), *self.removals.values()]
        for other in everyone:
            if other.observed is not None and other.kind.name == level[0] and self._level(other, True) == level:
                holders[repr(other.observed.values.get(name))] = other
        freeing: dict[int, int] = {}
        by_address = {self.sketches[index].draft.address: index for index in indices}
        for index in indices:
            holder = holders.get(repr(self.sketches[index].writes[name]))
            if holder is None or holder.address == self.sketches[index].draft.address:
                continue
            if isinstance(holder, Removal):
                freed = self.deletes.get(holder.covered_by or holder.address)
            else:
                freed = by_address.get(holder.address)
            if freed is not None:
                freeing[index] = freed
        for index in list(freeing):
            if _returns(freeing, index):
                self._step_aside(index, name)
                for waiting, freed in list(freeing.items()):
                    if freed == index:
                        self.sketches[waiting].needs.add(len(self.sketches) - 1)
                        del freeing[waiting]
        for index, freed in freeing.items():
            self.sketches[index].needs.add(freed)

    def _step_aside(self, index: int, name: str) -> None:
        """Give the object a value nobody holds, so that a ring of values can turn."""
        sketch = self.sketches[index]
        assert isinstance(sketch.draft, Draft)
        draft = sketch.draft
        aside = f"{str(sketch.writes[name])[:90]}-aside"
        body = _body(draft.kind, {**{extra: _always(draft, extra) for extra in sketch.verb.always}, name: aside})
        new = self._add(_Sketch(draft, sketch.verb, sketch.path, body, {name: aside}, target=sketch.target))
        sketch.needs.add(new)

    def _deletes_last(self) -> None:
        mentions: dict[str, set[int]] = defaultdict(set)
        for index, sketch in enumerate(self.sketches):
            if not isinstance(sketch.draft, Draft):
                continue
            for one in sketch.draft.sendable:
                if one.field.name in sketch.writes:
                    for text in ids_in(one.before) if one.before is not UNSET else ():
                        mentions[text].add(index)
        for address, index in self.deletes.items():
            removal = self.removals[address]
            waits = set(mentions.get(removal.id, ()))
            for other, step in self.deletes.items():
                observed = self.removals[other].observed
                if other != address and observed is not None and self._stands_in(self.removals[other].kind, observed, removal):
                    waits.add(step)
            if removal.replaces is not None and removal.replaces in self.makers:
                waits.add(self.makers[removal.replaces])
            self.sketches[index].needs |= waits

    @staticmethod
    def _stands_in(kind: Kind, observed: Any, removal: Removal) -> bool:
        inside = kind.inside
        if inside is not None and inside.to == removal.kind.name and observed.values.get(inside.name) == removal.id:
            return True
        return bool(observed.within.get(removal.kind.name) == removal.id)

    # -- paths and numbers -------------------------------------------------------------------------------------------------------

    def _self(self, draft: Draft) -> str | Address:
        return draft.id if draft.id is not None else draft.address

    def _path(self, verb: Verb, draft: Draft, extra: Mapping[str, Any] | None = None) -> tuple[str | Address, ...]:
        holes: dict[str, Any] = dict(extra or {})
        for name in placeholders(verb.path):
            if name in holes:
                continue
            if name == "id":
                holes[name] = self._self(draft)
            elif name in draft.kind.fields and draft.kind.fields[name].role is not Role.WITHIN:
                holes[name] = draft.wants.get(name)
            else:
                container = self.kinds.container(draft.address, name)
                holes[name] = self.ids.get(container, container)
        return tuple(holes[part[1:-1]] if part.startswith("{") else part for part in verb.path.strip("/").split("/"))

    def steps(self) -> tuple[Step, ...]:
        """The steps, numbered from 1 in an order that could be run one by one."""
        nodes = {i: Edges(frozenset(s.needs), frozenset(s.after - s.needs)) for i, s in enumerate(self.sketches)}
        try:
            sequence = ordered(nodes, {index: (index,) for index in nodes})
        except Cycle as cycle:
            names = ", ".join(f"{self.sketches[n].draft.address} ({', '.join(self.sketches[n].writes)})" for n in cycle.nodes)
            raise ReconcilerError(f"these fields wait for each other: {names}", hint="take one of the references out") from cycle
        numbers = {index: number for number, index in enumerate(sequence, start=1)}
        return tuple(self._step(self.sketches[index], number, numbers) for index, number in numbers.items())

    def _step(self, sketch: _Sketch, number: int, numbers: Mapping[int, int]) -> Step:
        needs = frozenset(numbers[n] for n in sketch.needs)
        return Step(
            id=number,
            address=sketch.draft.address,
            kind=sketch.draft.kind.name,
            verb=sketch.verb.name,
            method=sketch.verb.method,
            path=sketch.path,
            body=sketch.body,
            writes=sketch.writes,
            target=sketch.target,
            create_like=sketch.create_like,
            identity=sketch.identity,
            source=sketch.source,
            brings=sketch.brings,
            needs=needs,
            after=frozenset(numbers[n] for n in sketch.after) - needs,
        )


def requests(
    kinds: Kinds, drafts: Mapping[Address, Draft], rows: Sequence[Row], removals: Mapping[Address, Removal], ids: Mapping[Address, str]
) -> tuple[Step, ...]:
    """All steps of a plan."""
    known = {address: id for address, id in ids.items() if address not in drafts or not drafts[address].born}
    collected = Requests(kinds, drafts, rows, removals, known)
    collected.makers_first()
    collected.changes()
    collected.moves()
    collected.removes()
    collected.edges()
    return collected.steps()


def _body(kind: Kind, writes: Mapping[str, Any]) -> dict[str, Any]:
    return {kind.fields[name].wire: value for name, value in writes.items()}


def _always(draft: Draft, name: str) -> Any:
    want = draft.wants.get(name, UNSET)
    if want is not UNSET:
        return want
    return draft.observed.values.get(name) if draft.observed is not None else None


def _brought_fields(draft: Draft) -> set[str]:
    """The fields that the parent's create has already set on the child it brings: what identifies it."""
    return {one.name for one in draft.kind.fields.values() if one.key or one.container}


def _returns(follow: Mapping[int, int], start: int) -> bool:
    """Whether following the map from `start` leads back to it."""
    at, seen = start, set()
    while at in follow and at not in seen:
        seen.add(at)
        at = follow[at]
        if at == start:
            return True
    return False
