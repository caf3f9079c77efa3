"""What happens to spaces and collections where the reference is silent: copies, deletes and the seven days after, moves."""

from __future__ import annotations

import pytest

from tests.sandbox.box import CONTROL, DAY, ZOE, Box

GUIDES = "/collections/col_guides/spaces"


# -- copies ------------------------------------------------------------------------------------------------------------------------


def test_a_copy_lands_beside_its_source_after_the_siblings(box: Box) -> None:
    made = box.post("/spaces/spc_one/duplicate")
    assert made["parent"] == "col_guides"
    assert made["title"] == "Copy of One"
    assert box.ids(GUIDES) == ["spc_one", "spc_two", made["id"]]


def test_a_copy_of_a_root_space_stands_at_the_root(box: Box) -> None:
    assert "parent" not in box.post("/spaces/spc_root/duplicate")


def test_the_title_of_a_copy_is_cut_to_50_characters(box: Box) -> None:
    box.patch("/spaces/spc_one", {"title": "x" * 50})
    assert box.post("/spaces/spc_one/duplicate")["title"] == "Copy of " + "x" * 42


def test_a_copy_has_new_ids_the_time_of_now_and_the_content_of_its_source(box: Box) -> None:
    source = box.get("/spaces/spc_one")
    now = box.clock("2031-05-06T07:08:09Z")
    made = box.post("/spaces/spc_one/duplicate")
    assert made["id"] != source["id"]
    assert made["revision"] != source["revision"]
    assert made["createdAt"] == made["updatedAt"] == now
    mine, theirs = (box.get(f"/spaces/{id}/content/pages")["pages"] for id in (made["id"], "spc_one"))
    assert [page["title"] for page in mine] == [page["title"] for page in theirs]
    assert mine[0]["id"] != theirs[0]["id"]


# -- a deleted space -----------------------------------------------------------------------------------------------------------------


def test_a_deleted_space_answers_with_deleted_at_for_seven_days_then_404(box: Box) -> None:
    box.clock("2031-01-01T00:00:00Z")
    box.delete("/spaces/spc_one")
    assert box.get("/spaces/spc_one")["deletedAt"] == "2031-01-01T00:00:00.000Z"
    box.clock(advance=7 * DAY - 1)
    assert box.get("/spaces/spc_one")["deletedAt"] == "2031-01-01T00:00:00.000Z"
    box.clock(advance=1)
    assert box.refused("GET", "/spaces/spc_one", status=404) == "space spc_one not found"


def test_lists_leave_a_deleted_space_out(box: Box) -> None:
    box.delete("/spaces/spc_one")
    assert box.ids(GUIDES) == ["spc_two"]
    reached = [one["space"]["id"] for one in box.items("/orgs/org_a/members/usr_ada/spaces")]
    assert sorted(reached) == ["spc_deep", "spc_root", "spc_two"]
    assert box.get("/orgs/org_a/members/usr_ada")["spaces"] == 3


def test_the_site_spaces_of_a_deleted_space_stay_until_it_is_purged(box: Box) -> None:
    site = box.site("spc_one", "spc_two")
    box.clock("2031-01-01T00:00:00Z")
    box.delete("/spaces/spc_one")
    first, second = box.items(f"{site}/site-spaces")
    assert first["space"]["deletedAt"] == "2031-01-01T00:00:00.000Z"
    assert "deletedAt" not in second["space"]
    box.clock(advance=7 * DAY)
    assert box.ids(f"{site}/site-spaces") == [second["id"]]
    assert box.get(site)["siteSpaces"] == 1


def test_purging_the_default_site_space_makes_the_first_remaining_one_the_default(box: Box) -> None:
    site = box.site("spc_one", "spc_two")
    box.delete("/spaces/spc_one")
    box.clock(advance=7 * DAY + 1)
    assert [one["default"] for one in box.items(f"{site}/site-spaces")] == [True]


def test_restore_puts_a_space_back_where_it_was(box: Box) -> None:
    before = box.get("/spaces/spc_one")
    box.delete("/spaces/spc_one")
    assert box.post("/spaces/spc_one/restore", status=200) == before
    assert box.ids(GUIDES) == ["spc_one", "spc_two"]


def test_restore_puts_a_space_at_the_root_when_its_collection_is_gone(box: Box) -> None:
    box.delete("/collections/col_guides")
    restored = box.post("/spaces/spc_deep/restore", status=200)
    assert "parent" not in restored
    assert "deletedAt" not in restored
    assert restored["visibility"] == "private"


