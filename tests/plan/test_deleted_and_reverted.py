"""A line that is taken out with consent and written again: while the service can restore the space, it comes back with its pages."""

from __future__ import annotations

from typing import Any

from reconciler.model import Action
from reconciler.plan.drift import DriftWord
from reconciler.report.text import plan_text
from tests.harness import Org
from tests.outside import drifted
from tests.small import applied, node, settled, small

SIX = {"space": "six", "title": "Six"}


def without_six() -> dict[str, Any]:
    tree = small()
    tree["content"] = [entry for entry in tree["content"] if entry.get("space") != "six"]
    return tree


def deleted(acme: Org) -> str:
    """Delete the space six with consent; its id."""
    id = acme.id("acme/space/six")
    acme.write(without_six(), removed=[{"address": "acme/space/six", "action": "delete"}])
    acme.apply()
    assert acme.call("GET", f"/spaces/{id}")["deletedAt"] is not None
    return id


def actions(acme: Org, address: str) -> list[Action]:
    return [action for change in acme.plan().changes if str(change.address) == address for action in change.actions]


def test_the_space_is_restored_and_not_copied(acme: Org) -> None:
    id = deleted(acme)
    acme.write(small())
    assert Action.RESTORE in actions(acme, "acme/space/six")
    assert Action.CREATE not in actions(acme, "acme/space/six")
    acme.apply()
    settled(acme)
    assert acme.id("acme/space/six") == id
    assert acme.call("GET", f"/spaces/{id}").get("deletedAt") is None


def test_it_gets_the_title_and_the_place_that_the_line_says_now(acme: Org) -> None:
    id = deleted(acme)
    tree = without_six()
    node(tree, "other")["content"].append({"space": "six", "title": "Sixth"})
    acme.write(tree)
    acme.apply()
    settled(acme)
    now = acme.call("GET", f"/spaces/{id}")
    assert (now["title"], now["parent"]) == ("Sixth", acme.id("acme/collection/other"))


def test_adopt_never_asks_for_an_empty_one(acme: Org) -> None:
    id = deleted(acme)
    tree = without_six()
    tree["content"].append({**SIX, "adopt": "never"})
    acme.write(tree)
    assert Action.CREATE in actions(acme, "acme/space/six")
    acme.apply()
    assert acme.id("acme/space/six") != id


def test_one_that_people_created_in_its_place_is_adopted(acme: Org) -> None:
    deleted(acme)
    copy = acme.call("POST", "/spaces/spc_blank/duplicate")["id"]
    acme.call("PATCH", f"/spaces/{copy}", {"title": "Six"})
    acme.write(small())
    assert Action.ADOPT in actions(acme, "acme/space/six")
    acme.apply()
    assert acme.id("acme/space/six") == copy


def test_one_that_people_restored_themselves_is_adopted(acme: Org) -> None:
    id = deleted(acme)
    acme.call("POST", f"/spaces/{id}/restore")
    acme.call("PATCH", f"/spaces/{id}", {"title": "Six again"})
    acme.write(small())
    assert Action.ADOPT in actions(acme, "acme/space/six")
    acme.apply()
    assert acme.id("acme/space/six") == id


def test_where_it_cannot_be_read_nothing_is_created_in_its_place(acme: Org) -> None:
    id = deleted(acme)
    acme.write(small())
    blocked = {str(row.address): row.reason for row in acme.plan(failing=(id,)).blocked}
    assert "it could not be read" in blocked["acme/space/six"]


def test_deleted_and_created_at_another_time_it_is_the_latest_that_is_restored(acme: Org) -> None:
    first = deleted(acme)
    tree = without_six()
    tree["content"].append({**SIX, "adopt": "never"})
    acme.write(tree)
    acme.apply()
    second = deleted(acme)
    assert first != second
    applied(acme, small())
    assert acme.id("acme/space/six") == second


def test_what_our_own_run_deleted_is_not_called_drift(acme: Org) -> None:
    deleted(acme)
    acme.write(small())
    plan = acme.plan()
    (change,) = [change for change in plan.changes if str(change.address) == "acme/space/six"]
    assert (Action.RESTORE in change.actions, change.deleted_by_us) == (True, True)
    assert "deleted outside" not in "".join(text for _, text in plan_text(plan))
    drift = drifted(acme)
    assert (drift.resources, drift.unjudged) == ((), ())


def test_what_somebody_else_deleted_is_still_drift(acme: Org) -> None:
    id = acme.id("acme/space/six")
    acme.call("DELETE", f"/spaces/{id}")
    plan = acme.plan()
    assert [change.deleted_by_us for change in plan.changes if str(change.address) == "acme/space/six"] == [False]
    assert "deleted outside Reconciler" in "".join(text for _, text in plan_text(plan))
    assert [(str(resource.address), resource.status) for resource in drifted(acme).resources] == [("acme/space/six", DriftWord.DELETED)]
