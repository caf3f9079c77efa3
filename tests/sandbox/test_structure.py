"""What a site is made of, where the reference is silent: sections, groups, site spaces, their defaults and their paths."""

from __future__ import annotations

import pytest

from tests.sandbox.box import BOB, Box, Json


def paths(box: Box, at: str) -> list[str]:
    return [one["path"] for one in box.items(at)]


def defaults(box: Box, at: str) -> list[str]:
    return [one["id"] for one in box.items(at) if one["default"]]


def after(section: str) -> Json:
    return {"after": {"type": "site-section", "siteSection": section}}


# -- making a site ---------------------------------------------------------------------------------------------------------


def test_a_site_made_with_spaces_has_one_site_space_each_at_its_root(box: Box) -> None:
    site = box.site("spc_two", "spc_one")
    found = box.items(f"{site}/site-spaces")
    assert [(one["space"]["id"], one["default"]) for one in found] == [("spc_two", True), ("spc_one", False)]
    assert not any("section" in one for one in found)
    assert box.get(site)["siteSpaces"] == 2


def test_a_site_made_without_a_title_is_untitled(box: Box) -> None:
    made = box.post("/orgs/org_a/sites", {})
    assert (made["title"], made["type"], made["published"]) == ("Untitled", "basic", False)


def test_a_collection_made_without_a_title_is_untitled(box: Box) -> None:
    assert box.post("/orgs/org_a/collections", {})["title"] == "Untitled"


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


def test_the_first_section_takes_the_root_site_spaces_as_variants_in_their_order(box: Box) -> None:
    site = box.site("spc_two", "spc_one")
    before = box.ids(f"{site}/site-spaces")
    section = box.section(site, "Guides", "spc_root")
    found = box.items(f"{site}/site-spaces")
    assert [one["id"] for one in found[1:]] == before
    assert [one["default"] for one in found] == [True, False, False]
    assert {one["section"] for one in found} == {section}


def test_a_path_survives_the_way_into_a_section_and_back(box: Box) -> None:
    site = box.site("spc_one", "spc_two")
    first, _ = box.ids(f"{site}/site-spaces")
    box.patch(f"{site}/site-spaces/{first}", {"path": "v1.0_Beta"})
    section = box.section(site, "Guides", "spc_root")
    assert paths(box, f"{site}/site-spaces") == ["root", "v1.0_Beta", "two"]
    box.delete(f"{site}/sections/{section}")
    assert paths(box, f"{site}/site-spaces") == ["root", "v1.0_Beta", "two"]


def test_deleting_a_section_deletes_its_site_spaces(box: Box) -> None:
    site = box.site()
    first, second = box.section(site, "First"), box.section(site, "Second", "spc_two")
    box.delete(f"{site}/sections/{second}")
    assert [one["section"] for one in box.items(f"{site}/site-spaces")] == [first]


def test_deleting_the_last_section_brings_its_site_spaces_back_to_the_root(box: Box) -> None:
    site = box.site("spc_two")
    section = box.section(site, "Only")
    before = box.ids(f"{site}/site-spaces")
    box.delete(f"{site}/sections/{section}")
    found = box.items(f"{site}/site-spaces")
    assert [one["id"] for one in found] == before
    assert not any("section" in one for one in found)
    assert [one["default"] for one in found] == [True, False]
    assert box.items(f"{site}/sections") == []


def test_deleting_the_default_section_makes_the_first_remaining_one_the_default(box: Box) -> None:
    site = box.site()
    first, second, _ = (box.section(site, title) for title in ("Aa", "Bb", "Cc"))
    assert defaults(box, f"{site}/sections") == [first]
    box.delete(f"{site}/sections/{first}")
    assert defaults(box, f"{site}/sections") == [second]


def test_deleting_the_default_site_space_makes_the_first_remaining_one_the_default(box: Box) -> None:
    site = box.site("spc_one", "spc_two", "spc_root")
    first, second, _ = box.ids(f"{site}/site-spaces")
    box.delete(f"{site}/site-spaces/{first}")
    assert defaults(box, f"{site}/site-spaces") == [second]


def test_deleting_the_last_site_space_is_allowed(box: Box) -> None:
    site = box.site("spc_one")
    box.delete(f"{site}/site-spaces/{box.ids(f'{site}/site-spaces')[0]}")
    assert box.items(f"{site}/site-spaces") == []
    section = box.section(site, "Guides")
    box.delete(f"{site}/site-spaces/{box.ids(f'{site}/site-spaces')[0]}")
    assert [(one["id"], one["siteSpaces"]) for one in box.items(f"{site}/sections")] == [(section, [])]


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
    assert said == "position names a site space that does not stand beside it"


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


# -- paths -----------------------------------------------------------------------------------------------------------------------


def test_paths_come_from_titles_and_are_unique_on_their_level(box: Box) -> None:
    site = box.site("spc_one", "spc_one", "spc_one")
    assert paths(box, f"{site}/site-spaces") == ["one", "one-2", "one-3"]
    for title in ("Über uns & Co", "Uber Uns, Co!", "日本"):
        box.section(site, title)
    assert paths(box, f"{site}/sections") == ["uber-uns-co", "uber-uns-co-2", "page"]
    first, second = (box.post("/orgs/org_a/sites", {"title": "Guides"})["basename"] for _ in range(2))
    assert (first, second) == ("guides", "guides-2")


def test_a_path_that_is_taken_on_its_level_answers_400(box: Box) -> None:
    site = box.site("spc_one", "spc_two")
    first, second = box.ids(f"{site}/site-spaces")
    assert box.refused("PATCH", f"{site}/site-spaces/{first}", {"path": "two"}) == "path: two is taken on its level"
    assert box.patch(f"{site}/site-spaces/{second}", {"path": "two"})["path"] == "two"
    section, _ = box.section(site, "Aa"), box.section(site, "Bb")
    assert box.refused("PATCH", f"{site}/sections/{section}", {"path": "bb"}) == "path: bb is taken on its level"
    other = box.site(title="Other")
    assert box.refused("PATCH", other, {"basename": "docs"}) == "basename: docs is taken in the organization"


def test_the_same_space_may_stand_in_a_site_and_in_a_section_more_than_once(box: Box) -> None:
    site = box.site("spc_one")
    section = box.section(site, "Guides", "spc_one")
    box.post(f"{site}/site-spaces", {"spaceId": "spc_one", "sectionId": section})
    found = box.items(f"{site}/site-spaces")
    assert [one["space"]["id"] for one in found] == ["spc_one"] * 3
    assert len({one["path"] for one in found}) == 3


# -- what is written is not what is read --------------------------------------------------------------------------------------------


def test_a_proxy_is_read_with_the_whole_string_as_origin_and_the_published_address_as_target(box: Box) -> None:
    site = box.site()
    found = box.patch(site, {"proxy": "acme.example/docs/v2"})
    assert found["proxy"] == {"origin": "acme.example/docs/v2", "target": found["urls"]["published"].removeprefix("http://")}
    assert "proxy" not in box.patch(site, {"proxy": None})


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
    url = box.post(f"{site}/share-links", {"name": "Partners"})["urls"]["published"]
    key = url.split("key=")[1]
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
