"""What the sandbox does where nothing is known, line by line, as far as it is about where things stand:

copy: lands beside its source, after the siblings
copy: titled Copy of, cut to 50
copy: with new ids, createdAt now, the content copied
deleted space: GET answers 200 with deletedAt for 7 days, then 404
deleted space: lists leave it out
deleted space: its site spaces stay until it is purged
a restored space is in its collection, or at the root if that was deleted
deleting a collection deletes the spaces and collections in it, softly for spaces
deleting a section deletes its site spaces
deleting a group leaves its sections at the root
deleting the default section makes the first remaining one the default
deleting the default site space makes the first remaining one the default
deleting the last is allowed
first section on a site with root site spaces: they become variants of it in their order
deleting the last section brings its site spaces back to the root
group membership: joining while in another group answers 400, leave first
groups nest through parent
a moved group goes before or after the named section or group of its level, else to the end
paths come from titles, unique per level with 2, 3
a PATCH to a path that is taken on its level answers 400
a site may contain a space more than once, also in one section
"""

from __future__ import annotations

from tests.sandbox.box import DAY, Box, Json

ONE = "/spaces/spc_one"
GUIDES = "/collections/col_guides/spaces"


def paths(box: Box, at: str) -> list[str]:
    return [item["path"] for item in box.items(at)]


def defaults(box: Box, at: str) -> list[bool]:
    return [item["default"] for item in box.items(at)]


def test_copy_lands_beside_its_source_after_the_siblings(box: Box) -> None:
    """Same parent, after the siblings."""
    made = box.post(f"{ONE}/duplicate")
    assert made["parent"] == "col_guides"
    assert box.ids(GUIDES) == ["spc_one", "spc_two", made["id"]]
    assert "parent" not in box.post("/spaces/spc_root/duplicate")


def test_copy_titled_copy_of_cut_to_50(box: Box) -> None:
    """Titled `Copy of <title>` cut to 50."""
    assert box.post(f"{ONE}/duplicate")["title"] == "Copy of One"
    box.patch(ONE, {"title": "x" * 50})
    assert box.post(f"{ONE}/duplicate")["title"] == "Copy of " + "x" * 42


def test_copy_with_new_ids_createdat_now_the_content_copied(box: Box) -> None:
    """With new ids, `createdAt` now, the content copied."""
    assert box.send("POST", f"{ONE}/content/template", {"id": "Guide"}).status_code == 201
    source = box.get(ONE)
    now = box.clock("2031-05-06T07:08:09Z")
    made = box.post(f"{ONE}/duplicate")
    assert made["id"] != source["id"]
    assert made["revision"] != source["revision"]
    assert made["createdAt"] == made["updatedAt"] == now
    mine, theirs = (box.get(f"/spaces/{id}/content/pages")["pages"] for id in (made["id"], "spc_one"))
    assert [page["title"] for page in mine] == [page["title"] for page in theirs] == ["Page", "Guide"]
    assert not {page["id"] for page in mine} & {page["id"] for page in theirs}


def test_deleted_space_get_answers_200_with_deletedat_for_7_days_then_404(box: Box) -> None:
    """`GET` answers 200 with `deletedAt` for 7 days, then 404."""
    now = box.clock("2031-01-01T00:00:00Z")
    box.delete(ONE)
    for seconds in (0, 7 * DAY - 1):
        box.clock(advance=seconds)
        assert box.get(ONE)["deletedAt"] == now
    box.clock(advance=1)
    assert box.refused("GET", ONE, status=404) == "space spc_one not found"


