"""What a site is made of, where the reference is silent: sections, groups, site spaces, their defaults and their paths.

What happens to spaces and collections where the reference is silent: impossible changes and moves, great depth, transfers.

Section groups, where the reference is silent: what changes nothing, and great depth.
"""

from __future__ import annotations

import pytest

from tests.effort import calls
from tests.sandbox.box import BOB, CONTROL, ZOE, Box, Json


def paths(box: Box, at: str) -> list[str]:
    return [item["path"] for item in box.items(at)]


def defaults(box: Box, at: str) -> list[str]:
    return [item["id"] for item in box.items(at) if item["default"]]


def after(section: str) -> Json:
    return {"after": {"type": "site-section", "siteSection": section}}


# -- making a site ---------------------------------------------------------------------------------------------------------


def test_deleting_a_site_deletes_what_is_in_it_and_no_space(box: Box) -> None:
    site = box.site("spc_one")
    section = box.section(site, "Guides")
    box.delete(site)
    box.refused("GET", f"{site}/sections", status=404)
    assert box.store.find("section", section) is None
    assert "deletedAt" not in box.get("/spaces/spc_one")


# -- sections --------------------------------------------------------------------------------------------------------------


def test_a_new_section_has_its_space_as_first_and_default_variant(box: Box) -> None:
    site = box.site()
    made = box.post(f"{site}/sections", {"spaceId": "spc_two", "title": "Guides", "icon": "gear"})
    assert (made["object"], made["default"], made["path"], made["icon"]) == ("site-section", True, "guides", "gear")
    assert [(one["space"]["id"], one["default"], one["section"]) for one in made["siteSpaces"]] == [("spc_two", True, made["id"])]


def test_a_path_survives_the_way_into_a_section_and_back(box: Box) -> None:
    site = box.site("spc_one", "spc_two")
    first, _ = box.ids(f"{site}/site-spaces")
    box.patch(f"{site}/site-spaces/{first}", {"path": "v1.0_Beta"})
    section = box.section(site, "Guides", "spc_root")
    assert paths(box, f"{site}/site-spaces") == ["root", "v1.0_Beta", "two"]
    box.delete(f"{site}/sections/{section}")
    assert paths(box, f"{site}/site-spaces") == ["root", "v1.0_Beta", "two"]


def test_a_section_moves_among_those_of_its_level(box: Box) -> None:
    site = box.site()
    first, second, third = (box.section(site, title) for title in ("Aa", "Bb", "Cc"))
    box.move(f"{site}/sections/{third}", position={"before": {"type": "site-section", "siteSection": first}})
    assert box.ids(f"{site}/sections") == [third, first, second]
    box.move(f"{site}/sections/{third}", position=after(first))
    assert box.ids(f"{site}/sections") == [first, third, second]
    box.move(f"{site}/sections/{first}", position={})
    assert box.ids(f"{site}/sections") == [third, second, first]


def test_a_site_space_moves_within_its_row_only(box: Box) -> None:
    site = box.site("spc_one", "spc_two")
    first, second = box.ids(f"{site}/site-spaces")
    box.move(f"{site}/site-spaces/{first}", position={"after": {"type": "site-space", "siteSpace": second}})
    assert box.ids(f"{site}/site-spaces") == [second, first]
    box.section(site, "Aa")
    other = box.items(f"{site}/site-spaces")[0]["id"]
    box.section(site, "Bb", "spc_two")
    foreign = box.items(f"{site}/site-spaces")[-1]["id"]
    said = box.refused("POST", f"{site}/site-spaces/{other}/move", {"position": {"before": {"type": "site-space", "siteSpace": foreign}}})
    assert said == "position names a site space that is not a sibling"


# -- defaults are written on the parent and read on the child -----------------------------------------------------------------


