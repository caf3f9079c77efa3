"""A plan that would not lead where it should is stopped before its first request."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from reconciler.client import Reader
from reconciler.errors import ReconcilerError
from reconciler.kinds import load as kinds
from reconciler.model import Actual, Desired, Plan, State
from reconciler.observe import observe
from reconciler.plan import plan
from reconciler.plan.prove import prove
from tests.harness import Org
from tests.small import node, small


@pytest.fixture
def changed(org: Org) -> tuple[Desired, State, Actual, Plan]:
    """A plan of one title and one move, with what it was made from."""
    org.write(small())
    org.apply()
    tree = small()
    node(tree, "one")["title"] = "Uno"
    node(tree, "product")["content"].insert(0, node(tree, "product")["content"].pop())
    org.write(tree)
    desired, store = org.load().desired, org.store()

    async def read(state: State) -> Actual:
        async with org.client(Reader) as reader:
            return await observe(reader, kinds(), desired, state)

    try:
        state = store.read()
    finally:
        store.close()
    actual = asyncio.run(read(state))
    return desired, state, actual, plan(kinds(), desired, state, actual)


def test_a_right_plan_passes_as_it_came(changed: tuple[Desired, State, Actual, Plan]) -> None:
    desired, state, actual, created = changed
    assert len(created.steps) == 2
    assert prove(kinds(), desired, state, actual, created) is created


@pytest.mark.parametrize("missing", [0, 1])
def test_a_plan_that_lacks_a_step_is_a_defect_and_names_it(changed: tuple[Desired, State, Actual, Plan], missing: int) -> None:
    desired, state, actual, created = changed
    lacking = replace(created, steps=tuple(step for index, step in enumerate(created.steps) if index != missing))
    with pytest.raises(ReconcilerError, match=str(created.steps[missing].address)):
        prove(kinds(), desired, state, actual, lacking)


def test_a_plan_that_sends_the_wrong_value_is_a_defect(changed: tuple[Desired, State, Actual, Plan]) -> None:
    desired, state, actual, created = changed
    wrong = tuple(replace(step, writes={"title": "Due"}) if step.verb == "update" else step for step in created.steps)
    with pytest.raises(ReconcilerError, match="title"):
        prove(kinds(), desired, state, actual, replace(created, steps=wrong))