def test_deleted_space_lists_leave_it_out(box: Box) -> None:
    """Lists leave it out."""
    box.post("/integrations/words", {"organization": "org_a", "title": "Words"}, status=200)
    box.post("/integrations/words/installations", {"organization": "org_a"})
    request = box.post(f"{ONE}/change-requests")
    box.patch(f"{ONE}/change-requests/1", {"status": "open"})

    def listed() -> list[list[str]]:
        return [
            box.ids(GUIDES),
            [item["space"]["id"] for item in box.items("/orgs/org_a/members/usr_ada/spaces")],
            [one["space"] for one in box.items("/integrations/words/spaces")],
            box.ids("/orgs/org_a/search", query="page"),
            [one["space"] for one in box.items("/orgs/org_a/change-requests")],
        ]

    before = listed()
    assert request["space"] == "spc_one"
    assert all("spc_one" in ids for ids in before)
    box.delete(ONE)
    assert listed() == [[id for id in ids if id != "spc_one"] for ids in before]
    assert box.get("/orgs/org_a/members/usr_ada")["spaces"] == 3


def test_deleted_space_its_site_spaces_stay_until_it_is_purged(box: Box) -> None:
    """Its site spaces stay until it is purged, showing the space as deleted."""
    site = box.site("spc_one", "spc_two")
    now = box.clock("2031-01-01T00:00:00Z")
    box.delete(ONE)
    first, second = box.items(f"{site}/site-spaces")
    assert first["space"]["deletedAt"] == now
    assert "deletedAt" not in second["space"]
    box.clock(advance=7 * DAY - 1)
    assert box.ids(f"{site}/site-spaces") == [first["id"], second["id"]]
    box.clock(advance=1)
    assert box.ids(f"{site}/site-spaces") == [second["id"]]
    assert box.get(site)["siteSpaces"] == 1


def test_a_restored_space_is_in_its_collection_or_at_the_root_if_that_was_deleted(box: Box) -> None:
    """Restore puts it back where it was, or at the root when its collection is gone."""
    before = box.get(ONE)
    box.delete(ONE)
    added = box.post("/spaces/spc_two/duplicate")["id"]
    assert box.post(f"{ONE}/restore", status=200) == before
    assert box.ids(GUIDES) == ["spc_one", "spc_two", added]
    box.delete("/collections/col_guides")
    restored = box.post("/spaces/spc_deep/restore", status=200)
    assert not {"parent", "deletedAt"} & set(restored)
    assert restored["visibility"] == "private"


def test_deleting_a_collection_deletes_the_spaces_and_collections_in_it_softly_for_spaces(box: Box) -> None:
    """Deletes the spaces and collections in it (soft for spaces)."""
    box.delete("/collections/col_guides")
    assert box.ids("/orgs/org_a/collections") == []
    box.refused("GET", "/collections/col_inner", status=404)
    for space in ("spc_one", "spc_two", "spc_deep"):
        assert "deletedAt" in box.get(f"/spaces/{space}")
    assert "deletedAt" not in box.get("/spaces/spc_root")


def test_deleting_a_section_deletes_its_site_spaces(box: Box) -> None:
    """Deletes its site spaces."""
    site = box.site()
    first, second = box.section(site, "First"), box.section(site, "Second", "spc_two")
    box.delete(f"{site}/sections/{second}")
    assert [item["section"] for item in box.items(f"{site}/site-spaces")] == [first]


def test_deleting_a_group_leaves_its_sections_at_the_root(box: Box) -> None:
    """Leaves its sections at the root of the structure; so do its groups."""
    site = box.site()
    section, other = box.section(site, "Aa"), box.section(site, "Bb")
    outer = box.post(f"{site}/section-groups", {"title": "Outer", "sections": [section]})["id"]
    box.post(f"{site}/section-groups", {"title": "Inner", "parent": outer})
    box.delete(f"{site}/section-groups/{outer}")
    assert box.ids(f"{site}/sections") == [other, section]
    assert not any("sectionGroup" in one for one in [*box.items(f"{site}/sections"), *box.items(f"{site}/section-groups")])


