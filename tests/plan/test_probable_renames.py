"""A vanished key beside a look-alike: both wait until the YAML says whether it is a rename."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.model import Action
from reconciler.model.drift import DriftWord
from tests.harness import Org
from tests.outside import drifted
from tests.report.made import plan_text
from tests.small import applied, node, settled, small, verbs


def renamed(kind: str) -> dict[str, Any]:
    """The small organization with one key of a kind changed, and nothing else."""
    tree = small()
    docs = tree["sites"]["docs"]
    if kind == "team":
        tree["teams"] = {"authors": tree["teams"]["writers"]}
        tree["saml"]["okta"]["defaultTeam"] = "authors"
    elif kind == "space":
        node(tree, "six")["space"] = "seven"
    elif kind == "collection":
        node(tree, "other")["collection"] = "others"
    elif kind == "site":
        tree["sites"] = {"handbook": docs, "flat": tree["sites"]["flat"]}
        tree["defaultContent"] = {"site": "handbook"}
    elif kind == "section":
        node(tree, "more")["section"] = "rest"
    elif kind == "group":
        node(tree, "reference")["group"] = "ref"
    elif kind == "site-space":
        node(tree, "more")["spaces"] = [{"key": "rest-five", "space": "five"}]
    elif kind == "share-link":
        docs["shareLinks"] = {"friends": docs["shareLinks"]["partners"]}
    elif kind == "saml":
        tree["saml"] = {"other": tree["saml"]["okta"]}
    return tree


PAIRS = {
    "team": ("acme/team/writers", "acme/team/authors"),
    "space": ("acme/space/six", "acme/space/seven"),
    "collection": ("acme/collection/other", "acme/collection/others"),
    "site": ("acme/site/docs", "acme/site/handbook"),
    "section": ("acme/site/docs/section/more", "acme/site/docs/section/rest"),
    "group": ("acme/site/docs/group/reference", "acme/site/docs/group/ref"),
    "site-space": ("acme/site/docs/site-space/more-five", "acme/site/docs/site-space/rest-five"),
    "share-link": ("acme/site/docs/share-link/partners", "acme/site/docs/share-link/friends"),
    "saml": ("acme/saml/okta", "acme/saml/other"),
}


@pytest.fixture(scope="module")
def living(tmp_path_factory: pytest.TempPathFactory) -> Org:
    """Applied once; the tests only plan."""
    org = Org(tmp_path_factory.mktemp("living"))
    applied(org, small())
    return org


@pytest.mark.parametrize("kind", PAIRS)
def test_a_key_that_changed_without_a_word_deletes_and_makes_nothing(living: Org, kind: str) -> None:
    old, new = PAIRS[kind]
    living.write(renamed(kind))
    plan = living.plan(allow_replace=("**",))
    assert [(step.verb, str(step.address)) for step in plan.steps if step.verb in ("create", "delete")] == []
    blocked = {str(entry.address): entry for entry in plan.blocked}
    for address in (old, new):
        assert "probably a rename" in blocked[address].reason
        assert f"previously: [{old.rsplit('/', 1)[1]}] on {new}" in blocked[address].remedy
        assert f"{{address: {old}, action: delete}}" in blocked[address].remedy


@pytest.mark.parametrize("kind", PAIRS)
def test_with_previously_it_is_the_same_object(tmp_path: Any, kind: str) -> None:
    org = Org(tmp_path)
    applied(org, small())
    old, new = PAIRS[kind]
    id = org.id(old)
    tree = renamed(kind)
    line = {"previously": [old.rsplit("/", 1)[1]]}
    if kind == "site-space":
        node(tree, "more")["spaces"][0] |= line
    else:
        of = {"team": "teams", "site": "sites", "saml": "saml"}.get(kind)
        key = new.rsplit("/", 1)[1]
        at = tree["sites"]["docs"]["shareLinks"][key] if kind == "share-link" else tree[of][key] if of else node(tree, key)
        at |= line
    assert [verb for verb in verbs(applied(org, tree)) if verb.split()[0] in ("create", "delete")] == []
    assert org.id(new) == id


@pytest.mark.parametrize("kind", ["team", "space", "share-link"])
def test_with_removed_the_one_goes_and_the_other_comes(tmp_path: Any, kind: str) -> None:
    org = Org(tmp_path)
    applied(org, small())
    old, new = PAIRS[kind]
    done = verbs(applied(org, renamed(kind), removed=[{"address": old, "action": "delete"}]))
    assert {f"create {new}", f"delete {old}"} <= set(done)


def test_one_variant_for_another_in_its_place_is_only_a_remark(living: Org) -> None:
    tree = small()
    node(tree, "more")["spaces"] = [{"key": "more-six", "space": "six"}]
    living.write(tree)
    plan = living.plan()
    assert plan.blocked == ()
    assert any("previously: [more-five]" in note for note in plan.notes)


def test_another_title_is_another_thing(living: Org) -> None:
    tree = small()
    tree["teams"] = {"authors": {"title": "Authors"}}
    del tree["saml"]["okta"]["defaultTeam"]
    living.write(tree)
    plan = living.plan()
    assert plan.blocked == ()
    assert {step.verb for step in plan.steps} == {"create", "delete"}


# -- deleted and declared again ----------------------------------------------------------------------------------------------------


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
