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

What the sandbox does where nothing is known, line by line, as far as it is about what is answered and when:

order: position order, new siblings at the end
order: collections and spaces share one order, of which a list shows the spaces, not recursive
order: members, teams, sites, share links newest first
proxy: origin is the whole string, target the published address
site creation with spaces makes one site space each at the root
site creation without a title is Untitled, collections likewise
limits are enforced with 400 that names the field
limits: unknown body fields are ignored, wrong types answer 400
limits: 401 without or with an unknown token, 403 for a write with a read token
limits: 404 for what another organization owns
OpenAPI processing goes pending, progress, complete by the clock
OpenAPI processing ends with FETCH_ERROR unless the URL is a fixture or a file was given
one clock: date, createdAt, updatedAt, deletedAt, purge, processing and rate limits
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.box import ADA_READS, BOB, CONTROL, DAY, SEED, Box, Json

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
    assert (box.ids(f"{site}/site-spaces"), box.get(site)["siteSpaces"]) == ([second["id"]], 1)


def test_a_restored_space_is_in_its_collection_or_at_the_root_if_that_was_deleted(box: Box) -> None:
    """Restore puts it back where it was, or at the root when its collection is gone."""
    before = box.get(ONE)
    box.delete(ONE)
    added = box.post("/spaces/spc_two/duplicate")["id"]
    assert (box.post(f"{ONE}/restore", status=200), box.ids(GUIDES)) == (before, ["spc_one", "spc_two", added])
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
    joined = box.post(f"{site}/section-groups/{two}/sections", {"sectionId": section})
    assert [child["id"] for child in joined["children"]] == [section]
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


SPEC = "/orgs/org_a/openapi/api"
NOON = "2031-01-01T12:00:00Z"


def source(url: str) -> Any:
    return {"source": {"url": url}}


def test_order_position_order_new_siblings_at_the_end(box: Box) -> None:
    """Lists answer in position order; new siblings land at the end."""
    site = box.site()
    collections = [box.post("/orgs/org_a/collections", {"title": title})["id"] for title in ("Bb", "Aa")]
    assert box.ids("/orgs/org_a/collections", nested="false") == ["col_guides", *collections]
    sections = [box.section(site, title) for title in ("Bb", "Aa", "Cc")]
    groups = [box.post(f"{site}/section-groups", {"title": title})["id"] for title in ("Bb", "Aa")]
    variant = box.ids(f"{site}/site-spaces")[0]
    variants = [variant, *(box.post(f"{site}/site-spaces", {"spaceId": "spc_one"})["id"] for _ in range(2))]
    assert (box.ids(f"{site}/sections"), box.ids(f"{site}/section-groups")) == (sections, groups)
    assert box.ids(f"{site}/site-spaces")[:3] == variants
    box.move(f"{site}/sections/{sections[2]}", position={"before": {"type": "site-section", "siteSection": sections[0]}})
    box.move(f"{site}/site-spaces/{variant}")
    box.move("/spaces/spc_one")
    assert box.ids(f"{site}/sections") == [sections[2], *sections[:2]]
    assert [id for id in box.ids(f"{site}/site-spaces") if id in variants] == [*variants[1:], variant]
    assert box.ids(GUIDES) == ["spc_two", "spc_one"]


def test_order_collections_and_spaces_share_one_order_of_which_a_list_shows_the_spaces_not_recursive(box: Box) -> None:
    """Collections and spaces share one order, of which `collections/{id}/spaces` shows the spaces. That list is not recursive."""
    box.move("/collections/col_inner", position={"after": {"type": "space", "space": "spc_one"}})
    assert [kind for kind, _ in box.store.mixed("collection:col_guides")] == ["space", "collection", "space"]
    assert box.ids(GUIDES) == ["spc_one", "spc_two"]
    assert box.ids("/collections/col_inner/spaces") == ["spc_deep"]


