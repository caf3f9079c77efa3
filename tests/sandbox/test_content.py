"""What happens to spaces and collections where the reference is silent: impossible changes and moves, great depth, transfers."""

from __future__ import annotations

import pytest

from tests.sandbox.box import CONTROL, ZOE, Box

GUIDES = "/collections/col_guides/spaces"


# -- a deleted space -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "body"), [("PATCH", "", {"title": "x"}), ("POST", "/duplicate", None), ("POST", "/move", {"position": {}})]
)
def test_a_deleted_space_cannot_be_changed_copied_or_moved(box: Box, method: str, path: str, body: object) -> None:
    box.delete("/spaces/spc_one")
    assert box.refused(method, f"/spaces/spc_one{path}", body, status=404) == "space spc_one is deleted"


# -- deleting a collection -------------------------------------------------------------------------------------------------------------


def test_a_very_deep_collection_is_deleted_like_any_other(box: Box) -> None:
    parent = "col_guides"
    with box.store.write():
        for index in range(1500):
            made = {"id": f"col_{index}", "title": "x", "organization": "org_a", "defaultLevel": None, "parent": parent}
            box.store.add("collection", "org_a", f"collection:{parent}", made)
            parent = f"col_{index}"
    assert box.get("/orgs/org_a/collections")["count"] == 1502
    box.delete("/collections/col_guides")
    assert box.ids("/orgs/org_a/collections") == []


# -- one order for collections and spaces -----------------------------------------------------------------------------------------------


def test_without_a_position_a_move_goes_to_the_end(box: Box) -> None:
    assert (box.move("/spaces/spc_one")["parent"], box.ids(GUIDES)) == ("col_guides", ["spc_two", "spc_one"])


def test_parent_null_is_the_root_and_no_parent_stays(box: Box) -> None:
    assert "parent" not in box.move("/spaces/spc_one", parent=None)
    assert box.move("/spaces/spc_deep", position={})["parent"] == "col_inner"


def test_a_move_goes_before_or_after_the_named_space(box: Box) -> None:
    box.move("/spaces/spc_root", parent="col_guides", position={"after": {"type": "space", "space": "spc_one"}})
    assert box.ids(GUIDES) == ["spc_one", "spc_root", "spc_two"]
    box.move("/spaces/spc_two", position={"before": {"type": "space", "space": "spc_one"}})
    assert box.ids(GUIDES) == ["spc_two", "spc_one", "spc_root"]


def test_a_move_goes_before_or_after_the_named_collection(box: Box) -> None:
    box.move("/spaces/spc_one", position={"after": {"type": "collection", "collection": "col_inner"}})
    box.move("/spaces/spc_two", position={"before": {"type": "collection", "collection": "col_inner"}})
    assert [one["id"] for _, one in box.store.mixed("collection:col_guides")] == ["spc_two", "col_inner", "spc_one"]


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        (
            "/spaces/spc_one",
            {"position": {"after": {"type": "space", "space": "spc_root"}}},
            "position names an object that is not a sibling",
        ),
        ("/spaces/spc_one", {"position": {"after": {"type": "space", "space": "spc_one"}}}, "position names the moved object itself"),
        (
            "/spaces/spc_one",
            {"position": {"before": {"type": "space", "space": "spc_two"}, "after": {"type": "space", "space": "spc_two"}}},
            "position has both before and after",
        ),
        ("/collections/col_guides", {"parent": "col_guides"}, "parent is the collection itself or inside it"),
        ("/collections/col_guides", {"parent": "col_inner"}, "parent is the collection itself or inside it"),
    ],
)
def test_an_impossible_move_answers_400_and_changes_nothing(box: Box, path: str, body: object, message: str) -> None:
    before = (box.ids(GUIDES), box.items("/orgs/org_a/collections"))
    assert box.refused("POST", f"{path}/move", body) == message
    assert (box.ids(GUIDES), box.items("/orgs/org_a/collections")) == before


def test_a_thousand_moves_to_the_front_keep_the_order(box: Box) -> None:
    for _ in range(600):
        box.store.place("space", "spc_two", "collection:col_guides", before=("space", "spc_one"))
        box.store.place("space", "spc_one", "collection:col_guides", before=("space", "spc_two"))
    assert box.ids(GUIDES) == ["spc_one", "spc_two"]


# -- to another organization ---------------------------------------------------------------------------------------------------------------


def test_a_transfer_takes_a_collection_with_all_it_holds(box: Box) -> None:
    assert box.post("/collections/col_guides/transfer", {"organization": "org_b"}, status=200, token=ZOE)["organization"] == "org_b"
    box.refused("GET", "/spaces/spc_deep", status=404)
    assert box.send("GET", "/spaces/spc_deep", token=ZOE).json()["organization"] == "org_b"


def test_a_space_that_is_transferred_leaves_the_sites_of_its_organization(box: Box) -> None:
    site = box.site("spc_one", "spc_two")
    box.post("/spaces/spc_one/transfer", {"organization": "org_b"}, status=200, token=ZOE)
    assert [(item["space"]["id"], item["default"]) for item in box.items(f"{site}/site-spaces")] == [("spc_two", True)]


def test_a_space_that_is_transferred_out_of_a_collection_is_private(box: Box) -> None:
    assert box.get("/spaces/spc_deep")["visibility"] == "in-collection"
    moved = box.post("/spaces/spc_deep/transfer", {"organization": "org_b"}, status=200, token=ZOE)
    assert (moved["visibility"], "parent" in moved) == ("private", False)


def test_a_transfer_to_its_own_organization_answers_409(box: Box) -> None:
    said = box.refused("POST", "/spaces/spc_one/transfer", {"organization": "org_a"}, status=409)
    assert said == "space spc_one belongs to org_a already"


def test_the_control_token_acts_as_the_first_admin(box: Box) -> None:
    made = box.send("PUT", "/orgs/org_a/teams", {"title": "Made"}, token=CONTROL)
    assert made.status_code == 201
    assert box.ids("/orgs/org_a/teams", owner="usr_ada") == [made.json()["id"]]
