"""Random projects, edits by others and files: a saved plan lets nothing run but what it shows and what a fresh plan has too."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from reconciler.address import Selection
from reconciler.apply import ApplyOptions, apply
from reconciler.config.canonical import digest
from reconciler.errors import UsageError
from reconciler.kinds import load as kinds
from reconciler.model import Desired, Step, StepStatus
from reconciler.report.saved import Digests, PlanInputs, saved_plan
from reconciler.run.operation import EVERYTHING, Operation
from reconciler.run.planning import make
from reconciler.run.saved.approval import ApprovedPlan, approve
from reconciler.run.saved.plan_file import read
from reconciler.run.stages import Planned, PlanSource, narrow
from tests.harness import ORGANIZATION, Org
from tests.organizations import anything
from tests.proofs import costly, sampled, tries
from tests.small import node, small

NOW = datetime(2026, 11, 18, tzinfo=UTC)
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]

OPERATION = Operation(limits=EVERYTHING)


class Saving:
    """What `plan --out` and `apply --plan` do, without the command line."""

    def __init__(self, desired: Desired, key: bytes) -> None:
        self.desired, self.digests = desired, Digests(key, lambda value: value)

    def planned(self, planned: Planned, only: frozenset[Any] | None = None) -> Planned:
        return narrow(planned, OPERATION.only(only))

    def document(self, planned: Planned) -> Mapping[str, Any]:
        options = {"target": [], "exclude": [], "allowReplace": ["**"], "allowDelete": None, "allowExposure": []}
        inputs = PlanInputs("0", "sandbox:x", digest(self.desired), planned.state.lineage, planned.state.serial, options)
        document = saved_plan(planned.plan, kinds(), planned.actual, created_at=NOW, inputs=inputs, digests=self.digests)
        return dict(json.loads(json.dumps(document)))

    def approved(self, document: Mapping[str, Any], fresh: Planned) -> ApprovedPlan:
        return approve(document, fresh, describe=self.document, narrow=self.planned)


async def planned(org: Org, saving: Saving, client: Any, state: Any) -> Planned:
    return await make(PlanSource(client), kinds(), saving.desired, state, OPERATION)


def save(org: Org) -> Mapping[str, Any]:
    """The plan of the project as it is, as a document."""

    async def run() -> Mapping[str, Any]:
        with org.store() as store:
            saving = Saving(org.load().desired, store.digest_key())
            async with org.client() as client:
                return saving.document(await planned(org, saving, client, store.read()))

    return asyncio.run(run())


def carry_out(org: Org, document: Mapping[str, Any]) -> tuple[ApprovedPlan, Planned, list[tuple[str, str]], tuple[Any, ...]]:
    """Apply what holds of it: what was approved, the fresh plan, the requests that wrote, and the results."""

    async def run() -> tuple[ApprovedPlan, Planned, list[tuple[str, str]], tuple[Any, ...]]:
        with org.store() as store, store.lease(who="test", command="apply --plan") as journal:
            saving = Saving(org.load().desired, store.digest_key())
            async with org.client() as writer:
                fresh = await planned(org, saving, writer, journal.state())
                result = saving.approved(document, fresh)
                org.requests.clear()
                selection = Selection(only=result.only)
                outcome = await apply(
                    writer,
                    kinds(),
                    saving.desired,
                    result.planned.plan,
                    fresh.actual,
                    journal,
                    ApplyOptions(deadline=30.0, selection=selection),
                )
                return result, fresh, [request for request in org.requests if request[0] != "GET"], outcome.results

    return asyncio.run(run())


def told(step: Step) -> tuple[Any, ...]:
    return (step.address, step.verb, step.method, step.path, repr(step.body), repr(step.writes), step.target)


EDITS = st.lists(st.tuples(st.sampled_from(["rename", "delete", "team", "site"]), st.integers(0, 20)), max_size=3)


def edit(org: Org, what: str, number: int) -> None:
    """Something that somebody else does meanwhile."""
    base = f"/orgs/{ORGANIZATION}"
    match what:
        case "team":
            org.call("PUT", f"{base}/teams", {"title": f"New {number}", "members": []})
        case "site":
            for site in org.items(f"{base}/sites")[:1]:
                org.call("PATCH", f"{base}/sites/{site['id']}", {"title": f"Site {number}"})
        case _:
            spaces = [entry["space"]["id"] for entry in org.items(f"{base}/members/usr_ada/spaces")]
            spaces = sorted(id for id in spaces if id != "spc_blank")
            if spaces and what == "rename":
                org.call("PATCH", f"/spaces/{spaces[number % len(spaces)]}", {"title": f"Space {number}"})
            elif spaces:
                org.call("DELETE", f"/spaces/{spaces[number % len(spaces)]}")


@costly
@sampled
@settings(max_examples=tries(20, 3), phases=(Phase.explicit, Phase.generate), suppress_health_check=SLOW)
@given(anything(), anything(), st.none() | anything(), EDITS)
def test_whatever_runs_was_shown_in_the_file_and_is_in_the_fresh_plan(
    first: dict[str, Any], second: dict[str, Any], third: dict[str, Any] | None, edits: list[tuple[str, int]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        org = Org(Path(folder))
        org.write(first)
        org.apply()
        org.write(second)
        document = save(org)
        for what, number in edits:
            edit(org, what, number)
        if third is not None:
            org.write(third)
        outcome, fresh, wrote, results = carry_out(org, document)
        assert {told(step) for step in outcome.planned.plan.steps} <= {told(step) for step in fresh.plan.steps}
        shown = {(step["address"], step["verb"], step["path"]) for step in document["steps"]}
        assert {(step["address"], step["verb"], step["path"]) for step in saved_steps(outcome.planned)} <= shown
        allowed = [
            (step["method"], re.compile("/v1" + re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(step["path"].removeprefix("/v1")))))
            for step in document["steps"]
        ]
        assert [
            entry for entry in wrote if not any(entry[0] == method and path.fullmatch(f"/v1{entry[1]}") for method, path in allowed)
        ] == []
        assert {str(change.address) for change in outcome.planned.plan.changes} <= {change["address"] for change in document["changes"]}
        assert {str(result.step.address): result.error for result in results if result.status is StepStatus.FAILED} == {}
        if third is None and not edits:
            assert (outcome.refused, outcome.new) == ({}, ())
        asked = {change["address"] for change in document["changes"]}
        assert asked <= {str(change.address) for change in outcome.planned.plan.changes} | set(outcome.refused)


def saved_steps(planned: Planned) -> list[dict[str, Any]]:
    from reconciler.report.documents import plan_document

    return list(plan_document(planned.plan, created_at=NOW)["steps"])


# -- tampering ----------------------------------------------------------------------------------------------------------------------


@cache
def scene() -> tuple[Saving, Planned, Mapping[str, Any]]:
    """A plan with an update, a move, a create, a delete and an exposure, and its file."""
    with tempfile.TemporaryDirectory() as folder:
        org = Org(Path(folder))
        tree = small()
        tree["sites"]["docs"]["visibility"] = "unlisted"
        org.write(tree)
        org.apply()
        tree["sites"]["docs"]["visibility"] = "public"
        tree["teams"] = {"readers": {"title": "Readers"}, **tree["teams"]}
        tree["sites"]["docs"]["structure"].reverse()
        node(tree, "one")["title"] = "Uno"
        del tree["sites"]["docs"]["shareLinks"]
        org.write(tree)

        async def run() -> tuple[Saving, Planned]:
            with org.store() as store:
                saving = Saving(org.load().desired, store.digest_key())
                async with org.client() as client:
                    return saving, await planned(org, saving, client, store.read())

        saving, fresh = asyncio.run(run())
        return saving, fresh, saving.document(fresh)


def leaves(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    parts = list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    return [at, *(place for key, part in parts for place in leaves(part, (*at, key)))] if at or parts else [at]


def put(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    if not at:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[at[0]] = put(value[at[0]], at[1:], new)
    return copy


@costly
@sampled
@settings(max_examples=tries(300, 20), suppress_health_check=[*SLOW, HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_tampering_with_any_leaf_lets_nothing_run_that_a_fresh_plan_has_not(tmp_path: Path, data: st.DataObject) -> None:
    saving, fresh, document = scene()
    every = leaves(document)
    others = st.sampled_from(every).map(lambda at: value_at(document, at))
    text = st.text(max_size=8)
    atoms = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), text, others)
    tampered = document
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.sampled_from(leaves(tampered)))
        tampered = put(tampered, at, data.draw(atoms))
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(tampered), encoding="utf-8")
    try:
        saved = read(file)
    except UsageError:
        return
    result = saving.approved(saved.document, fresh)
    fresh_steps = {told(step) for step in fresh.plan.steps}
    assert {told(step) for step in result.planned.plan.steps} <= fresh_steps
    assert {step["address"] for step in tampered["steps"]} <= {*map(str, touched(result.planned)), *result.refused}


def value_at(value: Any, at: tuple[Any, ...]) -> Any:
    for part in at:
        value = value[part]
    return value


def touched(planned: Planned) -> set[Any]:
    return {*(step.address for step in planned.plan.steps), *(change.address for change in planned.plan.changes)}


@pytest.mark.parametrize("part", ["steps", "preconditions", "requests", "changes", "exposures"])
def test_what_is_taken_out_of_the_file_does_not_run(part: str) -> None:
    saving, fresh, document = scene()
    for index, gone in enumerate(document[part]):
        rest = [entry for place, entry in enumerate(document[part]) if place != index]
        address = gone.get("address") or next(step["address"] for step in document["steps"] if step["id"] == gone["step"])
        result = saving.approved({**document, part: rest}, fresh)
        assert address not in map(str, touched(result.planned))
        assert address in result.refused