def test_order_members_teams_sites_share_links_newest_first(box: Box) -> None:
    """Members, teams, sites, share links: newest first."""
    site = box.site()
    made: dict[str, list[str]] = {"/orgs/org_a/teams": [], "/orgs/org_a/sites": [site.rsplit("/", 1)[1]], f"{site}/share-links": []}
    for title in ("Bb", "Aa"):
        made["/orgs/org_a/teams"].append(box.put("/orgs/org_a/teams", {"title": title}, status=201)["id"])
        made["/orgs/org_a/sites"].append(box.post("/orgs/org_a/sites", {"title": title})["id"])
        made[f"{site}/share-links"].append(box.post(f"{site}/share-links", {"name": title})["id"])
    for path, ids in made.items():
        assert box.ids(path) == ids[::-1], path
    assert box.ids("/orgs/org_a/members") == ["usr_zoe", "usr_rita", "usr_cara", "usr_ada"]
    assert box.ids("/orgs/org_a/members", order="asc") == ["usr_ada", "usr_cara", "usr_rita", "usr_zoe"]


def test_proxy_origin_is_the_whole_string_target_the_published_address(box: Box) -> None:
    """`proxy` `host/path`: `origin` is the whole string written, `target` the site's own published address."""
    site = box.site()
    found = box.patch(site, {"proxy": "acme.example/docs/v2"})
    assert found["proxy"] == {"origin": "acme.example/docs/v2", "target": found["urls"]["published"].removeprefix("http://")}
    assert box.get(site) == found
    assert "proxy" not in box.patch(site, {"proxy": None})


def test_site_creation_with_spaces_makes_one_site_space_each_at_the_root(box: Box) -> None:
    """With `spaces` makes one site space each at the root."""
    site = box.site("spc_two", "spc_one")
    found = box.items(f"{site}/site-spaces")
    assert [(one["space"]["id"], one["default"]) for one in found] == [("spc_two", True), ("spc_one", False)]
    assert not any("section" in one for one in found)
    assert (box.get(site)["siteSpaces"], box.items(f"{box.site()}/site-spaces")) == (2, [])


def test_site_creation_without_a_title_is_untitled_collections_likewise(box: Box) -> None:
    """Without a title the title is `Untitled`. Collections likewise."""
    made = box.post("/orgs/org_a/sites", {})
    assert (made["title"], made["type"], made["published"]) == ("Untitled", "basic", False)
    assert box.post("/orgs/org_a/collections", {})["title"] == "Untitled"


def test_limits_are_enforced_with_400_that_names_the_field(box: Box) -> None:
    """Limits are enforced with 400 and a message that names the field, and the object stays as it is."""
    before = box.get("/spaces/spc_one")
    for body, field in (({"title": "x" * 51}, "title"), ({"emoji": "x" * 51, "title": "New"}, "emoji"), ({"editMode": "x"}, "editMode")):
        assert box.refused("PATCH", "/spaces/spc_one", body).startswith(f"{field}: ")
    assert box.get("/spaces/spc_one") == before


def test_limits_unknown_body_fields_are_ignored_wrong_types_answer_400(box: Box) -> None:
    """Unknown body fields are ignored as the reference's objects are open; wrong types answer 400."""
    found = box.patch("/spaces/spc_one", {"title": "New", "colour": "red", "id": "spc_other", "organization": "org_b"})
    assert (found["title"], found["id"], found["organization"]) == ("New", "spc_one", "org_a")
    assert "colour" not in found
    strange: list[Any] = [7, None, True, [], {}, 1.5]
    for wrong in strange:
        assert box.refused("PATCH", "/spaces/spc_one", {"title": wrong}).startswith("title: ")


def test_limits_401_without_or_with_an_unknown_token_403_for_a_write_with_a_read_token(box: Box) -> None:
    """401 without or with an unknown token, 403 for a write with a read token."""
    for method in ("GET", "PATCH", "DELETE"):
        for token in (None, "token-of-nobody"):
            box.refused(method, "/spaces/spc_one", {} if method == "PATCH" else None, status=401, token=token)
    assert box.send("GET", "/spaces/spc_one", token=ADA_READS).status_code == 200
    for method in ("PATCH", "DELETE"):
        box.refused(method, "/spaces/spc_one", {} if method == "PATCH" else None, status=403, token=ADA_READS)
    assert "deletedAt" not in box.get("/spaces/spc_one")


