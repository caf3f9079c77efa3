"""Whole runs of the command through a service that refuses what the published schemas refuse: it never has a reason to."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from tests.organizations import SEED, SERVICE, small
from tests.reliability.scenarios import UPDATE
from tests.strict.journey import Journey, journey
from tests.strict.organizations import cleared, example, generated, handbook, of
from tests.strict.turns import carried, thinned, turned

ANSWERS = pytest.mark.parametrize("dressed", [pytest.param(False, id="plain", marks=pytest.mark.proof), pytest.param(True, id="dressed")])


def whole(steps: Journey, *edits: Any, organization: str) -> None:
    """Everything that people do with a project that is applied already: meddling and accepting, edits, undoing, importing."""
    edits = steps.meddle()
    assert all(address in steps.drift() for address in edits)
    steps.drift("--accept", edits[0], codes=(0, 2))
    steps.apply()
    steps.drift(codes=(0,))
    before = steps.files()
    for edit in edits:
        steps.write(edit(steps.files()))
        steps.apply()
    steps.run("undo", "last", "--yes", "--allow-exposure", "**", codes=(0, 4, 5))
    steps.write(before)
    steps.apply()
    steps.imported(organization)


@ANSWERS
def test_a_small_organization_is_applied_turned_around_and_looked_at(dressed: bool, tmp_path: Path) -> None:
    with journey(tmp_path, SEED, dressed=dressed) as steps:
        steps.write(of(small()))
        steps.run("apply", "--yes", "--create-state", "--allow-exposure", "**")
        steps.write(thinned(carried(turned(of(small())))))
        the_same_plan_where_the_service_answers_more_than_it_documents(steps)
        steps.write(carried(turned(of(small()))))
        steps.run("apply", "--yes", "--allow-replace", "**", "--allow-exposure", "**", codes=(0, 5))
        steps.drift(codes=(0,))
        assert {"DELETE", "PATCH", "POST", "PUT"} <= {method for method, _ in steps.proxy.sent}


def the_same_plan_where_the_service_answers_more_than_it_documents(steps: Journey) -> None:
    plans = []
    for dressed in (not steps.proxy.dressed, steps.proxy.dressed):
        steps.proxy.dressed = dressed
        plans.append({**steps.plan(), "createdAt": None, "forecast": None})
    assert plans[0]["steps"]
    assert plans[0] == plans[1]


@pytest.mark.proof
@pytest.mark.timeout(1800)
@ANSWERS
@pytest.mark.parametrize("name", ["acme", "minimal"])
def test_an_example_is_applied_edited_undone_and_imported(name: str, dressed: bool, tmp_path: Path) -> None:
    holds = example(name, tmp_path / "project")
    with journey(tmp_path, holds, dressed=dressed) as steps:
        steps.apply()
        whole(steps, *[turned, carried, thinned], organization=holds["organizations"][0]["id"])


def _updated(steps: Journey) -> None:
    for name, old, new in UPDATE:
        path = steps.project / name
        text = path.read_text(encoding="utf-8")
        assert old in text, old
        path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.proof
@pytest.mark.timeout(1800)
@ANSWERS
def test_the_changes_of_a_week_are_applied(dressed: bool, tmp_path: Path) -> None:
    with journey(tmp_path, example("acme", tmp_path / "project"), dressed=dressed) as steps:
        steps.apply()
        _updated(steps)
        steps.apply()


@pytest.mark.proof
@pytest.mark.timeout(1800)
@ANSWERS
def test_a_handbook_is_imported_and_then_edited(dressed: bool, tmp_path: Path) -> None:
    with journey(tmp_path, handbook(), dressed=dressed) as steps:
        steps.run("import", "--org", "org_handbook", "--create-state")
        steps.run("plan", "--detailed-exitcode")
        steps.write({name: _loose(content) for name, content in steps.files().items()})
        whole(steps, turned, carried, organization="org_handbook")


def _loose(content: Any) -> Any:
    loose = {"protect": [], "guards": {"maxDelete": {"percent": 100, "atLeast": 1000}}}
    return {**copy.deepcopy(content), **loose} if "version" in content else content


@pytest.mark.proof
@pytest.mark.timeout(1800)
@ANSWERS
@pytest.mark.parametrize("number", range(1, 4))
def test_a_random_organization_with_something_of_every_kind_becomes_another_and_itself(number: int, dressed: bool, tmp_path: Path) -> None:
    first, second = generated(number)
    with journey(tmp_path, SERVICE, dressed=dressed) as steps:
        steps.write(first)
        steps.apply()
        whole(steps, lambda _: second, turned, carried, thinned, organization="org_acme")


@pytest.mark.proof
@pytest.mark.timeout(1800)
@ANSWERS
def test_one_of_everything_is_applied_edited_undone_and_imported(dressed: bool, tmp_path: Path) -> None:
    with journey(tmp_path, SEED, dressed=dressed) as steps:
        steps.write(of(small()))
        steps.apply()
        whole(steps, turned, carried, thinned, cleared, organization="org_acme")
