"""The plan is simulated, and made again of what comes out; what is left to change must be nothing. Pure.

In: what the plan was made from, and the plan. Out: the same plan. A plan that would not lead where it should is a defect of this program
and stops before the first request. `simulate` knows no more of the service than the declarations say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reconciler.address import Address
from reconciler.errors import ReconcilerError
from reconciler.model import Actual, Binding, Desired, Origin, Plan, State
from reconciler.plan import Selection, match
from reconciler.plan import plan as make_plan
from reconciler.plan.simulation.simulate import Simulation, simulate
from reconciler.resource import Kind, Kinds


def prove(kinds: Kinds, desired: Desired, state: State, actual: Actual, plan: Plan, *, selection: Selection | None = None) -> Plan:
    """The plan as it came. Raises `ReconcilerError` naming what it would leave undone."""
    if not plan.steps:
        return plan
    remembered, shown = carried_out(kinds, desired, state, actual, plan)
    again = make_plan(kinds, replace(desired, access=()), remembered, shown, selection=selection)
    waiting = {blocked.address for blocked in plan.blocked} | set(plan.deferred) | set(plan.in_doubt)
    left = [step for step in again.steps if step.address not in waiting]
    if left:
        names = "; ".join(f"{step.verb} {step.address} ({', '.join(step.writes)})" for step in left[:5])
        wrong = f"the plan would leave something to change, which is a defect of Reconciler: {names}"
        raise ReconcilerError(wrong, id="RC-plan-not-proved", hint="nothing was sent; please report it with the plan (--out FILE)")
    return plan


def carried_out(kinds: Kinds, desired: Desired, state: State, actual: Actual, plan: Plan) -> tuple[State, Actual]:
    """What would be remembered, and what the service would show, once the plan is done."""
    matches = match(kinds, desired, state, actual)
    simulation = simulate(kinds, actual, matches.ids, plan.steps, plan.places)
    return _remembered(kinds, desired, matches.former.state, plan, simulation), simulation.actual()


def _remembered(kinds: Kinds, desired: Desired, state: State, plan: Plan, simulation: Simulation) -> State:
    """What we would remember when the plan is done, which led to that simulation."""
    bindings = {
        address: binding
        for address, binding in {**state.bindings, **plan.memory.bind, **plan.memory.carried}.items()
        if address not in plan.memory.forget
    }

    def remember(address: Address, kind: Kind, writes: Mapping[str, Any]) -> None:
        id, old = simulation.ids[address], bindings.get(address)
        protect = desired.resources[address].protect
        if old is None or old.id != id:
            protected = protect if protect is not None else kind.name in desired.protect
            old = Binding(address, kind.name, id, Origin.CREATED, protected=protected)
        kept = kind.remembered(writes, id)
        bindings[address] = replace(old, sent={**old.sent, **kept}, seen={**old.seen, **kept})

    for step in plan.steps:
        if step.verb == "delete":
            for address in (step.address, *step.takes):
                bindings.pop(address, None)
            continue
        if step.verb == "transfer":
            continue
        remember(step.address, kinds[step.kind], simulation.writes(step))
        for name, _, address in step.brings:
            remember(address, kinds[name], {})
    placed = {address: replace(binding, place=plan.places.get(address, binding.place)) for address, binding in bindings.items()}
    fulfilled = {**state.fulfilled, **(plan.memory.fulfilled or {})}
    return replace(state, bindings=placed, fulfilled=fulfilled)
