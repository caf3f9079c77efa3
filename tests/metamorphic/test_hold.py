"""To hold is to exclude: whatever the organizations, the guards, the policies and the consents, the plan that holds what is refused is the
plan with `--exclude` of what it holds. No guard refuses it, all that a guard counts is held, and it does nothing that the whole does not.
"""

from __future__ import annotations

import random
from collections.abc import Collection
from typing import Any

import yaml
from hypothesis import strategies as st

from reconciler import exits
from reconciler.address import Address, Glob, Selection
from reconciler.client.service import Reader
from reconciler.model import Exposure, Plan
from reconciler.run import codes
from reconciler.run.operation import Limits, Operation
from reconciler.run.planning import make
from reconciler.run.stages import Planned, PlanSource
from tests.harness import kinds
from tests.metamorphic.laboratory import Laboratory, described, laboratory
from tests.metamorphic.relation import relation
from tests.metamorphic.test_selections import meant
from tests.organizations import Tree, pair, with_readers
from tests.reliability.clock import everywhere

TITLES = {
    "id": "titles",
    "on": ["section", "space", "team"],
    "assert": "${{ (after.title | default('A'))[0] <= 'P' }}",
    "message": "too late",
}
KEPT = {
    "id": "kept",
    "on": ["collection", "site-space", "share-link"],
    "when": ["delete"],
    "assert": "${{ action == 'keep' }}",
    "message": "stays",
}
FEW = {"id": "few", "on": ["site"], "assert": "${{ inside('section') <= 2 }}", "message": "too many sections"}
WHOLE = {"id": "whole", "on": ["plan"], "assert": "${{ count('delete') <= 4 }}", "message": "too much at once"}


def rules(chance: random.Random) -> dict[str, Any]:
    """Guards and policies of a project."""
    policies = [policy for policy in (TITLES, KEPT, FEW, WHOLE) if chance.random() < 0.25]
    guards: dict[str, Any] = {"maxDelete": {"percent": 0, "atLeast": chance.choice((0, 2, 100))}}
    if chance.random() < 0.3:
        guards["maxExposed"] = chance.choice((0, 2))
    return {"guards": guards, **({"policies": policies} if policies else {})}


def allowed(chance: random.Random) -> Limits:
    """What somebody consents to."""
    exposures = tuple(map(Glob.parse, chance.choice(((), ("acme/site/docs/**",), ("acme/space/*",), ("**",)))))
    return Limits(replacements=(Glob.parse("**"),), exposures=exposures, deletions=chance.choice((None, 1, 100)))


def planned(world: Laboratory, operation: Operation) -> Planned:
    async def read() -> Planned:
        desired = world.load().desired
        with world.store() as store:
            state = store.read()
            async with world.client(Reader) as reader:
                return await make(PlanSource(reader), kinds(), desired, state, operation)

    with everywhere(world.time):
        return world.time.run(read())


def opened(exposures: Collection[Exposure]) -> set[Any]:
    return {consent for exposure in exposures for consent in exposure.consents}


def sent(plan: Plan) -> list[Any]:
    """The requests, without the numbers that connect them."""
    return [(str(step.address), step.verb, step.path, step.writes, step.body) for step in plan.steps]


def pending(plan: Plan) -> set[Address]:
    exposed = {exposure.address for exposure in plan.exposures if exposure.kind != "project"}
    return {*(change.address for change in plan.changes), *(step.address for step in plan.steps), *exposed}


@relation(st.integers(0, 2**20), quick=12)
def test_to_hold_is_to_exclude_and_no_guard_refuses_the_rest(seed: int) -> None:
    claim(seed)


def claim(seed: int) -> None:
    chance = random.Random(seed)
    before, after = pair(chance, full=False) if seed % 3 == 0 else (with_readers(chance), with_readers(chance))
    with laboratory(seed) as world:
        world.converge(before)
        meant(world, after)
        _with_rules(world, after, rules(chance))
        limits = allowed(chance)
        whole, holding = planned(world, Operation(limits=limits)), planned(world, Operation(limits=limits, hold=True))
        held = {change.address for change in holding.plan.held.changes}
        refusals = whole.refusals(limits)
        where = "\n".join(["-- whole", *described(whole.plan), "-- held", *map(str, sorted(held)), "-- rest", *described(holding.plan)])
        assert not holding.refusals(limits), where
        if not refusals:
            assert not holding.plan.held
            assert (holding.plan.changes, holding.plan.steps) == (whole.plan.changes, whole.plan.steps)
            return
        assert codes.of_plan(holding.plan, detailed=False) in (exits.PARTLY, exits.REFUSED)
        assert all((refused.about or pending(whole.plan)) & pending(whole.plan) <= held for refused in refusals), where
        assert held <= pending(whole.plan)
        if held == pending(whole.plan):
            assert not holding.plan.pending, where
            assert holding.plan.state_update.rules is None
            return
        excludes = tuple(Glob.parse(str(address)) for address in sorted(holding.excluded))  # what a saved plan records
        excluded = planned(world, Operation(selection=Selection(excludes=excludes), limits=limits))
        assert sent(holding.plan) == sent(excluded.plan), where
        assert (holding.plan.changes, holding.plan.exposures) == (excluded.plan.changes, excluded.plan.exposures), where
        assert holding.plan.state_update == excluded.plan.state_update
        assert held.isdisjoint([*(change.address for change in holding.plan.changes), *(step.address for step in holding.plan.steps)]), (
            where
        )
        assert {blocked.address for blocked in holding.plan.blocked} <= {blocked.address for blocked in whole.plan.blocked}, where
        assert opened(holding.plan.exposures) <= opened(whole.plan.exposures), where
        for address, readers in holding.plan.lost_readers.items():
            assert set(readers) <= set(whole.plan.lost_readers[address]), where


def _with_rules(world: Laboratory, tree: Tree, top: dict[str, Any]) -> None:
    """Add rules to the project that `meant` wrote."""
    path = world.project / "reconciler.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **top}, allow_unicode=True, sort_keys=False))
    world.touch()
