"""The plan is simulated, and a plan of the result must be empty. Pure.

In: the inputs of the plan, and the plan. Out: the same plan. A plan that does not reach its goal is a defect of this program and stops
before the first request. `simulate` knows no more of the service than the declarations say.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reconciler.address import Address
from reconciler.errors import ReconcilerError
from reconciler.model import Actual, Binding, Desired, Origin, Plan, State
from reconciler.plan.matching.match import identify
from reconciler.plan.matching.matches import Matches
from reconciler.plan.planner import requests_left
from reconciler.plan.simulation.simulate import Simulation, simulate
from reconciler.plan.world import World
from reconciler.resource import Kinds


def prove(world: World, plan: Plan, *, matches: Matches | None = None) -> Plan:
    """The plan, unchanged. Raises `ReconcilerError` naming what it would leave undone.

    `matches`: which object is which resource, where that is known already.
    """
    if not plan.steps:
        return plan
    kinds, desired = world.kinds, world.desired
    remembered, shown = carried_out(kinds, desired, world.state, world.actual, plan, matches=matches)
    again = requests_left(kinds, desired, remembered, shown, selection=world.selection)
    waiting = {blocked.address for blocked in plan.blocked} | set(plan.deferred) | set(plan.in_doubt)
    left = [step for step in again if step.address not in waiting]
    if left:
        names = "; ".join(f"{step.verb} {step.address} ({', '.join(step.writes)})" for step in left[:5])
        wrong = f"the plan would leave something to change, which is a defect of Reconciler: {names}"
        raise ReconcilerError(wrong, id="RC-plan-not-proved", hint="nothing was sent; please report it with the plan (--out FILE)")
    return plan


def carried_out(
    kinds: Kinds, desired: Desired, state: State, actual: Actual, plan: Plan, *, matches: Matches | None = None
) -> tuple[State, Actual]:
    """The state, and what the service would show, once the plan is done. `matches`: see `prove`."""
    matches = identify(kinds, desired, state, actual) if matches is None else matches
    simulation = simulate(kinds, actual, matches.ids, plan.steps, plan.places)
    return _remembered(kinds, desired, matches.former.state, plan, simulation), simulation.actual()


def _remembered(kinds: Kinds, desired: Desired, state: State, plan: Plan, simulation: Simulation) -> State:
    """The state once the plan is done, according to that simulation."""
    bindings = {
        address: binding
        for address, binding in {**state.bindings, **plan.state_update.bind, **plan.state_update.carried}.items()
        if address not in plan.state_update.forget
    }
    written: dict[Address, dict[str, Any]] = {}
    for step in plan.steps:
        if step.verb == "delete":
            for address in (step.address, *step.takes):
                bindings.pop(address, None)
                written.pop(address, None)
        elif step.verb != "transfer":
            kept = kinds[step.kind].stored(desired.managed(step.address, simulation.writes(step)), simulation.ids[step.address])
            written.setdefault(step.address, {}).update(kept)
            for _, _, address in step.brings:
                written.setdefault(address, {})
    bindings |= {address: _written_binding(desired, simulation, bindings.get(address), address) for address in written}
    placed = {
        address: replace(
            binding,
            sent={**binding.sent, **written.get(address, {})},
            seen={**binding.seen, **written.get(address, {})},
            place=plan.places.get(address, binding.place),
        )
        for address, binding in bindings.items()
        if address in written or address in plan.places
    }
    fulfilled = {**state.fulfilled, **(plan.state_update.fulfilled or {})}
    return replace(state, bindings={**bindings, **placed}, fulfilled=fulfilled)


def _written_binding(desired: Desired, simulation: Simulation, binding: Binding | None, address: Address) -> Binding:
    """The binding of a written address: a new one where its object is new."""
    id, declared = simulation.ids[address], desired.resources[address]
    if binding is not None and binding.id == id:
        return binding
    protected = declared.protect if declared.protect is not None else declared.kind in desired.protect
    return Binding(address, declared.kind, id, Origin.CREATED, protected=protected)