def test_deleting_the_default_section_makes_the_first_remaining_one_the_default(box: Box) -> None:
    """The first remaining one becomes the default."""
    site = box.site()
    first, *_ = (box.section(site, title) for title in ("Aa", "Bb", "Cc"))
    assert defaults(box, f"{site}/sections") == [True, False, False]
    box.delete(f"{site}/sections/{first}")
    assert defaults(box, f"{site}/sections") == [True, False]


def test_deleting_the_default_site_space_makes_the_first_remaining_one_the_default(box: Box) -> None:
    """The first remaining one becomes the default; also where the space was purged."""
    site = box.site("spc_one", "spc_two", "spc_root")
    _, second, _ = box.ids(f"{site}/site-spaces")
    box.patch(site, {"defaultSiteSpace": second})
    box.delete(f"{site}/site-spaces/{second}")
    assert defaults(box, f"{site}/site-spaces") == [True, False]
    box.delete(ONE)
    box.clock(advance=7 * DAY + 1)
    assert defaults(box, f"{site}/site-spaces") == [True]


def test_deleting_the_last_is_allowed(box: Box) -> None:
    """Deleting the last is allowed: site spaces at the root and in a section, sections."""
    site = box.site("spc_one")
    box.delete(f"{site}/site-spaces/{box.ids(f'{site}/site-spaces')[0]}")
    assert box.items(f"{site}/site-spaces") == []
    section = box.section(site, "Guides")
    box.delete(f"{site}/site-spaces/{box.ids(f'{site}/site-spaces')[0]}")
    assert [(item["id"], item["siteSpaces"]) for item in box.items(f"{site}/sections")] == [(section, [])]
    box.delete(f"{site}/sections/{section}")
    assert box.items(f"{site}/sections") == []


def test_first_section_on_a_site_with_root_site_spaces_they_become_variants_of_it_in_their_order(box: Box) -> None:
    """They become variants of that section, in their order."""
    site = box.site("spc_two", "spc_one")
    before = box.ids(f"{site}/site-spaces")
    section = box.section(site, "Guides", "spc_root")
    found = box.items(f"{site}/site-spaces")
    assert [one["id"] for one in found[1:]] == before
    assert [one["default"] for one in found] == [True, False, False]
    assert {one["section"] for one in found} == {section}


def test_deleting_the_last_section_brings_its_site_spaces_back_to_the_root(box: Box) -> None:
    """Brings its site spaces back to the root."""
    site = box.site("spc_two")
    section = box.section(site, "Only")
    before = box.ids(f"{site}/site-spaces")
    box.delete(f"{site}/sections/{section}")
    found = box.items(f"{site}/site-spaces")
    assert [one["id"] for one in found] == before
    assert not any("section" in one for one in found)
    assert [one["default"] for one in found] == [True, False]


def test_group_membership_joining_while_in_another_group_answers_400_leave_first(box: Box) -> None:
    """Joining while in another group answers 400; leave first."""
    site = box.site()
    section = box.section(site, "Aa")
    one = box.post(f"{site}/section-groups", {"title": "One", "sections": [section]})["id"]
    two = box.post(f"{site}/section-groups", {"title": "Two"})["id"]
    said = f"section {section} is in another group; remove it from there first"
    assert box.refused("POST", f"{site}/section-groups/{two}/sections", {"sectionId": section}) == f"sectionId: {said}"
    assert box.refused("POST", f"{site}/section-groups", {"title": "Three", "sections": [section]}) == f"sections: {said}"
    assert box.ids(f"{site}/section-groups") == [one, two]
    box.delete(f"{site}/section-groups/{one}/sections/{section}")
    assert [child["id"] for child in box.post(f"{site}/section-groups/{two}/sections", {"sectionId": section})["children"]] == [section]
    assert box.items(f"{site}/sections")[0]["sectionGroup"] == two


