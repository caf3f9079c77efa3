"""The plan is replayed on a model of the service; what is left to change must be nothing. Pure.

In: what the plan was made from, and the plan. Out: the same plan. A plan that would not lead where it should is a defect of this program
and stops before the first request. The model knows no more of the service than the declarations say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reconciler.address import Address
from reconciler.errors import ReconcilerError
from reconciler.model import Actual, Binding, Desired, Observed, Origin, Plan, State, Step
from reconciler.plan import Selection, match
from reconciler.plan import plan as make_plan
from reconciler.reading import path_ids, substitute, wanted
from reconciler.resource import UNSET, Kind, Kinds, Listing, Role


def prove(kinds: Kinds, desired: Desired, state: State, actual: Actual, plan: Plan, *, selection: Selection | None = None) -> Plan:
    """The plan as it came. Raises `ReconcilerError` naming what it would leave undone."""
    if not plan.steps:
        return plan
    model = _Model(kinds, desired, state, actual, plan)
    for step in plan.steps:
        model.run(step)
    again = make_plan(kinds, desired, model.state(), model.actual(), selection=selection)
    waiting = {blocked.address for blocked in plan.blocked} | set(plan.deferred) | set(plan.in_doubt)
    left = [step for step in again.steps if step.address not in waiting]
    if left:
        names = "; ".join(f"{step.verb} {step.address} ({', '.join(step.writes)})" for step in left[:5])
        raise ReconcilerError(
            f"the plan would leave something to change, which is a defect of this program: {names}",
            hint="nothing was sent; please report it with the plan (--out FILE)",
        )
    return plan


class _Model:
    """The service as the declarations describe it, and what we would remember of it."""

    def __init__(self, kinds: Kinds, desired: Desired, state: State, actual: Actual, plan: Plan) -> None:
        self.kinds, self.desired, self.plan, self.before, self.first = kinds, desired, plan, state, actual
        self.objects = {name: dict(objects) for name, objects in actual.objects.items()}
        self.bindings = {
            address: one for address, one in {**state.bindings, **plan.memory.bind}.items() if address not in plan.memory.forget
        }
        self.ids = dict(match(kinds, desired, state, actual).ids)
        for step in plan.steps:
            if step.verb == "create":
                self.ids.pop(step.address, None)
        self.order: dict[str, list[str]] = {
            name: sorted(objects, key=lambda id: (objects[id].rank is None, objects[id].rank or 0))
            for name, objects in self.objects.items()
        }
        self.new: set[str] = set()

    def run(self, step: Step) -> None:
        """What one request would do."""
        kind = self.kinds[step.kind]
        writes = {name: kind.fields[name].body(substitute(value, self.ids)) for name, value in step.writes.items()}
        if step.verb == "create":
            self._create(step, kind, writes)
            return
        id = self.ids.get(step.address) if step.verb != "delete" else str(step.target)
        assert id is not None
        if step.verb == "delete":
            self._delete(kind, id)
            for address in (step.address, *step.takes):
                self.bindings.pop(address, None)
            return
        now = self.objects[kind.name][id]
        plain = {name: value for name, value in writes.items() if kind.fields[name].role is not Role.CHOICE}
        self.objects[kind.name][id] = replace(now, values={**now.values, **plain}, deleted_at=None)
        for name, value in writes.items():
            if kind.fields[name].role is Role.CHOICE:
                self._choose(kind, id, name, value)
        if step.verb in ("move", "join", "leave", "restore"):
            self._place(kind, id, step.body)
        self._remember(step.address, kind, id, writes)

    def _create(self, step: Step, kind: Kind, writes: Mapping[str, Any]) -> None:
        self._make(step.address, kind, writes)
        for name, _, address in step.brings:
            child = self.kinds[name]
            wants = wanted(child, self.desired.resources[address], self.ids)
            known = {field.name for field in child.fields.values() if field.key or field.container}
            self._make(address, child, {field: value for field, value in wants.items() if field in known})

    def _make(self, address: Address, kind: Kind, writes: Mapping[str, Any]) -> None:
        within = path_ids(self.kinds, address.container, self.ids.get)
        id = kind.identity(":".join(("new", *address.parts)), within)
        blank = {name: None if field.container else UNSET for name, field in kind.fields.items() if field.compared or field.key}
        self.ids[address] = id
        self.new.add(id)
        self.objects[kind.name][id] = Observed(kind.name, id, {**blank, **writes}, within, {"id": id})
        self._place(kind, id, None)
        self._remember(address, kind, id, writes)

    def _remember(self, address: Address, kind: Kind, id: str, writes: Mapping[str, Any]) -> None:
        old = self.bindings.get(address)
        protect = self.desired.resources[address].protect
        protected = protect if protect is not None else kind.name in self.desired.protect
        if old is None or old.id != id:
            old = Binding(address, kind.name, id, Origin.CREATED, protected=protected)
        kept = kind.remembered(writes, id)
        self.bindings[address] = replace(old, sent={**old.sent, **kept}, seen={**old.seen, **kept})

    def _delete(self, kind: Kind, id: str) -> None:
        self.objects[kind.name].pop(id, None)
        for other in self.kinds.values():
            inside = other.inside
            for one in list(self.objects[other.name].values()):
                taken = inside is not None and inside.cascade and inside.to == kind.name and one.values.get(inside.name) == id
                if taken or one.within.get(kind.name) == id:
                    self._delete(other, one.id)

    def _choose(self, kind: Kind, id: str, name: str, value: Any) -> None:
        field = kind.fields[name]
        assert field.to is not None
        assert field.flag is not None
        child = self.kinds[field.to]
        chosen = self.objects[child.name].get(value)
        if chosen is None:
            return
        for one in list(self.objects[child.name].values()):
            same = child.inside is None or child.inside.role is Role.MEMBER
            if one.within == chosen.within and (same or one.values.get(child.inside.name) == chosen.values.get(child.inside.name)):  # type: ignore[union-attr]
                self.objects[child.name][one.id] = replace(one, flags={**one.flags, field.flag: one.id == value})

    def _place(self, kind: Kind, id: str, body: Any) -> None:
        order = self.order[kind.name]
        if id in order:
            order.remove(id)
        position = (body or {}).get("position", {}) if isinstance(body, Mapping) else {}
        at = len(order)
        for side, anchor in position.items():
            named = next((substitute(value, self.ids) for key, value in anchor.items() if key != "type"), None)
            if named in order:
                at = order.index(named) + (side == "after")
        order.insert(at, id)

    def state(self) -> State:
        """What we would remember."""
        placed = {
            address: replace(binding, place=self.plan.places.get(address, binding.place)) for address, binding in self.bindings.items()
        }  # fmt: skip
        return replace(self.before, bindings=placed)

    def actual(self) -> Actual:
        """What the service would then show."""
        shown: dict[str, dict[str, Observed]] = {}
        for name, objects in self.objects.items():
            kind = self.kinds[name]
            rank = {id: index for index, id in enumerate(self.order[name])}
            shown[name] = {id: replace(one, rank=rank[id] if _ranked(kind, one) else None) for id, one in objects.items()}
        everything = {(name, id) for name in self.kinds for id in self.new}
        return replace(self.first, objects=shown, complete=self.first.complete | everything)


def _ranked(kind: Kind, one: Observed) -> bool:
    """Whether a listing would show the object among its siblings."""
    inside = kind.inside
    for reading in kind.reads:
        if isinstance(reading, Listing) and reading.ordered:
            return reading.each is None or (inside is not None and one.values.get(inside.name) is not None)
    return False
