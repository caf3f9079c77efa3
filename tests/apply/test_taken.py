"""Booleans, enumerations, numbers and references come back as they were sent, or the step has failed and nothing is remembered as seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reconciler.model import Binding, StepStatus
from tests.meddling import Meddled
from tests.small import applied, node, small

LINK = "acme/site/docs/share-link/partners"


@pytest.fixture
def org(tmp_path: Path) -> Meddled:
    org = Meddled(tmp_path)
    applied(org, small())
    return org


def binding(org: Meddled, address: str) -> Binding:
    with org.store() as store:
        return next(one for at, one in store.read().bindings.items() if str(at) == address)


@pytest.mark.parametrize(("shown", "says"), [(True, "answered active: True"), (None, "does not show active")])
def test_an_update_that_does_not_come_back_has_failed(org: Meddled, shown: Any, says: str) -> None:
    tree = small()
    tree["sites"]["docs"]["shareLinks"]["partners"]["active"] = False
    org.write(tree)
    org.answered = {"share-link": {"active": shown}}
    outcome = org.apply()
    (result,) = outcome.results
    assert result.status is StepStatus.FAILED
    assert result.error == f"the service {says} where False was sent: not taken"
    assert binding(org, LINK).seen["active"] is True
    assert binding(org, LINK).sent["active"] is True


def test_a_reference_that_does_not_come_back_has_failed(org: Meddled) -> None:
    tree = small()
    tree["content"].append(tree["content"][1]["content"].pop(2))
    org.write(tree)
    org.answered = {"collection": {"parent": "col_elsewhere"}}
    (result,) = org.apply().results
    assert (str(result.step.address), result.status) == ("acme/collection/deep", StepStatus.FAILED)
    assert "parent" in str(result.error)


def test_an_object_created_with_other_values_is_tracked_and_failed_and_never_created_twice(org: Meddled) -> None:
    tree = small()
    tree["content"].append({"collection": "new", "title": "New", "content": []})
    node(tree, "other")["content"].append({"collection": "inner", "title": "Inner"})
    org.write(tree)
    org.answered = {"collection": {"parent": "col_elsewhere"}}
    outcome = org.apply()
    inner = next(result for result in outcome.results if str(result.step.address) == "acme/collection/inner")
    assert inner.status is StepStatus.FAILED
    assert "not taken" in str(inner.error)
    assert "parent" not in binding(org, "acme/collection/inner").seen
    made = binding(org, "acme/collection/inner").id
    org.answered = {}
    org.apply()
    assert binding(org, "acme/collection/inner").id == made
    assert org.plan().empty


def test_what_no_answer_showed_is_remembered_as_the_reading_after_the_run_shows_it(org: Meddled) -> None:
    tree = small()
    tree["teams"]["writers"]["title"] = "Authors"
    org.write(tree)
    org.answered = {"team": {"title": None}}
    outcome = org.apply()
    assert [(result.status, outcome.edited) for result in outcome.results] == [(StepStatus.DONE, ())]
    kept = binding(org, "acme/team/writers")
    assert (kept.sent["title"], kept.seen.get("title")) == ("Authors", "Authors")