def test_the_default_section_and_site_space_are_chosen_on_the_parent(box: Box) -> None:
    site = box.site()
    first, second = box.section(site, "Aa"), box.section(site, "Bb")
    made = box.post(f"{site}/site-spaces", {"spaceId": "spc_two", "sectionId": second})
    box.patch(site, {"defaultSiteSection": second})
    assert defaults(box, f"{site}/sections") == [second]
    box.patch(site, {"defaultSiteSpace": made["id"]})  # in the default section
    box.patch(f"{site}/sections/{first}", {"defaultSiteSpace": box.items(f"{site}/sections")[0]["siteSpaces"][0]["id"]})
    assert [[one["default"] for one in section["siteSpaces"]] for section in box.items(f"{site}/sections")] == [[True], [False, True]]
    assert box.ids(f"{site}/site-spaces", default="true")[1:] == [made["id"]]
    assert box.refused("PATCH", f"{site}/sections/{first}", {"defaultSiteSpace": made["id"]}).startswith("defaultSiteSpace: ")
    assert box.refused("PATCH", site, {"defaultSiteSpace": "sitesp_no"}).startswith("defaultSiteSpace: ")
    assert box.refused("PATCH", site, {"defaultSiteSection": "sitesc_no"}).startswith("defaultSiteSection: ")


def test_a_site_space_without_a_section_joins_the_default_section(box: Box) -> None:
    site = box.site()
    first, second = box.section(site, "Aa"), box.section(site, "Bb")
    assert box.post(f"{site}/site-spaces", {"spaceId": "spc_two"})["section"] == first
    box.patch(site, {"defaultSiteSection": second})
    assert box.post(f"{site}/site-spaces", {"spaceId": "spc_two"})["section"] == second


# -- what is written is not what is read --------------------------------------------------------------------------------------------


def test_null_removes_a_condition_and_absence_leaves_it(box: Box) -> None:
    site = box.site("spc_one")
    section = box.section(site, "Guides")
    for path in (f"{site}/sections/{section}", f"{site}/site-spaces/{box.ids(f'{site}/site-spaces')[0]}"):
        assert box.patch(path, {"condition": "visitor.beta"})["condition"] == "visitor.beta"
        assert box.patch(path, {})["condition"] == "visitor.beta"
        assert "condition" not in box.patch(path, {"condition": None})


@pytest.mark.parametrize(
    ("filter", "found"), [({"title": "GUI"}, 1), ({"published": "true"}, 1), ({"type": "premium"}, 0), ({"space": "spc_one"}, 1)]
)
def test_sites_are_filtered(box: Box, filter: dict[str, str], found: int) -> None:
    box.site("spc_one", title="Guides")
    box.post(f"{box.site(title='Other')}/publish", status=200)
    assert len(box.items("/orgs/org_a/sites", **filter)) == found


def test_a_share_links_key_lets_a_stranger_read_what_the_site_shows_and_nothing_else(box: Box) -> None:
    site = box.site("spc_one")
    section = box.section(site, "Guides", "spc_two")
    key = box.post(f"{site}/share-links", {"name": "Partners"})["urls"]["published"].split("key=")[1]
    paths = [f"{site}/sections", f"{site}/site-spaces", "/spaces/spc_one"]
    for path in paths:
        box.refused("GET", path, token=BOB, params={"shareKey": key}, status=404)  # not published yet
    box.post(f"{site}/publish", status=200)
    for path in paths:
        assert box.send("GET", path, token=BOB, params={"shareKey": key}).status_code == 200
        box.refused("GET", path, token=BOB, params={"shareKey": "wrong"}, status=404)
        box.refused("GET", path, token=BOB, status=404)
    box.refused("GET", "/spaces/spc_root", token=BOB, params={"shareKey": key}, status=404)
    box.refused("PATCH", f"{site}/sections/{section}", {"title": "Mine"}, token=BOB, params={"shareKey": key}, status=404)


