"""What a space and a change request hold: revision, pages, files, text and templates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.box import BOB, CARA, RITA, Box
from tests.sandbox.library import FILES, GREETING, PAGES, REQUEST, SPACE, library


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    made = library(tmp_path)
    yield made
    made.close()


@pytest.fixture(params=[SPACE, REQUEST], ids=["space", "change request"])
def base(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def tree(pages: list[Any]) -> list[Any]:
    return [(page["id"], tree(page["pages"])) if page["pages"] else page["id"] for page in pages]


# -- the revision ------------------------------------------------------------------------------------------------------------------


def test_the_content_is_a_revision_with_pages_files_and_variables(box: Box, base: str) -> None:
    shown = box.get(f"{base}/content")
    assert (shown["object"], shown["id"], shown["type"]) == ("revision", box.get(base)["revision"], "edits")
    assert shown["parents"] == ([] if base == SPACE else [box.get(SPACE)["revision"]])
    assert shown["pages"] == box.get(f"{base}/content/pages")["pages"]
    assert shown["files"] == box.items(f"{base}/content/files")
    assert (shown["variables"], shown["reusableContents"]) == ({"product": "Anvil"}, [])
    assert "variables" not in box.get(SPACE)


def test_pages_are_a_tree_in_the_order_of_the_space(box: Box, base: str) -> None:
    pages = box.get(f"{base}/content/pages")["pages"]
    assert tree(pages) == [("pag_guide", ["pag_start"]), "pag_api", "pag_last"]
    seeded = {name: value for name, value in PAGES[0].items() if name != "pages"}
    assert {name: pages[0][name] for name in seeded} == seeded
    assert pages[0]["pages"][0]["emoji"] == "1f680"


def test_a_page_without_a_path_gets_one_from_its_title(box: Box, base: str) -> None:
    last = box.get(f"{base}/content/page/pag_last")
    assert (last["slug"], last["path"], last["type"], last["pages"]) == ("last", "last", "document", [])
    assert last["urls"]["app"].endswith("/spc_one/last")


def test_without_git_nothing_says_what_git_knows(box: Box, base: str) -> None:
    whole, bare = box.get(f"{base}/content"), box.get(f"{base}/content", git="false")
    assert (whole["pages"][0]["git"], whole["files"][0]["git"]["oid"]) == (PAGES[0]["git"], "def")
    assert "git" not in bare["pages"][0]
    assert "git" not in bare["files"][0]
    for path in ("pages", "files", "files/fil_logo", "page/pag_guide"):
        assert '"git"' in box.send("GET", f"{base}/content/{path}").text
        assert '"git"' not in box.send("GET", f"{base}/content/{path}", params={"git": "false"}).text


def test_a_computed_page_is_made_from_its_specification_unless_that_is_not_wanted(box: Box, base: str) -> None:
    computed, plain = box.get(f"{base}/content/page/pag_api"), box.get(f"{base}/content/page/pag_api", computed="false")
    assert computed["markdown"].startswith("Made from:\n\n# pets\n\n")
    assert computed["computedSeed"] == box.get(base)["revision"]
    assert (plain["markdown"], "computedSeed" in plain) == ("Made from:", False)
    assert plain["computed"] == computed["computed"] == PAGES[1]["computed"]
    for path in ("content", "content/pages"):
        assert [box.get(f"{base}/{path}", computed=flag)["pages"][1] for flag in ("true", "false")] == [computed, plain]


@pytest.mark.parametrize("flag", ["git", "computed"])
@pytest.mark.parametrize("path", ["content", "content/pages", "content/files", "content/files/fil_logo", "content/page/pag_api"])
def test_a_flag_that_is_neither_true_nor_false_is_refused(box: Box, base: str, path: str, flag: str) -> None:
    assert box.refused("GET", f"{base}/{path}", params={flag: "perhaps"}).startswith(flag)


# -- files -------------------------------------------------------------------------------------------------------------------------


def test_files_have_the_documented_fields_and_come_in_pages(box: Box, base: str) -> None:
    logo, text = box.items(f"{base}/content/files")
    assert {name: logo[name] for name in FILES[0]} == FILES[0]
    assert set(logo) - set(FILES[0]) == {"downloadURL"}
    assert (text["name"], text["contentType"], text["size"]) == ("text.txt", "application/octet-stream", 0)
    assert [box.get(f"{base}/content/files/{one['id']}") for one in (logo, text)] == [logo, text]
    first = box.get(f"{base}/content/files", limit=1)
    assert (first["count"], first["items"]) == (2, [logo])
    assert box.items(f"{base}/content/files", limit=1, page=first["next"]["page"]) == [text]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("files/nope", "file nope not found"),
        ("files/nope/backlinks", "file nope not found"),
        ("page/nope", "page nope not found"),
        ("page/nope/links", "page nope not found"),
        ("page/nope/backlinks", "page nope not found"),
        ("page/pag_two", "page pag_two not found"),
    ],
)
def test_what_the_content_does_not_hold_is_not_found(box: Box, base: str, path: str, message: str) -> None:
    assert box.refused("GET", f"{base}/content/{path}", status=404) == message


def test_strangers_find_no_content(box: Box, base: str) -> None:
    for path in ("", "/pages", "/files", "/files/fil_logo", "/files/fil_logo/backlinks", "/page/pag_api", "/page/pag_api/links"):
        assert box.refused("GET", f"{base}/content{path}", token=BOB, status=404) == "space spc_one not found"
        assert box.send("GET", f"{base}/content{path}", token=RITA).status_code == 200


# -- text --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evaluated", "greeting"),
    [
        (None, GREETING),
        ("false", GREETING),
        ("true", "Ada Anvil  "),
        ("deterministic-only", 'Ada Anvil <code class="expression">visitor.claims.plan</code> '),
    ],
)
def test_expressions_get_their_values_as_far_as_asked(box: Box, base: str, evaluated: str | None, greeting: str) -> None:
    query = {} if evaluated is None else {"evaluated": evaluated}
    text = box.get(f"{base}/content/page/pag_start", **query)["markdown"]
    assert text.split("Run it.\n\n")[1] == greeting
    assert box.get(f"{base}/content/page/pag_start", format="markdown", **query)["markdown"] == text


def test_a_page_that_is_read_alone_brings_those_below_it(box: Box, base: str) -> None:
    assert tree([box.get(f"{base}/content/page/pag_guide")]) == [("pag_guide", ["pag_start"])]


@pytest.mark.parametrize(("field", "value"), [("format", "html"), ("evaluated", "yes")])
def test_an_unknown_format_or_evaluation_is_refused(box: Box, base: str, field: str, value: str) -> None:
    assert box.refused("GET", f"{base}/content/page/pag_start", params={field: value}).startswith(field)


# -- templates ---------------------------------------------------------------------------------------------------------------------

TEMPLATE = f"{SPACE}/content/template"


def put_in(box: Box, token: str = CARA, **body: Any) -> None:
    answer = box.send("POST", TEMPLATE, body, token=token)
    assert (answer.status_code, answer.content) == (201, b"")


def test_a_template_brings_a_page_to_the_space_or_to_one_of_its_change_requests(box: Box, base: str) -> None:
    before, other = box.get(base)["revision"], REQUEST if base == SPACE else SPACE
    untouched = box.get(f"{other}/content")
    now = box.clock("2041-01-01T12:00:00Z")
    put_in(box, id="Changelog", **({"changeRequestId": box.get(REQUEST)["id"]} if base == REQUEST else {}))
    after, page = box.get(f"{base}/content"), box.get(f"{base}/content/pages")["pages"][-1]
    assert (page["title"], page["path"], page["createdAt"], page["markdown"]) == ("Changelog", "changelog", now, "")
    assert (after["id"], after["parents"], after["createdAt"]) == (box.get(base)["revision"], [before], now)
    assert box.get(base)["updatedAt"] == now
    assert box.get(f"{other}/content") == untouched


def test_a_template_refers_to_files_and_specifications(box: Box, base: str) -> None:
    refs = {"logo": {"kind": "file", "file": "fil_logo"}, "api": {"kind": "openapi", "spec": "spec_a"}}
    put_in(box, id="Pets", params={"contentRefs": refs}, **({"changeRequestId": "1"} if base == REQUEST else {}))
    page = box.get(f"{base}/content/pages", computed="false")["pages"][-1]
    assert (page["markdown"], page["computed"]["dependencies"]["spec"]["ref"]) == ("[logo](/files/fil_logo)", refs["api"])
    assert "# pets" in box.get(f"{base}/content/page/{page['id']}")["markdown"]
    assert page["id"] in [item["page"]["id"] for item in box.items(f"{base}/content/files/fil_logo/backlinks")]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "id"),
        ({"id": ""}, "id"),
        ({"id": "x", "changeRequestId": "2"}, "changeRequestId"),
        ({"id": "x", "changeRequestId": 1}, "changeRequestId"),
        ({"id": "x", "params": {"contentRefs": []}}, "params.contentRefs"),
        ({"id": "x", "params": {"contentRefs": {"a": {"kind": "file", "file": "gone"}}}}, "params.contentRefs.a.file"),
        ({"id": "x", "params": {"contentRefs": {"a": {"kind": "openapi", "spec": "spec_b"}}}}, "params.contentRefs.a.spec"),
        ({"id": "x", "params": {"contentRefs": {"a": {"kind": "file"}}}}, "params.contentRefs.a.file"),
    ],
)
def test_a_wrong_template_is_refused_and_brings_nothing(box: Box, body: Any, field: str) -> None:
    before = box.get(f"{SPACE}/content")
    assert box.refused("POST", TEMPLATE, body).startswith(field)
    assert box.get(f"{SPACE}/content") == before


def test_readers_and_strangers_bring_no_template(box: Box) -> None:
    assert box.refused("POST", TEMPLATE, {"id": "x"}, token=RITA, status=403) == "you need the role edit for this"
    assert box.refused("POST", TEMPLATE, {"id": "x"}, token=BOB, status=404) == "space spc_one not found"
    box.patch(SPACE, {"editMode": "locked"})
    assert box.refused("POST", TEMPLATE, {"id": "x"}, status=409) == "space spc_one is locked"
    box.delete(SPACE)
    assert box.refused("POST", TEMPLATE, {"id": "x"}, status=404) == "space spc_one is deleted"


def test_a_merged_change_request_takes_no_template(box: Box) -> None:
    box.post(f"{REQUEST}/merge", status=200)
    assert box.refused("POST", TEMPLATE, {"id": "x", "changeRequestId": "1"}, status=409).endswith("is merged")


def test_every_page_has_a_layout_also_of_seeds_and_templates(box: Box, base: str) -> None:
    box.send("POST", f"{SPACE}/content/template", {"id": "New"})
    words = {"width", "cover", "coverSize", "title", "description", "tableOfContents", "outline", "pagination", "metadata"}
    waiting = box.get(f"{base}/content")["pages"]
    assert waiting
    while waiting:
        page = waiting.pop()
        assert set(page["layout"]) == words
        assert box.get(f"{base}/content/page/{page['id']}")["layout"] == page["layout"]
        waiting += page["pages"]
