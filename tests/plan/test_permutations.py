"""The order of files, sections and keys has no meaning: the plan is the same, to the byte, positions in the YAML aside.

Asked of a first apply, and of a living organization with its state, without it, and with half of it lost. Where the organization lives,
nothing of it is ever created again.
"""

from __future__ import annotations

import asyncio
import random
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from reconciler.client.service import Reader
from reconciler.config import load
from reconciler.kinds import load as kinds
from reconciler.model import Action, Plan, State
from reconciler.observe import observe
from reconciler.plan.planner import plan
from reconciler.plan.prove import prove
from reconciler.plan.world import World
from reconciler.run.connection.embedded import own_seed, seed_document
from tests.harness import TOKEN, Org
from tests.organizations import anything
from tests.proofs import costly, sampled, spread, tries
from tests.small import applied, small
from tests.storms import EXAMPLE

POSITION = re.compile(r"Source\(file='[^']*', line=\d+, column=\d+\)")
ORDERS = 6


def shuffled(value: Any, dice: random.Random) -> Any:
    """The same with the keys of every map in another order; lists keep theirs."""
    if isinstance(value, dict):
        keys = list(value)
        dice.shuffle(keys)
        return {key: shuffled(value[key], dice) for key in keys}
    return [shuffled(part, dice) for part in value] if isinstance(value, list) else value


def planned(org: Org, state: State) -> Plan:
    """What would be done if this were remembered."""

    async def look() -> Plan:
        desired = org.load().desired
        async with org.client(Reader) as reader:
            actual = await observe(reader, kinds(), desired, state)
        return prove(World(kinds(), desired, state, actual), plan(kinds(), desired, state, actual))

    return asyncio.run(look())


def remembered(org: Org) -> State:
    return org.remembered()


def spelled(plan: Plan) -> str:
    return POSITION.sub("", repr(plan))


def memories(state: State, dice: random.Random) -> Iterator[tuple[str, State]]:
    """The state as it is, lost, and half lost."""
    yield "with its state", state
    yield "without a state", replace(state, bindings={})
    kept = dice.sample(sorted(state.bindings), len(state.bindings) // 2)
    yield "with half of its state", replace(state, bindings={address: state.bindings[address] for address in sorted(kept)})


def check(org: Org, orders: Iterator[None], dice: random.Random) -> None:
    """Apply, then plan in every order (each write of the files is one step of `orders`) and with every memory."""
    first: list[str] = []
    for _ in orders:
        first.append(spelled(planned(org, remembered(org))))
    assert len(set(first)) == 1, "a first apply"
    applied_or_raise(org)
    seed = dice.random()
    plans: dict[str, list[Plan]] = {}
    for _ in orders:
        for name, state in memories(remembered(org), random.Random(seed)):
            plans.setdefault(name, []).append(planned(org, state))
    for name, created in plans.items():
        assert len({spelled(entry) for entry in created}) == 1, name
        assert [str(change.address) for change in created[0].changes if set(change.actions) & {Action.CREATE, Action.DELETE}] == [], name
        assert [(step.verb, str(step.address)) for step in created[0].steps] == [], name
        assert created[0].blocked == (), name


def applied_or_raise(org: Org) -> None:
    assert [(str(result.step.address), result.error) for result in org.apply().results if result.error is not None] == []


class _Orders:
    """Writes the project again in another order for each step; as it is first."""

    def __init__(self, org: Org, documents: dict[str, Any], dice: random.Random, times: int = ORDERS) -> None:
        self.org, self.documents, self.dice, self.times = org, documents, dice, times

    def __iter__(self) -> Iterator[None]:
        for number in range(self.times):
            for name, document in self.documents.items():
                page = shuffled(document, self.dice) if number else document
                if number and "include" in page:
                    page["include"] = self.dice.sample(page["include"], len(page["include"]))
                (self.org.project / name).write_text(yaml.safe_dump(page, allow_unicode=True, sort_keys=False), encoding="utf-8")
            yield


@costly
@pytest.mark.parametrize("seed", spread(range(2), 1))
def test_the_plan_of_the_example_is_the_same_in_every_order(tmp_path: Path, seed: int) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "project", ignore=shutil.ignore_patterns(".reconciler"))
    before = load(tmp_path / "project", kinds())
    org = Org(
        tmp_path,
        seed={**seed_document(before, kinds(), own_seed(before)), "tokens": [{"token": TOKEN, "member": "usr_ada", "access": "write"}]},
    )
    files = [*org.project.glob("*.yaml"), *org.project.glob("sites/*.yaml")]
    documents = {str(file.relative_to(org.project)): yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}
    dice = random.Random(seed)
    check(org, _Orders(org, documents, dice), dice)


def split(organization: dict[str, Any]) -> dict[str, Any]:
    """The project in two files beside the first: sites in one, everything else in the other; sites come first."""
    top = {
        "version": 1, "project": "test", "service": {"member": "ada@acme.example"}, "protect": [],
        "guards": {"maxDelete": {"percent": 100, "atLeast": 1000}}, "defaults": {"space": {"duplicateOf": "blank"}},
        "include": ["a.yaml", "b.yaml"],
    }  # fmt: skip
    lists = ("sites", "content", "teams", "members", "saml", "openapi")
    fields = {key: value for key, value in organization.items() if key not in lists}
    return {
        "reconciler.yaml": {**top, "organizations": {"acme": {"id": "org_acme", **fields}}},
        "a.yaml": {"organization": "acme", "sites": organization.get("sites", {})},
        "b.yaml": {"organization": "acme", **{key: organization[key] for key in lists[1:] if key in organization}},
    }


@costly
@sampled
@settings(
    max_examples=tries(8, 2),
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(anything(), st.integers(0, 1000))
def test_the_plan_of_any_organization_is_the_same_in_every_order(tree: dict[str, Any], seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        org, dice = Org(Path(folder)), random.Random(seed)
        check(org, _Orders(org, split(tree), dice, 3), dice)


def test_sites_before_content_and_the_state_lost_create_nothing(org: Org) -> None:
    tree = small()
    applied(org, {"sites": tree.pop("sites"), **tree})
    plan = planned(org, State("another", 0))
    assert {action for change in plan.changes for action in change.actions} == {Action.ADOPT}
    assert plan.steps == ()


def test_what_the_project_declares_has_one_digest_in_every_order(org: Org) -> None:
    digests = set()
    for _ in _Orders(org, split(small()), random.Random(7)):
        digests.add(org.load().digest)
    assert len(digests) == 1