def test_limits_404_for_what_another_organization_owns(box: Box) -> None:
    """404 for what another organization owns."""
    site = box.site("spc_one")
    box.post("/spaces/spc_one/change-requests")
    foreign = ("/spaces/spc_one", "/spaces/spc_one/content", "/spaces/spc_one/change-requests/1", "/collections/col_guides", "/orgs/org_a")
    for path in (*foreign, site, f"{site}/sections", "/orgs/org_a/members/usr_ada", "/orgs/org_a/search?query=x"):
        box.refused("GET", path, status=404, token=BOB)
    for method, path, body in (("PATCH", "/spaces/spc_one", {}), ("DELETE", "/spaces/spc_one", None), ("POST", f"{site}/publish", None)):
        box.refused(method, path, body, status=404, token=BOB)
    assert "deletedAt" not in box.get("/spaces/spc_one")


def test_openapi_processing_goes_pending_progress_complete_by_the_clock(box: Box) -> None:
    """Goes pending, progress, complete after a delay of the settable clock; again with every PUT."""
    box.clock(NOON)
    for status in (201, 200):
        seen = [box.put(SPEC, source("https://example.com/api.json"), status=status)["processingState"]]
        for _ in range(3):
            seen.append(box.get(SPEC)["processingState"])
            box.clock(advance=1)
        assert seen == ["pending", "pending", "progress", "complete"]


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://example.com/api.json", "FETCH_ERROR"),
        ("https://fixtures.example/openapi.json", None),
        ("https://given.example/a.yaml", None),
    ],
)
def test_openapi_processing_ends_with_fetch_error_unless_the_url_is_a_fixture_or_a_file_was_given(
    tmp_path: Path, url: str, code: str | None
) -> None:
    """A URL that is not one of the sandbox's own fixtures ends with FETCH_ERROR unless a file was given for it."""
    given = {"organization": "org_a", "slug": "given", "sourceURL": "https://given.example/a.yaml", "file": "openapi: 3.1.0"}
    box = Box(tmp_path, SEED | {"openapi": [given]})
    box.clock(NOON)
    box.put(SPEC, source(url), status=201)
    box.clock(advance=2)
    shown = box.get(SPEC)
    assert (shown["processingState"], shown["lastProcessedAt"]) == ("complete", "2031-01-01T12:00:02.000Z")
    assert (shown.get("lastProcessErrorCode"), "lastVersion" in shown) == (code, code is None)
    assert [one["code"] for one in shown.get("lastProcessedErrors", [])] == ([code] if code else [])
    box.close()


def test_one_clock_date_createdat_updatedat_deletedat_purge_processing_and_rate_limits(box: Box) -> None:
    """`Date`, `createdAt`, `updatedAt`, `deletedAt`, purge, processing delays and `X-RateLimit-Reset` all come from the settable clock."""
    now = box.clock(NOON)
    assert box.post("/orgs/org_a/sites", {})["createdAt"] == box.post("/spaces/spc_two/duplicate")["createdAt"] == now
    later = box.clock(advance=90)
    assert box.patch("/spaces/spc_one", {"title": "New"})["updatedAt"] == later == "2031-01-01T12:01:30.000Z"
    box.put(SPEC, source("https://example.com/api.json"), status=201)
    box.delete("/spaces/spc_one")
    assert box.get("/spaces/spc_one")["deletedAt"] == later
    rules = [{"fault": "rate-limit", "limit": 9, "window": 60, "operation": "GET *"}]
    assert box.send("PUT", "/_sandbox/faults", {"rules": rules}, token=CONTROL).status_code == 200
    answer = box.send("GET", "/orgs")
    assert answer.headers.get_list("Date") == ["Wed, 01 Jan 2031 12:01:30 GMT"]
    assert answer.headers["X-RateLimit-Reset"] == "1925035320"  # 12:02:00
    assert box.get(SPEC)["processingState"] == "pending"
    box.clock(advance=7 * DAY)
    assert box.get(SPEC)["processingState"] == "complete"
    box.refused("GET", "/spaces/spc_one", status=404)