def test_no_two_variants_of_a_site_share_an_address(box: Box) -> None:
    site = box.site()
    sections = [box.section(site, title) for title in ("Guides", "API")]
    box.post(f"{site}/site-spaces", {"spaceId": "spc_one", "sectionId": sections[0]})
    found = box.items(f"{site}/site-spaces")
    assert len({one["urls"]["published"] for one in found}) == len(found) == 3
    paths = {section["id"]: section["path"] for section in box.items(f"{site}/sections")}
    assert all(one["urls"]["published"].endswith(f"/{paths[one['section']]}/{one['path']}") for one in found)
    inside = [one for section in box.items(f"{site}/sections") for one in section["siteSpaces"]]
    assert {one["id"]: one["urls"] for one in inside} == {one["id"]: one["urls"] for one in found}


# -- a site of many sections --------------------------------------------------------------------------------------------------


def _effort(box: Box, site: str, number: int) -> tuple[int, int]:
    """What it takes to make, change, move and delete a section: calls of functions, and steps of SQLite in tens."""
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    def work() -> None:
        section = box.section(site, f"New {number}")
        box.patch(f"{site}/sections/{section}", {"path": f"p{number}"})
        box.patch(site, {"visibility": "unlisted", "basename": f"b{number}"})
        box.delete(f"{site}/sections/{section}")

    box.store.connection.set_progress_handler(step, 10)
    try:
        return calls(work), steps
    finally:
        box.store.connection.set_progress_handler(None, 0)


def test_work_on_a_section_takes_no_longer_where_the_site_has_more_of_them(box: Box) -> None:
    site = box.site()
    for i in range(3):
        box.section(site, f"Section {i}")
    _effort(box, site, 0)
    few = _effort(box, site, 1)
    for i in range(3, 40):
        box.section(site, f"Section {i}")
    other = box.site()
    many = _effort(box, site, 2)
    in_new = _effort(box, other, 3)
    assert all(after <= before * 1.3 for before, after in zip(few * 2, many + in_new, strict=True)), (few, many, in_new)


def test_the_first_section_in_the_order_of_visitors_becomes_the_default_when_the_default_one_goes(box: Box) -> None:
    site = box.site()
    default, second, third = (box.section(site, title) for title in ("Aa", "Bb", "Cc"))
    box.post(f"{site}/section-groups", {"title": "All", "sections": [third]})
    box.patch(f"{site}/sections/{third}", {"path": "first"})
    box.delete(f"{site}/sections/{default}")
    assert defaults(box, f"{site}/sections") == [second]
    box.delete(f"{site}/sections/{second}")
    assert defaults(box, f"{site}/sections") == [third]


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


def test_joining_the_group_one_is_in_changes_nothing(box: Box) -> None:
    site = box.site()
    first, second = box.section(site, "Aa"), box.section(site, "Bb")
    group = box.post(f"{site}/section-groups", {"title": "One", "sections": [first, second]})
    assert box.post(f"{site}/section-groups/{group['id']}/sections", {"sectionId": first}) == group


def test_leaving_a_group_one_is_not_in_changes_nothing(box: Box) -> None:
    site = box.site()
    section = box.section(site, "Aa")
    one = box.post(f"{site}/section-groups", {"title": "One", "sections": [section]})["id"]
    two = box.post(f"{site}/section-groups", {"title": "Two"})["id"]
    box.delete(f"{site}/section-groups/{two}/sections/{section}")
    assert box.items(f"{site}/sections")[0]["sectionGroup"] == one


def test_very_deep_groups_are_listed_like_any_other(box: Box) -> None:
    site = box.site()
    parent = None
    with box.store.write():
        for index in range(1200):
            made = {"id": f"g{index}", "title": "x", "organization": "org_a", "site": site.rsplit("/", 1)[1]}
            made |= {"sectionGroup": parent} if parent else {}
            box.store.add("group", "org_a", f"group:{parent}" if parent else f"structure:{made['site']}", made)
            parent = made["id"]
    assert (box.get(f"{site}/section-groups")["count"], box.items(f"{site}/sections")) == (1200, [])
