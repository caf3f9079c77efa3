"""Links in the text of pages, what leads to a page or a file, and searching a space."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.box import BASE, BOB, CARA, RITA, Box
from tests.sandbox.library import REQUEST, SPACE
from tests.sandbox.test_space_content import base, box

__all__ = ["base", "box"]  # the fixtures

GUIDE = [
    ("ok", "page", "spc_one", "pag_start"),
    ("ok", "file", "spc_one", "fil_logo"),
    ("ok", "space", "spc_two", "spc_two"),
    ("ok", "page", "spc_two", "pag_two"),
    ("in-app", "url", "", f"{BASE}/app/x"),
    ("broken", "", "", ""),
    ("broken", "", "", ""),
    ("broken", "", "", ""),
]
START = [("ok", "page", "spc_one", "pag_guide")]
LAST = [
    ("ok", "page", "spc_one", "pag_guide"),
    ("ok", "page", "spc_one", "pag_guide"),
    ("ok", "page", "spc_one", "pag_start"),
    ("ok", "file", "spc_one", "fil_logo"),
]


def seen(links: list[Any]) -> list[tuple[str, str, str, str]]:
    return [(link["status"], *where(link.get("targetReference"))) for link in links]


def where(target: Any) -> tuple[str, str, str]:
    """What a reference leads to: its kind, its space, its id; nothing where it is not there."""
    if target is None or target["kind"] == "url":
        return ("url", "", target["url"]) if target else ("", "", "")
    return target["kind"], target["space"]["id"], target[target["kind"]]["id"]


def stats(total: int, broken: int, in_request: int = 0) -> Any:
    return {"total": total, "broken": {"total": broken, "changeRequest": in_request}}


def template(box: Box, file: str, **more: Any) -> str:
    """The id of a new page that refers to a file."""
    body = {"id": "Refers", "params": {"contentRefs": {"logo": {"kind": "file", "file": file}}}, **more}
    assert box.send("POST", f"{SPACE}/content/template", body).status_code == 201
    return str(box.get(f"{REQUEST if more else SPACE}/content/pages")["pages"][-1]["id"])


# -- links -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "links", "broken"), [("pag_guide", GUIDE, 3), ("pag_start", START, 0), ("pag_last", LAST, 0), ("pag_api", [], 0)]
)
def test_the_links_of_a_page_say_where_they_lead_and_whether_the_target_exists(
    box: Box, base: str, page: str, links: Any, broken: int
) -> None:
    found = box.get(f"{base}/content/page/{page}/links")
    assert seen(found["items"]) == links
    assert (found["stats"], found["count"]) == (stats(len(links), broken), len(links))
    assert {item["relation"] for item in found["items"]} <= {"reference"}
    for link in found["items"]:
        assert [where(at) for at in link["locationReferences"]] == [("page", "spc_one", page)]


def test_a_reference_holds_whole_objects_and_not_their_ids(box: Box, base: str) -> None:
    """As `GET` shows the organization, the space, the revision, the page and the file themselves."""
    links = box.items(f"{base}/content/page/pag_guide/links")
    revision = box.get(f"{base}/content")
    known = {"organization": box.get("/orgs/org_a"), "space": box.get(SPACE), "versionContext": {"type": "revision", "revision": revision}}
    at = {page["id"]: page for page in (*revision["pages"], *revision["pages"][0]["pages"])}
    assert links[0]["targetReference"] == {"kind": "page", **known, "page": at["pag_start"]}
    assert links[1]["targetReference"] == {"kind": "file", **known, "file": box.get(f"{base}/content/files/fil_logo")}
    assert links[2]["targetReference"] == {"kind": "space", "organization": known["organization"], "space": box.get("/spaces/spc_two")}
    assert links[4]["targetReference"] == {"kind": "url", "url": f"{BASE}/app/x"}
    assert "targetReference" not in links[5]
    assert links[0]["locationReferences"] == [{"kind": "page", **known, "page": at["pag_guide"]}]
    assert box.items(f"{base}/content/files/fil_logo/backlinks")[0] == {"kind": "page", **known, "page": at["pag_guide"]}


def test_a_reference_names_the_revision_of_the_space_it_leads_to(box: Box, base: str) -> None:
    links = [link.get("targetReference", {}) for link in box.items(f"{base}/content/page/pag_guide/links")]
    here, there = box.get(base)["revision"], box.get("/spaces/spc_two")["revision"]
    named = [target.get("versionContext", {}).get("revision", {}).get("id") for target in links]
    assert named == [here, here, None, there, None, None, None, None]


def test_the_links_of_a_space_are_those_of_its_pages_in_their_order(box: Box) -> None:
    found = box.get(f"{SPACE}/links")
    assert seen(found["items"]) == [*GUIDE, *START, *LAST]
    places = [item["locationReferences"][0]["page"]["id"] for item in found["items"]]
    assert list(dict.fromkeys(places)) == ["pag_guide", "pag_start", "pag_last"]
    assert found["stats"] == stats(13, 3)


@pytest.mark.parametrize(("path", "total"), [("/links", 13), ("/content/page/pag_guide/links", 8)])
def test_the_status_filter_leaves_the_stats_as_they_are(box: Box, path: str, total: int) -> None:
    for status in ("ok", "broken", "in-app"):
        found = box.get(f"{SPACE}{path}", status=status)
        assert {one["status"] for one in found["items"]} == {status}
        wanted = [item for item in box.items(f"{SPACE}{path}") if item["status"] == status]
        assert (found["items"], found["count"], found["stats"]) == (wanted, len(wanted), stats(total, 3))
    assert box.refused("GET", f"{SPACE}{path}", params={"status": "lost"}).startswith("status")


@pytest.mark.parametrize("path", ["/links", "/content/page/pag_guide/links"])
def test_links_come_in_pages_each_with_the_stats_of_all(box: Box, path: str) -> None:
    first = box.get(f"{SPACE}{path}", limit=3)
    rest = box.get(f"{SPACE}{path}", page=first["next"]["page"])
    assert seen([*first["items"], *rest["items"]])[: len(GUIDE)] == GUIDE
    assert first["stats"] == rest["stats"]
    assert rest["stats"]["total"] == first["count"] == len(first["items"]) + len(rest["items"])


def test_links_break_when_what_they_lead_to_is_deleted_and_are_ok_when_it_is_back(box: Box, base: str) -> None:
    at = f"{base}/content/page/pag_guide/links"
    box.delete("/spaces/spc_two")
    assert [one[0] for one in seen(box.items(at))[2:4]] == ["broken", "broken"]
    assert box.get(at)["stats"]["broken"]["total"] == 5
    box.post("/spaces/spc_two/restore", status=200)
    assert seen(box.items(at)) == GUIDE


def test_a_change_request_counts_the_links_it_broke_itself(box: Box) -> None:
    page = template(box, "fil_logo", changeRequestId="1")
    at = f"{REQUEST}/content/page/{page}/links"
    assert (seen(box.items(at)), box.get(at)["stats"]) == ([("ok", "file", "spc_one", "fil_logo")], stats(1, 0))
    with box.store.write():  # there is no endpoint that removes a file
        revision = box.store.find("revision", f"spc_one:{box.get(REQUEST)['revision']}")
        assert revision is not None
        box.store.save("revision", revision | {"_files": []})
    assert box.get(at)["stats"] == stats(1, 1, 1)
    assert box.get(f"{REQUEST}/content/page/pag_guide/links")["stats"] == stats(8, 4, 1)
    assert box.get(f"{SPACE}/content/page/pag_guide/links")["stats"] == stats(8, 3)


# -- backlinks ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "pages"),
    [
        ("page/pag_guide", ["pag_start", "pag_last"]),
        ("page/pag_start", ["pag_guide", "pag_last"]),
        ("page/pag_last", []),
        ("files/fil_logo", ["pag_guide", "pag_last"]),
        ("files/fil_text", []),
    ],
)
def test_backlinks_are_the_pages_that_lead_there_each_once(box: Box, base: str, path: str, pages: list[str]) -> None:
    assert [where(at) for at in box.items(f"{base}/content/{path}/backlinks")] == [("page", "spc_one", page) for page in pages]


def test_backlinks_come_in_pages(box: Box, base: str) -> None:
    at = f"{base}/content/page/pag_guide/backlinks"
    first = box.get(at, limit=1)
    assert (first["count"], first["items"][0]["page"]["id"]) == (2, "pag_start")
    assert [item["page"]["id"] for item in box.items(at, limit=1, page=first["next"]["page"])] == ["pag_last"]


def test_a_change_request_has_backlinks_of_its_own_until_it_is_merged(box: Box) -> None:
    page = template(box, "fil_text", changeRequestId="1")
    at = "content/files/fil_text/backlinks"
    assert ([one["page"]["id"] for one in box.items(f"{REQUEST}/{at}")], box.items(f"{SPACE}/{at}")) == ([page], [])
    box.post(f"{REQUEST}/merge", status=200)
    assert [item["page"]["id"] for item in box.items(f"{SPACE}/{at}")] == [page]


# -- search ------------------------------------------------------------------------------------------------------------------------


def test_search_finds_pages_that_hold_every_word_in_any_case(box: Box) -> None:
    at = f"{SPACE}/search"
    assert (box.ids(at, query="INSTALL first"), box.ids(at, query="begin")) == (["pag_start"], ["pag_guide"])
    assert box.ids(at, query="guide") == ["pag_guide", "pag_start", "pag_last"]
    assert box.ids(at, query="install nothing") == box.ids(at, query="  ") == box.ids(at, query="bolts") == []


def test_a_result_shows_where_it_stands_and_the_sections_that_hold_a_word(box: Box) -> None:
    (found,) = box.items(f"{SPACE}/search", query="run")
    assert (found["title"], found["path"], found["ancestors"]) == ("Start", "guide/start", [{"title": "Guide"}])
    (section,) = found["sections"]
    assert (section["title"], section["path"]) == ("Next steps", "guide/start#next-steps")
    assert section["body"].startswith("Run it.")
    assert section["urls"]["app"] == f"{found['urls']['app']}#next-steps"
    assert [one["title"] for one in box.items(f"{SPACE}/search", query="steps")[0]["sections"]] == ["First steps", "Next steps"]


def test_results_come_in_pages(box: Box) -> None:
    first = box.get(f"{SPACE}/search", query="guide", limit=2)
    assert first["count"] == 3
    assert box.ids(f"{SPACE}/search", query="guide", limit=2, page=first["next"]["page"]) == ["pag_last"]


def test_a_query_is_required_and_has_at_most_512_characters(box: Box) -> None:
    at = f"{SPACE}/search"
    for query in ({}, {"query": ""}, {"query": "x" * 513}):
        assert box.refused("GET", at, params=query).startswith("query")
    assert box.items(at, query="x" * 512) == []


def test_search_finds_what_was_merged_and_not_what_is_proposed(box: Box) -> None:
    template(box, "fil_text", changeRequestId="1")
    assert box.ids(f"{SPACE}/search", query="refers") == []
    box.post(f"{REQUEST}/merge", status=200)
    assert [item["title"] for item in box.items(f"{SPACE}/search", query="refers")] == ["Refers"]


def test_members_search_and_read_links_and_strangers_do_not(box: Box) -> None:
    for path in (f"{SPACE}/links", f"{SPACE}/search"):
        for token in (RITA, CARA):
            assert box.send("GET", path, token=token, params={"query": "guide"} if path.endswith("search") else {}).status_code == 200
        assert box.refused("GET", path, token=BOB, status=404, params={"query": "x"}) == "space spc_one not found"


def test_a_deleted_space_is_not_searched(box: Box) -> None:
    box.delete(SPACE)
    assert box.items(f"{SPACE}/search", query="guide") == []
