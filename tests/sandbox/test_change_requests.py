"""Change requests: numbers, statuses, filters, merging and updating."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.sandbox.content.merging import together
from tests.sandbox.box import BOB, CARA, CONTROL, DAY, RITA, Box

SPACE = "/spaces/spc_one"
REQUESTS = f"{SPACE}/change-requests"
EVERYWHERE = "/orgs/org_a/change-requests"
NODE = {"object": "block", "type": "paragraph", "nodes": []}


def made(box: Box, subject: str = "Words", template: str | None = None, **more: Any) -> Any:
    body: dict[str, Any] = {"subject": subject} | ({"template": {"id": template}} if template else {})
    return box.post(REQUESTS, body, **more)


def referring(to: Any) -> Any:
    return {"template": {"id": "x", "params": {"contentRefs": {"a": to}}}}


def titles(box: Box, base: str) -> list[str]:
    return [page["title"] for page in box.get(f"{base}/content/pages")["pages"]]


def template(box: Box, id: str, **more: Any) -> None:
    answer = box.send("POST", f"{SPACE}/content/template", {"id": id, **more})
    assert (answer.status_code, answer.content) == (201, b"")


def test_a_revision_that_a_merge_made_shows_the_change_request_it_came_from(box: Box) -> None:
    request = made(box, template="new")
    box.post(f"{REQUESTS}/{request['number']}/merge", status=200)
    revision = box.get(f"{SPACE}/content")
    assert (revision["type"], revision["mergedFrom"]) == ("merge", box.get(f"{REQUESTS}/{request['number']}"))
    template(box, "later")
    assert "mergedFrom" not in box.get(f"{SPACE}/content")


# -- making and reading ------------------------------------------------------------------------------------------------------------


def test_a_new_change_request_is_a_draft_with_the_documented_fields(box: Box) -> None:
    now = box.clock("2031-05-06T07:08:09Z")
    one = made(box)
    named = "object id number status subject createdBy createdAt updatedAt space revision revisionInitial comments outdated urls"
    assert " ".join(sorted(one)) == " ".join(sorted(named.split()))
    assert (one["object"], one["number"], one["status"], one["subject"]) == ("change-request", 1, "draft", "Words")
    assert one["createdAt"] == one["updatedAt"] == now
    assert one["revisionInitial"] == box.get(SPACE)["revision"]
    assert one["revision"] != one["revisionInitial"]
    assert one["createdBy"]["id"] == "usr_ada"
    assert (one["comments"], one["outdated"]) == (0, False)


def test_numbers_count_per_space_and_stand_for_ids_in_paths(box: Box) -> None:
    first, second, other = made(box), made(box), box.post("/spaces/spc_two/change-requests", {})
    assert (first["number"], second["number"], other["number"]) == (1, 2, 1)
    assert box.get(f"{REQUESTS}/2") == second == box.get(f"{REQUESTS}/{second['id']}")
    assert box.refused("GET", f"{REQUESTS}/3", status=404) == "change request 3 not found"
    assert box.refused("GET", f"{REQUESTS}/{other['id']}", status=404)
    for wrong in ("0", "-1", "٣", "9" * 5000):
        box.refused("GET", f"{REQUESTS}/{wrong}", status=404)


def test_a_body_is_not_needed_and_unknown_properties_are_ignored(box: Box) -> None:
    assert box.post(REQUESTS)["subject"] == "Untitled"
    assert "mood" not in box.post(REQUESTS, {"mood": "good"})


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"subject": "x" * 101}, "subject"),
        ({"subject": 1}, "subject"),
        ({"template": {}}, "template.id"),
        (referring({}), "template.params.contentRefs.a.kind"),
        (referring({"kind": "openapi"}), "template.params.contentRefs.a.spec"),
        (referring({"kind": "openapi", "spec": "no"}), "template.params.contentRefs.a.spec"),
        (referring({"kind": "file", "file": "no"}), "template.params.contentRefs.a.file"),
    ],
)  # fmt: skip
def test_a_wrong_body_is_refused_and_makes_nothing(box: Box, body: Any, field: str) -> None:
    assert box.refused("POST", REQUESTS, body).startswith(field)
    assert box.get(SPACE)["changeRequests"] == 0


# -- lists -------------------------------------------------------------------------------------------------------------------------


def test_filters_look_at_who_made_who_worked_and_the_cluster(box: Box) -> None:
    by_ada = made(box)["id"]
    by_cara = box.post(REQUESTS, {"conversationsIssuesCluster": "clu_1"}, token=CARA)["id"]
    template(box, "Extra", changeRequestId=by_cara)
    for path in (REQUESTS, EVERYWHERE):
        assert box.ids(path, status="draft", creator="usr_cara") == [by_cara]
        assert set(box.ids(path, status="draft", contributor="usr_ada")) == {by_ada, by_cara}
        assert box.ids(path, status="draft", conversationsIssuesCluster="clu_1") == [by_cara]
        assert box.ids(path, status="draft", requestedReviewer="usr_ada") == []


def test_lists_are_newest_first_and_the_organizations_covers_all_spaces(box: Box) -> None:
    box.clock("2031-01-01T00:00:00Z")
    first = made(box)["id"]
    box.clock(advance=1)
    second = box.post("/spaces/spc_root/change-requests", {})["id"]
    box.clock(advance=1)
    third = made(box)["id"]
    assert (box.ids(REQUESTS, status="draft"), box.ids(EVERYWHERE, status="draft")) == ([third, first], [third, second, first])
    page = box.get(EVERYWHERE, status="draft", limit=2)
    assert (len(page["items"]), page["count"]) == (2, 3)
    assert box.ids(EVERYWHERE, status="draft", limit=2, page=page["next"]["page"]) == [first]
    box.delete("/spaces/spc_root")
    assert box.ids(EVERYWHERE, status="draft") == [third, first]


# -- changing ----------------------------------------------------------------------------------------------------------------------


def test_a_change_keeps_what_it_does_not_name_and_counts_again(box: Box) -> None:
    box.clock("2031-01-01T00:00:00Z")
    one = made(box)
    now = box.clock(advance=60)
    document = {"object": "document", "data": {"schemaVersion": 1}, "nodes": [NODE]}
    changed = box.patch(f"{REQUESTS}/1", {"description": document, "status": "open", "number": 7, "extra": 1})
    assert changed == one | {"description": document, "status": "open", "updatedAt": now}
    space = box.get(SPACE)
    assert (space["changeRequests"], space["changeRequestsOpen"], space["changeRequestsDraft"]) == (1, 1, 0)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"status": "merged"}, "status"),
        ({"subject": "x" * 101}, "subject"),
        ({"description": {"object": "x"}}, "description"),
        ({"description": None}, "description"),
    ],
)
def test_a_wrong_change_is_refused(box: Box, body: Any, field: str) -> None:
    made(box)
    assert box.refused("PATCH", f"{REQUESTS}/1", body).startswith(field)


# -- merging and updating ----------------------------------------------------------------------------------------------------------


def test_updating_what_is_up_to_date_changes_nothing(box: Box) -> None:
    one = made(box)
    assert box.post(f"{REQUESTS}/1/update", status=200) == {"revision": one["revision"], "result": "update"}
    assert box.get(f"{REQUESTS}/1") == one


def test_an_outdated_one_without_conflicts_can_be_merged(box: Box) -> None:
    made(box, template="Mine")
    template(box, "Theirs")
    assert (box.post(f"{REQUESTS}/1/merge", status=200)["result"], sorted(titles(box, SPACE))) == ("merge", ["Mine", "Page", "Theirs"])


def test_conflicts_stop_a_merge_and_an_update_settles_them_for_the_change_request(box: Box) -> None:
    one = made(box, template="Guide")
    template(box, "Guide")
    space = box.get(SPACE)
    assert (box.post(f"{REQUESTS}/1/merge", status=200), box.get(SPACE)) == ({"revision": one["revision"], "result": "conflicts"}, space)
    assert box.get(f"{REQUESTS}/1")["status"] == "draft"
    assert box.post(f"{REQUESTS}/1/update", status=200)["result"] == "conflicts"
    assert box.post(f"{REQUESTS}/1/merge", status=200)["result"] == "merge"
    assert sorted([page["path"] for page in box.get(f"{SPACE}/content/pages")["pages"]]) == ["guide", "guide-2", "page"]


def test_what_is_merged_is_not_merged_again_unless_it_is_opened_again(box: Box) -> None:
    made(box, template="Guide")
    template(box, "Theirs")
    box.post(f"{REQUESTS}/1/merge", status=200)
    for verb in ("merge", "update"):
        assert box.refused("POST", f"{REQUESTS}/1/{verb}", status=409).endswith("is merged")
    template(box, "Later")
    box.patch(f"{REQUESTS}/1", {"status": "open"})
    assert box.get(f"{REQUESTS}/1")["outdated"]
    box.post(f"{REQUESTS}/1/merge", status=200)
    assert sorted(titles(box, SPACE)) == ["Guide", "Later", "Page", "Theirs"]


def test_a_change_request_of_a_locked_space_takes_a_template(box: Box) -> None:
    made(box)
    box.patch(SPACE, {"editMode": "locked"})
    template(box, "x", changeRequestId="1")
    assert titles(box, f"{REQUESTS}/1") == ["Page", "x"]


def test_a_pdf_is_of_all_pages_or_of_one(box: Box) -> None:
    made(box)
    page = box.get(f"{SPACE}/content/pages")["pages"][0]["id"]
    whole, single = box.get(f"{REQUESTS}/1/pdf"), box.get(f"{REQUESTS}/1/pdf", page=page, only="true")
    assert whole["url"] != single["url"]
    assert box.refused("GET", f"{REQUESTS}/1/pdf", params={"page": "nope"}, status=404) == "page nope not found"
    assert box.refused("GET", f"{REQUESTS}/1/pdf", params={"only": "true"}).startswith("only")


# -- who, and the life of the space ------------------------------------------------------------------------------------------------


def test_readers_may_look_and_strangers_may_not(box: Box) -> None:
    made(box)
    assert box.send("GET", f"{REQUESTS}/1", token=RITA).status_code == 200
    for method, path, body in (("POST", REQUESTS, {}), ("PATCH", f"{REQUESTS}/1", {}), ("POST", f"{REQUESTS}/1/merge", None)):
        assert box.refused(method, path, body, token=RITA, status=403)
        assert box.refused(method, path, body, token=BOB, status=404) == "space spc_one not found"
    box.refused("GET", EVERYWHERE, token=BOB, status=404)
    made(box, token=CONTROL)


def test_a_copy_of_a_space_has_its_content_and_none_of_its_change_requests(box: Box) -> None:
    made(box)
    box.post(f"{SPACE}/comments", {"body": {"markdown": "Hm"}}, status=200)
    copy = box.post(f"{SPACE}/duplicate")
    assert (copy["changeRequests"], copy["changeRequestsDraft"], copy["comments"]) == (0, 0, 0)
    assert box.ids(f"/spaces/{copy['id']}/change-requests", status="draft") == []
    assert titles(box, f"/spaces/{copy['id']}") == ["Page"]


def test_change_requests_go_with_their_space_to_another_organization_and_with_its_purge(box: Box) -> None:
    made(box)
    zoe = "token-zoe"
    box.post(f"{SPACE}/transfer", {"organization": "org_b"}, status=200, token=zoe)
    assert box.ids(EVERYWHERE, status="draft") == []
    listed = box.send("GET", "/orgs/org_b/change-requests", token=zoe, params={"status": "draft"}).json()["items"]
    assert [one["space"] for one in listed] == ["spc_one"]
    box.send("DELETE", SPACE, token=zoe)
    box.refused("POST", f"{REQUESTS}/1/merge", token=zoe, status=404)
    box.clock(advance=7 * DAY + 1)
    box.get("/orgs/org_a")
    assert box.store.select("change-request") == box.store.select("revision") == []


# -- page by page --------------------------------------------------------------------------------------------------------------------


def page(id: str, *below: Any, **fields: Any) -> Any:
    return {"id": id, "title": id, "path": id, "pages": list(below), **fields}


def shape(pages: list[Any]) -> Any:
    return [(page["id"], shape(page["pages"])) if page["pages"] else page["id"] for page in pages]


BASE = [page("a", page("b"), page("c")), page("d")]


@pytest.mark.parametrize(
    ("ours", "theirs", "tree", "conflicts"),
    [
        (BASE, [page("d")], ["d"], []),
        ([page("d"), page("a", page("b"), page("c"))], BASE, ["d", ("a", ["b", "c"])], []),
        ([page("a", page("c")), page("d", page("b"))], [*BASE, page("e")], [("a", ["c"]), ("d", ["b"]), "e"], []),
        ([page("a", page("b"), page("n"), page("c")), page("d")], [page("a", page("c"), page("x"), page("b")), page("d")],
         [("a", ["c", "x", "b", "n"]), "d"], []),
        ([page("d")], [page("a", page("b"), page("c"), page("new")), page("d")], ["d", "new"], []),
        ([page("a", page("b"), page("c"), emoji="x"), page("d")], [page("d")], ["d", "a"], ["a"]),
        ([page("a", page("b", emoji="1"), page("c")), page("d")], [page("a", page("b", emoji="2"), page("c")), page("d")],
         [("a", ["b", "c"]), "d"], ["b"]),
    ],
)  # fmt: skip
def test_pages_are_joined_one_by_one(ours: Any, theirs: Any, tree: Any, conflicts: list[str]) -> None:
    pages, found = together(BASE, ours, theirs)
    assert (shape(pages), found) == (tree, conflicts)


def test_pages_moved_into_each_other_are_all_still_there() -> None:
    pages, _ = together([page("a"), page("b")], [page("a", page("b"))], [page("b", page("a"))])
    assert shape(pages) in ([("a", ["b"])], [("b", ["a"])])