def test_deleting_a_space_again_does_not_prolong_its_seven_days(box: Box) -> None:
    box.clock("2031-01-01T00:00:00Z")
    box.delete("/spaces/spc_one")
    box.clock(advance=DAY)
    box.delete("/spaces/spc_one")
    assert box.get("/spaces/spc_one")["deletedAt"] == "2031-01-01T00:00:00.000Z"


@pytest.mark.parametrize(("method", "path", "body"), [("PATCH", "", {"title": "x"}), ("POST", "/duplicate", None), ("POST", "/move", {})])
def test_a_deleted_space_cannot_be_changed_copied_or_moved(box: Box, method: str, path: str, body: object) -> None:
    box.delete("/spaces/spc_one")
    assert box.refused(method, f"/spaces/spc_one{path}", body, status=404) == "space spc_one is deleted"


# -- deleting a collection -------------------------------------------------------------------------------------------------------------


def test_deleting_a_collection_deletes_what_is_in_it_and_the_spaces_softly(box: Box) -> None:
    box.delete("/collections/col_guides")
    assert box.ids("/orgs/org_a/collections") == []
    box.refused("GET", "/collections/col_inner", status=404)
    for space in ("spc_one", "spc_two", "spc_deep"):
        assert "deletedAt" in box.get(f"/spaces/{space}")
    assert "deletedAt" not in box.get("/spaces/spc_root")


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
    assert box.move("/spaces/spc_one")["parent"] == "col_guides"
    assert box.ids(GUIDES) == ["spc_two", "spc_one"]


def test_parent_null_is_the_root_and_no_parent_stays(box: Box) -> None:
    assert "parent" not in box.move("/spaces/spc_one", parent=None)
    moved = box.move("/spaces/spc_deep", position={})
    assert moved["parent"] == "col_inner"


def test_a_move_goes_before_or_after_the_named_space(box: Box) -> None:
    box.move("/spaces/spc_root", parent="col_guides", position={"after": {"type": "space", "space": "spc_one"}})
    assert box.ids(GUIDES) == ["spc_one", "spc_root", "spc_two"]
    box.move("/spaces/spc_two", position={"before": {"type": "space", "space": "spc_one"}})
    assert box.ids(GUIDES) == ["spc_two", "spc_one", "spc_root"]


def test_collections_and_spaces_share_one_order_of_which_the_list_shows_the_spaces(box: Box) -> None:
    box.move("/collections/col_inner", position={"after": {"type": "space", "space": "spc_one"}})
    assert [kind for kind, _ in box.store.mixed("collection:col_guides")] == ["space", "collection", "space"]
    assert box.ids(GUIDES) == ["spc_one", "spc_two"]  # and not spc_deep: the list is not recursive


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        (
            "/spaces/spc_one",
            {"position": {"after": {"type": "space", "space": "spc_root"}}},
            "position names a space that does not stand there",
        ),
        ("/spaces/spc_one", {"position": {"after": {"type": "space", "space": "spc_one"}}}, "position names the moved object itself"),
        (
            "/spaces/spc_one",
            {"position": {"before": {"type": "space", "space": "spc_two"}, "after": {"type": "space", "space": "spc_two"}}},
            "position has both before and after",
        ),
        ("/collections/col_guides", {"parent": "col_guides"}, "parent is the collection itself or stands in it"),
        ("/collections/col_guides", {"parent": "col_inner"}, "parent is the collection itself or stands in it"),
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
    moved = box.post("/collections/col_guides/transfer", {"organization": "org_b"}, status=200, token=ZOE)
    assert moved["organization"] == "org_b"
    box.refused("GET", "/spaces/spc_deep", status=404)
    assert box.send("GET", "/spaces/spc_deep", token=ZOE).json()["organization"] == "org_b"


def test_a_space_that_is_transferred_leaves_the_sites_of_its_organization(box: Box) -> None:
    site = box.site("spc_one", "spc_two")
    box.post("/spaces/spc_one/transfer", {"organization": "org_b"}, status=200, token=ZOE)
    assert [(one["space"]["id"], one["default"]) for one in box.items(f"{site}/site-spaces")] == [("spc_two", True)]


def test_a_transfer_to_its_own_organization_answers_409(box: Box) -> None:
    said = box.refused("POST", "/spaces/spc_one/transfer", {"organization": "org_a"}, status=409)
    assert said == "space spc_one belongs to org_a already"


def test_the_control_token_acts_as_the_first_admin(box: Box) -> None:
    made = box.send("PUT", "/orgs/org_a/teams", {"title": "Made"}, token=CONTROL)
    assert made.status_code == 201
    assert box.ids("/orgs/org_a/teams", owner="usr_ada") == [made.json()["id"]]
