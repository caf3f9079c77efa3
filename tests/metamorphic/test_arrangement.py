"""The plan is the same however the project is written down, and in whatever order and pages the service lists what it holds."""

from __future__ import annotations

import random
import re

from hypothesis import strategies as st

from reconciler.model import Plan
from tests.metamorphic.arrangement import arranged
from tests.metamorphic.laboratory import Laboratory, laboratory
from tests.metamorphic.lists import Shuffling
from tests.metamorphic.relation import relation
from tests.organizations import Tree, organizations, pairs, project

POSITION = re.compile(r"Source\(file='[^']*', line=\d+, column=\d+\)")
CHANCE = st.integers(0, 2**20).map(random.Random)


def told(plan: Plan) -> list[str]:
    """A plan without the positions in the YAML, in lines that can be compared."""
    return POSITION.sub("Source", repr(plan)).replace("Change(", "\nChange(").replace("Step(", "\nStep(").splitlines()


def plans(world: Laboratory, tree: Tree, chance: random.Random) -> None:
    """Plan an organization as it is, written in another way, and listed in another way; all three must be the same."""
    world.write(tree)
    plan = told(world.plan())
    world.write_files(arranged(project({"acme": tree}), chance))
    assert told(world.plan()) == plan
    world.write(tree)
    world.rewire = lambda inner: Shuffling(inner, chance)
    assert told(world.plan()) == plan
    world.rewire = None


@relation(organizations(), CHANCE, quick=2)
def test_a_first_plan_is_the_same_in_any_arrangement_of_files_and_lists(tree: Tree, chance: random.Random) -> None:
    with laboratory() as world:
        plans(world, tree, chance)


@relation(pairs(full=False), CHANCE, quick=2)
def test_the_plan_of_a_change_is_the_same_in_any_arrangement_of_files_and_lists(pair: tuple[Tree, Tree], chance: random.Random) -> None:
    before, after = pair
    with laboratory() as world:
        world.converge(before)
        plans(world, after, chance)


@relation(organizations(), CHANCE, quick=2)
def test_the_plan_without_a_state_is_the_same_in_any_arrangement_and_creates_nothing(tree: Tree, chance: random.Random) -> None:
    with laboratory() as world:
        world.converge(tree)
        world.lose_state()
        plans(world, tree, chance)
        plan = world.plan()
        assert [f"{step.verb} {step.address}" for step in plan.steps] == []
        assert plan.blocked == ()
