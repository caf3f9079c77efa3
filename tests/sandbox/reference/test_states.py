"""States and transitions, row by row:

space, active: DELETE space sets deletedAt
space, deleted: POST restore within 7 days makes it active
space, deleted: time, 7 days after deletion, permanently removed
space, editMode: PATCH space sets live or locked, and locked blocks all edits
change request, any: PATCH change request sets the given status
change request, open content: POST merge makes it merged
change request, outdated: POST update makes it up to date
comment, any: PUT comment makes it resolved or unresolved
site, any: POST publish sets published
share link, any: PATCH share link makes it active or inactive
translation, any: POST run triggers a run and returns no content
"""

from __future__ import annotations

import pytest

from tests.sandbox.box import BOB, DAY, Box

SPACE = "/spaces/spc_one"
REQUESTS = f"{SPACE}/change-requests"
NOON = "2031-01-01T12:00:00Z"


def template(box: Box, id: str, **more: str) -> None:
    """Content for the space, or for a change request of it."""
    assert box.send("POST", f"{SPACE}/content/template", {"id": id, **more}).status_code == 201


def titles(box: Box, base: str) -> list[str]:
    return [page["title"] for page in box.get(f"{base}/content/pages")["pages"]]


def test_space_active_delete_space_sets_deletedat(box: Box) -> None:
    """`deletedAt` set; the delete call answers 204 even if the space did not exist."""
    now = box.clock(NOON)
    before = box.get(SPACE)
    assert "deletedAt" not in before
    box.delete(SPACE)
    assert box.get(SPACE) == before | {"deletedAt": now}
    box.clock(advance=DAY)
    for space in (SPACE, "/spaces/spc_no"):
        box.delete(space)
    assert box.get(SPACE)["deletedAt"] == now


def test_space_deleted_post_restore_within_7_days_makes_it_active(box: Box) -> None:
    """Deleted within the last 7 days: active; returns the space."""
    box.clock(NOON)
    before = box.get(SPACE)
    for after in (0, 7 * DAY - 1):
        box.delete(SPACE)
        box.clock(advance=after)
        assert box.post(f"{SPACE}/restore", status=200) == before == box.get(SPACE)


def test_space_deleted_time_7_days_after_deletion_permanently_removed(box: Box) -> None:
    """7 days after deletion: permanently removed; cannot be restored."""
    box.clock(NOON)
    box.delete(SPACE)
    box.clock(advance=7 * DAY - 1)
    assert box.get(SPACE)["id"] == "spc_one"
    box.clock(advance=1)
    for method, path in (("GET", SPACE), ("POST", f"{SPACE}/restore"), ("GET", f"{SPACE}/content")):
        assert box.refused(method, path, status=404) == "space spc_one not found"
    box.clock(NOON)
    box.refused("GET", SPACE, status=404)


def test_space_editmode_patch_space_sets_live_or_locked_and_locked_blocks_all_edits(box: Box) -> None:
    """`editMode` in body: value set; locked blocks all edits."""
    box.post(REQUESTS, {"template": {"id": "Mine"}})
    assert box.patch(SPACE, {"editMode": "locked"})["editMode"] == box.get(SPACE)["editMode"] == "locked"
    for path, body in ((f"{REQUESTS}/1/merge", None), (f"{SPACE}/content/template", {"id": "Theirs"})):
        assert box.refused("POST", path, body, status=409) == "space spc_one is locked"
    assert titles(box, SPACE) == ["Page"]
    assert box.patch(SPACE, {"editMode": "live"})["editMode"] == "live"
    template(box, "Theirs")
    assert box.post(f"{REQUESTS}/1/merge", status=200)["result"] == "merge"
    assert sorted(titles(box, SPACE)) == ["Mine", "Page", "Theirs"]
    assert box.refused("PATCH", SPACE, {"editMode": "open"}).startswith("editMode: ")


def test_change_request_any_patch_change_request_sets_the_given_status(box: Box) -> None:
    """`status` in body: the given status."""
    box.post(REQUESTS)
    settable = ("draft", "open", "archived")
    for before in (*settable, "merged"):
        for status in settable:
            box.patch(f"{REQUESTS}/1", {"status": before if before != "merged" else "open"})
            if before == "merged":
                box.post(f"{REQUESTS}/1/merge", status=200)
            assert box.patch(f"{REQUESTS}/1", {"status": status})["status"] == status
            assert box.get(f"{REQUESTS}/1")["status"] == status
            assert box.ids(REQUESTS, status=status) == [box.get(f"{REQUESTS}/1")["id"]]