def test_groups_nest_through_parent(box: Box) -> None:
    """Groups nest through `parent`."""
    site = box.site()
    outer = box.post(f"{site}/section-groups", {"title": "Outer"})
    inner = box.post(f"{site}/section-groups", {"title": "Inner", "parent": outer["id"]})
    deep = box.post(f"{site}/section-groups", {"title": "Deep", "parent": inner["id"]})
    assert [one.get("sectionGroup") for one in (outer, inner, deep)] == [None, outer["id"], inner["id"]]
    assert box.items(f"{site}/section-groups") == [outer, inner, deep]


def test_a_moved_group_goes_before_or_after_the_named_section_or_group_of_its_level_else_to_the_end(box: Box) -> None:
    """Before or after the named section of its level, else to the end."""
    site = box.site()
    first, second, inside = (box.section(site, title) for title in ("Aa", "Bb", "Cc"))
    one = box.post(f"{site}/section-groups", {"title": "One", "sections": [inside]})["id"]
    two = box.post(f"{site}/section-groups", {"title": "Two"})["id"]

    def beside(section: str, side: str) -> Json:
        return {side: {"type": "site-section", "id": section}}

    assert box.ids(f"{site}/sections") == [first, second, inside]
    box.move(f"{site}/section-groups/{one}", position=beside(first, "after"))
    assert box.ids(f"{site}/sections") == [first, inside, second]
    box.move(f"{site}/section-groups/{one}", position=beside(first, "before"))
    assert box.ids(f"{site}/sections") == [inside, first, second]
    box.move(f"{site}/section-groups/{one}", position={})
    assert (box.ids(f"{site}/sections"), box.ids(f"{site}/section-groups")) == ([first, second, inside], [two, one])
    box.move(f"{site}/section-groups/{two}", position={"after": {"type": "site-section-group", "id": one}})
    assert box.ids(f"{site}/section-groups") == [one, two]
    said = box.refused("POST", f"{site}/section-groups/{two}/move", {"position": beside(inside, "after")})
    assert said == "position names a section or a group on another level"


def test_paths_come_from_titles_unique_per_level_with_2_3(box: Box) -> None:
    """From titles (lower-case, hyphens), unique per level with `-2`, `-3`."""
    site = box.site("spc_one", "spc_one", "spc_one")
    assert paths(box, f"{site}/site-spaces") == ["one", "one-2", "one-3"]
    for title in ("Über uns & Co", "Uber Uns, Co!", "日本"):
        box.section(site, title)
    assert paths(box, f"{site}/sections") == ["uber-uns-co", "uber-uns-co-2", "page"]
    assert [box.post("/orgs/org_a/sites", {"title": "Guides"})["basename"] for _ in range(3)] == ["guides", "guides-2", "guides-3"]


def test_a_patch_to_a_path_that_is_taken_on_its_level_answers_400(box: Box) -> None:
    """A PATCH to a path that is taken on its level answers 400."""
    site = box.site("spc_one", "spc_two")
    first, second = box.ids(f"{site}/site-spaces")
    assert box.refused("PATCH", f"{site}/site-spaces/{first}", {"path": "two"}) == "path: two is taken on its level"
    assert box.patch(f"{site}/site-spaces/{second}", {"path": "two"})["path"] == "two"
    section, _ = box.section(site, "Aa"), box.section(site, "Bb")
    assert box.refused("PATCH", f"{site}/sections/{section}", {"path": "bb"}) == "path: bb is taken on its level"
    assert box.refused("PATCH", box.site(title="Other"), {"basename": "docs"}) == "basename: docs is taken in the organization"


def test_a_site_may_contain_a_space_more_than_once_also_in_one_section(box: Box) -> None:
    """More than once, also in one section."""
    site = box.site("spc_one")
    section = box.section(site, "Guides", "spc_one")
    box.post(f"{site}/site-spaces", {"spaceId": "spc_one", "sectionId": section})
    found = box.items(f"{site}/site-spaces")
    assert [one["space"]["id"] for one in found] == ["spc_one"] * 3
    assert len({one["path"] for one in found}) == 3
