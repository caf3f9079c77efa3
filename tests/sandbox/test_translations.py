"""Translations: what is asked for, runs by the clock, their figures, and the space they fill."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.box import ADA_READS, BASE, BOB, CARA, RITA, Box
from tests.sandbox.library import library

TRANSLATIONS = "/orgs/org_a/translations"
NOON = "2031-01-02T12:00:00.000Z"


def document(text: str, **data: Any) -> Any:
    leaves = [{"object": "leaf", "text": text, "marks": []}]
    paragraph = {"object": "block", "type": "paragraph", "nodes": [{"object": "text", "leaves": leaves}]}
    return {"object": "document", "data": {"schemaVersion": 1, **data}, "nodes": [paragraph]}


def made(box: Box, space: str = "spc_two", language: str = "fr", **more: Any) -> str:
    """The path of a new translation."""
    answer = box.post(TRANSLATIONS, {"source": {"space": space}, "language": language, **more})
    return f"{TRANSLATIONS}/{answer['id']}"


def run(box: Box, path: str, *, wait: float = 60) -> Any:
    """The translation some time after a run was asked for."""
    answer = box.send("POST", f"{path}/run")
    assert (answer.status_code, answer.content) == (204, b"")
    box.clock(advance=wait)
    return box.get(path)


def pages(box: Box, space: str) -> Any:
    """The titles and texts of a space, without ids."""

    def bare(level: Any) -> Any:
        return [(one["title"], one.get("path"), bare(one.get("pages", []))) for one in level]

    return bare(box.get(f"/spaces/{space}/content/pages")["pages"])


def spaces(box: Box) -> set[str]:
    return {item["space"]["id"] for item in box.items("/orgs/org_a/members/usr_ada/spaces")}


@pytest.fixture
def noon(box: Box) -> Box:
    """A box whose clock stands still."""
    box.clock(NOON)
    return box


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Box]:
    """A box whose space `spc_one` has pages, files and variables."""
    box = library(tmp_path)
    box.clock(NOON)
    yield box
    box.close()


# -- making, reading, changing, removing -------------------------------------------------------------------------------------------


def test_a_new_translation_waits_with_the_documented_fields(noon: Box) -> None:
    body = {"source": {"space": "spc_one", "language": "de"}, "language": "fr", "instructions": document("Be formal")}
    one = noon.post(TRANSLATIONS, body)
    named = "object id status source language instructions createdAt updatedAt stats permissions urls"
    assert set(one) == set(named.split())
    assert {name: one[name] for name in body} == body
    assert (one["object"], one["status"], one["createdAt"], one["updatedAt"]) == ("translation", "pending", NOON, NOON)
    figures = "runs totalWords totalPages totalDuration latestRunDuration latestPages latestWords"
    assert (one["stats"], one["permissions"]) == (dict.fromkeys(figures.split(), 0), {"view": True, "edit": True})
    assert one["urls"] == {"location": f"{BASE}/v1{TRANSLATIONS}/{one['id']}"}
    assert noon.get(f"{TRANSLATIONS}/{one['id']}") == one == noon.items(TRANSLATIONS)[0]


def test_the_source_language_is_the_spaces_where_none_is_given(box: Box) -> None:
    box.patch("/spaces/spc_two", {"language": "it"})
    assert (box.get(made(box))["source"], box.get(made(box))["instructions"]["nodes"]) == ({"space": "spc_two", "language": "it"}, [])


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"source": None}, "source"),
        ({"source": "spc_one"}, "source"),
        ({"source": {}}, "source.space"),
        ({"source": {"space": ""}}, "source.space"),
        ({"source": {"space": "none"}}, "source.space"),
        ({"source": {"space": "spc_bolt"}}, "source.space"),
        ({"source": {"space": "spc_root"}}, "source.space"),
        ({"source": {"space": "spc_one", "language": ""}}, "source.language"),
        ({"language": ""}, "language"),
        ({"language": 1}, "language"),
        ({"language": None}, "language"),
        ({"instructions": "Be formal"}, "instructions"),
        ({"instructions": {"object": "block"}}, "instructions"),
        ({"instructions": {"object": "document", "nodes": {}}}, "instructions"),
        ({"instructions": document("x", schemaVersion="1")}, "instructions"),
    ],
)
def test_a_wrong_translation_is_refused_by_its_field_and_not_made(box: Box, wrong: Any, field: str) -> None:
    box.delete("/spaces/spc_root")
    assert box.refused("POST", TRANSLATIONS, {"source": {"space": "spc_one"}, "language": "fr"} | wrong).startswith(field)
    assert box.items(TRANSLATIONS) == []


def test_put_changes_the_instructions_alone(noon: Box) -> None:
    path = made(noon, instructions=document("Old"))
    before, now = noon.get(path), noon.clock(advance=60)
    changed = noon.put(path, {"instructions": document("New"), "language": "es", "status": "completed"})
    assert changed == before | {"instructions": document("New"), "updatedAt": now} == noon.get(path)
    wrong: list[Any] = [{}, {"instructions": None}, {"instructions": []}, {"instructions": {"object": "document"}}]
    for body in wrong:
        assert noon.refused("PUT", path, body).startswith("instructions")
    assert noon.get(path) == changed


def test_removing_leaves_the_space_of_the_result_and_is_done_where_nothing_is(noon: Box) -> None:
    path, other = made(noon), made(noon)
    space = run(noon, path)["result"]["space"]
    noon.delete(path)
    noon.delete(path)
    noon.delete(f"{TRANSLATIONS}/none")
    for method, below, body in (("GET", "", None), ("PUT", "", {"instructions": document("x")}), ("POST", "/run", None)):
        noon.refused(method, f"{path}{below}", body, status=404)
    assert [item["id"] for item in noon.items(TRANSLATIONS)] == [other.split("/")[-1]]
    assert noon.get(f"/spaces/{space}")["language"] == "fr"


def test_the_list_comes_in_pages(box: Box) -> None:
    paths = [made(box, language=language) for language in ("fr", "es", "it")]
    page = box.get(TRANSLATIONS, limit=2)
    assert (len(page["items"]), page["count"]) == (2, 3)
    rest = box.items(TRANSLATIONS, limit=2, page=page["next"]["page"])
    assert [f"{TRANSLATIONS}/{one['id']}" for one in (*page["items"], *rest)] == paths


def test_readers_read_creators_write_and_others_find_nothing(box: Box) -> None:
    path, body = made(box), {"source": {"space": "spc_one"}, "language": "es"}
    writes: list[tuple[str, str, Any]] = [("POST", TRANSLATIONS, body), ("PUT", path, {"instructions": document("x")})]
    writes += [("POST", f"{path}/run", None), ("DELETE", path, None)]
    for method, where, sent in writes:
        box.refused(method, where, sent, status=403, token=RITA)
        box.refused(method, where, sent, status=403, token=ADA_READS)
        box.refused(method, where, sent, status=404, token=BOB)
    seen = box.send("GET", path, token=RITA)
    assert seen.json()["permissions"] == {"view": True, "edit": False}
    box.refused("GET", path, status=404, token=BOB)
    box.refused("GET", TRANSLATIONS, status=404, token=BOB)
    elsewhere = path.replace("org_a", "org_b")
    box.refused("GET", elsewhere, status=404, token=BOB)
    assert box.send("DELETE", elsewhere, token=BOB).status_code == 204
    assert box.get(path) == seen.json() | {"permissions": {"view": True, "edit": True}}
    assert [box.send(method, where, sent, token=CARA).status_code for method, where, sent in writes] == [201, 200, 204, 204]


# -- runs --------------------------------------------------------------------------------------------------------------------------


def test_a_run_is_pending_then_running_then_completed_by_the_clock(noon: Box) -> None:
    path = made(noon)
    assert run(noon, path, wait=0)["status"] == "pending"
    noon.clock("2031-01-02T12:00:00.999Z")
    assert noon.get(path)["status"] == "pending"
    noon.clock("2031-01-02T12:00:01Z")
    running = noon.get(path)
    assert (running["status"], running["stats"]["runs"]) == ("running", 0)
    assert set(running["result"]) == {"space", "revision"}, "the space exists from the first moment of the first run"
    done = noon.clock("2031-01-02T12:00:02Z")
    completed = noon.get(path)
    assert (completed["status"], completed["updatedAt"], completed["stats"]["runs"]) == ("completed", done, 1)
    assert set(completed["result"]) == {"space", "revision"}
    noon.clock(advance=3600)
    assert noon.get(path) == completed == noon.items(TRANSLATIONS)[0]


def test_the_result_is_a_space_in_the_language_with_the_content_of_the_source(shelf: Box) -> None:
    before = spaces(shelf)
    path = made(shelf, "spc_one")
    assert spaces(shelf) == before
    result = run(shelf, path)["result"]
    assert spaces(shelf) - before == {result["space"]}
    space, source = shelf.get(f"/spaces/{result['space']}"), shelf.get("/spaces/spc_one")
    assert (space["title"], space["language"], space["revision"]) == ("One (fr)", "fr", result["revision"])
    assert (space["parent"], space["changeRequests"], space["comments"]) == (source["parent"], 0, 0)
    assert pages(shelf, result["space"]) == pages(shelf, "spc_one")
    assert source["language"] == "en"


def test_figures_are_of_the_latest_run_and_of_all_together(shelf: Box) -> None:
    path = made(shelf, "spc_two")  # one page, titled `Two`
    first = run(shelf, path)["stats"]
    assert (first["runs"], first["latestPages"], first["latestWords"]) == (1, 1, 1)
    assert (first["totalPages"], first["totalWords"]) == (1, 1)
    assert first["latestRunDuration"] == first["totalDuration"] == 2
    assert shelf.send("POST", "/spaces/spc_two/content/template", {"id": "Two words"}).status_code == 201
    second = run(shelf, path)["stats"]
    assert (second["runs"], second["latestPages"], second["latestWords"]) == (2, 2, 3)
    assert (second["totalPages"], second["totalWords"]) == (3, 4)
    assert (second["latestRunDuration"], second["totalDuration"]) == (2, 4)


def test_a_second_run_rewrites_the_same_space(shelf: Box) -> None:
    path = made(shelf, "spc_one")
    first = run(shelf, path)["result"]
    there = spaces(shelf)
    shelf.patch(f"/spaces/{first['space']}", {"title": "Un", "emoji": "1f1eb"})
    for space in (first["space"], "spc_one"):
        assert shelf.send("POST", f"/spaces/{space}/content/template", {"id": f"Added to {space}"}).status_code == 201
    began = shelf.clock()
    second = run(shelf, path)["result"]
    assert (spaces(shelf), second["space"]) == (there, first["space"])
    assert second["revision"] != first["revision"]
    space = shelf.get(f"/spaces/{second['space']}")
    assert (space["title"], space["emoji"], space["language"], space["revision"]) == ("Un", "1f1eb", "fr", second["revision"])
    assert pages(shelf, second["space"]) == pages(shelf, "spc_one")
    assert (space["updatedAt"], shelf.get(f"/spaces/{space['id']}/content")["createdAt"]) == (began, began)


def test_a_result_has_the_files_and_variables_of_its_source_after_each_run(shelf: Box) -> None:
    path = made(shelf, "spc_one")
    for _ in range(2):
        content = f"/spaces/{run(shelf, path)['result']['space']}/content"
        assert [item["name"] for item in shelf.items(f"{content}/files")] == ["logo.png", "text.txt"]
        assert shelf.get(content)["variables"] == shelf.get("/spaces/spc_one/content")["variables"] != []


def test_a_later_run_shows_the_last_result_until_it_is_completed(noon: Box) -> None:
    path = made(noon)
    first = run(noon, path)
    again = run(noon, path, wait=0)
    assert (again["status"], again["result"], again["stats"]) == ("pending", first["result"], first["stats"])
    noon.clock(advance=1)
    assert (noon.get(path)["status"], noon.get(path)["result"]) == ("running", first["result"])


def test_a_run_that_is_under_way_is_left_alone(noon: Box) -> None:
    path = made(noon)
    for _ in range(3):
        assert run(noon, path, wait=0)["status"] == "pending"
    noon.clock(advance=1)
    there = spaces(noon)
    assert (run(noon, path, wait=1)["stats"]["runs"], spaces(noon)) == (1, there)


def test_a_result_that_was_deleted_is_made_again(noon: Box) -> None:
    path = made(noon)
    first = run(noon, path)["result"]["space"]
    noon.delete(f"/spaces/{first}")
    second = run(noon, path)["result"]["space"]
    assert second != first
    assert noon.get(f"/spaces/{second}")["language"] == "fr"


def test_a_locked_source_or_result_is_translated_all_the_same(noon: Box) -> None:
    noon.patch("/spaces/spc_two", {"editMode": "locked"})
    path = made(noon)
    space = run(noon, path)["result"]["space"]
    noon.patch(f"/spaces/{space}", {"editMode": "locked"})
    assert run(noon, path)["stats"]["runs"] == 2


def test_a_change_request_on_the_result_is_outdated_by_the_next_run_and_can_be_updated(shelf: Box) -> None:
    path = made(shelf, "spc_one")
    space = run(shelf, path)["result"]["space"]
    request = f"/spaces/{space}/change-requests/{shelf.post(f'/spaces/{space}/change-requests')['id']}"
    run(shelf, path)
    assert shelf.get(request)["outdated"] is True
    assert shelf.post(f"{request}/update", status=200)["result"] in ("update", "conflicts")
    assert shelf.get(request)["outdated"] is False


def test_a_run_without_its_source_finds_nothing_to_translate(noon: Box) -> None:
    path = made(noon)
    done = run(noon, path)
    noon.delete("/spaces/spc_two")
    assert (noon.refused("POST", f"{path}/run", status=404), noon.get(path)) == ("space spc_two not found", done)
    noon.post("/spaces/spc_two/restore", status=200)
    assert run(noon, path)["stats"]["runs"] == 2