def test_change_request_open_content_post_merge_makes_it_merged(box: Box) -> None:
    """Answers `{revision, result: merge}`; `revisionMerged` is set."""
    before = box.get(SPACE)
    one = box.post(REQUESTS, {"template": {"id": "Guide"}})
    box.patch(f"{REQUESTS}/1", {"status": "open"})
    assert "revisionMerged" not in one
    assert titles(box, SPACE) == ["Page"]
    now = box.clock("2041-01-01T00:00:00Z")
    answer = box.post(f"{REQUESTS}/1/merge", status=200)
    after, merged = box.get(SPACE), box.get(f"{REQUESTS}/1")
    assert answer == {"revision": after["revision"], "result": "merge"}
    assert (merged["status"], merged["revisionMerged"], merged["outdated"]) == ("merged", after["revision"], False)
    assert after["revision"] != before["revision"]
    assert after["updatedAt"] == merged["updatedAt"] == now
    assert titles(box, SPACE) == ["Page", "Guide"]
    assert (after["changeRequests"], after["changeRequestsOpen"]) == (1, 0)
    content = box.get(f"{SPACE}/content")
    assert (content["parents"], content["type"]) == ([before["revision"], one["revision"]], "merge")


def test_change_request_outdated_post_update_makes_it_up_to_date(box: Box) -> None:
    """Pulls main content in; answers `{revision, result: update}`."""
    one = box.post(REQUESTS, {"template": {"id": "Mine"}})
    template(box, "Theirs")
    assert box.get(f"{REQUESTS}/1")["outdated"]
    assert titles(box, f"{REQUESTS}/1") == ["Page", "Mine"]
    answer = box.post(f"{REQUESTS}/1/update", status=200)
    updated = box.get(f"{REQUESTS}/1")
    assert answer == {"revision": updated["revision"], "result": "update"}
    assert updated["revision"] != one["revision"]
    assert updated["revisionInitial"] == one["revisionInitial"]
    assert updated["revisionMergedAncestor"] == box.get(SPACE)["revision"]
    assert not updated["outdated"]
    assert sorted(titles(box, f"{REQUESTS}/1")) == ["Mine", "Page", "Theirs"]


@pytest.mark.parametrize("base", [SPACE, f"{REQUESTS}/1"])
def test_comment_any_put_comment_makes_it_resolved_or_unresolved(box: Box, base: str) -> None:
    """`resolved` in body: resolved or unresolved."""
    box.post(REQUESTS)
    comment = f"{base}/comments/{box.post(f'{base}/comments', {'body': {'markdown': 'Why?'}}, status=200)['id']}"
    now = box.clock(NOON)
    for resolved in (True, True, False, False, True):
        shown = box.put(comment, {"resolved": resolved})
        assert shown == box.get(comment)
        assert (shown["status"], shown.get("resolvedAt")) == (("resolved", now) if resolved else ("open", None))
        assert ("resolvedBy" in shown) is resolved
        assert box.get(base)["comments"] == (0 if resolved else 1)


def test_site_any_post_publish_sets_published(box: Box) -> None:
    """`published` true; returns the site."""
    site = box.site("spc_one")
    assert box.get(site)["published"] is False
    for _ in range(2):
        shown = box.post(f"{site}/publish", status=200)
        assert (shown["object"], shown["published"]) == ("site", True)
        assert shown == box.get(site)
    assert box.patch(site, {"title": "Renamed", "published": False})["published"] is True


def test_share_link_any_patch_share_link_makes_it_active_or_inactive(box: Box) -> None:
    """`active` in body: active or inactive."""
    site = box.site("spc_one")
    box.post(f"{site}/publish", status=200)
    made = box.post(f"{site}/share-links", {"name": "Partners"})
    key = made["urls"]["published"].split("key=")[1]
    for active in (True, False, False, True):
        assert box.patch(f"{site}/share-links/{made['id']}", {"active": active}) == made | {"active": active}
        assert [item["active"] for item in box.items(f"{site}/share-links")] == [active]
        assert box.send("GET", "/spaces/spc_one", token=BOB, params={"shareKey": key}).status_code == (200 if active else 404)


def test_translation_any_post_run_triggers_a_run_and_returns_no_content(box: Box) -> None:
    """Run triggered; no content returned."""
    box.clock(NOON)
    made = box.post("/orgs/org_a/translations", {"source": {"space": "spc_one"}, "language": "fr"})
    path = f"/orgs/org_a/translations/{made['id']}"
    assert (made["status"], made["stats"]["runs"]) == ("pending", 0)
    for runs in (1, 2):
        answer = box.send("POST", f"{path}/run")
        assert (answer.status_code, answer.content) == (204, b"")
        box.clock(advance=60)
        shown = box.get(path)
        assert (shown["status"], shown["stats"]["runs"]) == ("completed", runs)
        assert box.get(f"/spaces/{shown['result']['space']}")["language"] == "fr"
