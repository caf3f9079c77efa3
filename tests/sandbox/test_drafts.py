"""Drafts, hidden parts and pages with a condition of their own: what readers of a published site get, by URL and in every list."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.sandbox.seed import SeedError, seed
from reconciler.sandbox.sites.moment import moment
from tests.sandbox.box import BASE, CONTROL, SEED, Box
from tests.sandbox.served.test_served import Browser
from tests.sandbox.test_readers import ANYONE, STAFF, read

PAGES = [
    {"title": "Start", "slug": "start"},
    {"title": "Staff", "slug": "staff", "condition": "visitor.claims.staff", "pages": [{"title": "Below", "path": "staff/below"}]},
]
SITE = "/orgs/org_a/sites/site_docs"
AGENT = {"agent": True}


def site(**parts: Any) -> dict[str, Any]:
    """The usual sandbox with a published site of these parts."""
    fields = {"organization": "org_a", "id": "site_docs", "title": "Docs", "published": True, "adaptiveContent": {"enabled": True}}
    spaces = [space | ({"pages": PAGES} if space["id"] == "spc_one" else {}) for space in SEED["spaces"]]
    return SEED | {"spaces": spaces, "sites": [{**fields, "agentsContext": "included", **parts}]}


def section(title: str, space: str, **fields: Any) -> dict[str, Any]:
    return {"id": f"sec_{title.lower()}", "title": title, "siteSpaces": [{"space": space}], **fields}


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Any]:
    made: list[Box] = []

    def make(**parts: Any) -> Box:
        made.append(Box(tmp_path, site(**parts)))
        return made[-1]

    yield make
    for box in made:
        box.close()


def readers(box: Box, id: str) -> set[str]:
    entries = box.send("GET", "/_sandbox/readers", token=CONTROL).json()["items"]
    names = next({reader["reader"] for reader in entry["readers"]} for entry in entries if entry["id"] == id)
    return {name for name in names if not name.startswith(("role:", "admin"))}


@pytest.mark.parametrize(
    "parts",
    [
        {"sections": [section("Guides", "spc_one"), section("New", "spc_two", draft=True)]},
        {"sections": [section("Guides", "spc_one"), section("New", "spc_two", siteSpaces=[{"space": "spc_two", "draft": True}])]},
        {"siteSpaces": [{"space": "spc_one"}, {"space": "spc_two", "draft": True}]},
        {
            "sectionGroups": [{"id": "grp_outer", "draft": True}, {"id": "grp_inner", "sectionGroup": "grp_outer"}],
            "sections": [section("Guides", "spc_one"), section("New", "spc_two", sectionGroup="grp_inner")],
        },
    ],
    ids=["a section", "a variant in a section", "a variant at the root", "a group around a group"],
)
def test_what_is_only_in_a_draft_is_shown_to_no_reader_of_the_site(make: Any, parts: Any) -> None:
    box = make(**parts)
    assert readers(box, "spc_two") == set()
    assert "anyone" in readers(box, "spc_one")
    for reader in (ANYONE, STAFF, AGENT):
        assert [entry["space"]["id"] for entry in read(box, f"{SITE}/site-spaces", reader)["items"]] == ["spc_one"]
        assert read(box, "/spaces/spc_two", reader) is None
        published = read(box, f"{SITE}/published", reader)
        assert set(published["customizations"]["siteSpaces"]) == {
            entry["id"] for entry in read(box, f"{SITE}/site-spaces", reader)["items"]
        }
    assert len(box.items(f"{SITE}/site-spaces")) == 2  # members see it in the API, and not on the published site
    assert len(box.get(f"{SITE}/published")["customizations"]["siteSpaces"]) == 1
    taken = moment(box.store, BASE, ["org_a"])
    assert {space for space, _ in taken.urls.values()} == {"spc_one"}
    browser = Browser(box.app)
    assert browser.open("/published/site_docs/new").status_code == browser.open("/published/site_docs/two").status_code == 404
    tabs = {entry["title"] for entry in read(box, f"{SITE}/sections", ANYONE)["items"]}
    assert ("New" in browser.open("/published/site_docs").text) == ("New" in tabs)


def test_a_hidden_part_is_in_no_navigation_and_answers_at_its_url(make: Any) -> None:
    box = make(
        sectionGroups=[{"id": "grp_old", "title": "Old", "hidden": True}],
        sections=[
            section("Guides", "spc_one", siteSpaces=[{"space": "spc_one"}, {"space": "spc_deep", "hidden": True}]),
            section("Quiet", "spc_two", hidden=True),
            section("Past", "spc_root", sectionGroup="grp_old"),
        ],
    )
    browser = Browser(box.app)
    shown = browser.open("/published/site_docs").text
    assert not {name for name in ("Quiet", "Past", "Old", "Deep") if name in shown}
    assert "Quiet" not in browser.open("/published/site_docs?q=page").text
    for path in ("quiet", "past", "guides/deep"):
        assert browser.open(f"/published/site_docs/{path}").status_code == 200, path
    assert "anyone" in readers(box, "spc_two")


def test_a_page_with_a_condition_and_the_pages_below_it_answer_only_to_visitors_who_meet_it(make: Any) -> None:
    box = make(siteSpaces=[{"space": "spc_one"}])
    browser = Browser(box.app)
    for path in ("one/staff", "one/staff/below"):
        answers = [browser.open(f"/published/site_docs/{path}", reader).status_code for reader in (ANYONE, {"claims": {}}, STAFF, AGENT)]
        assert answers == [404, 404, 200, 200], path
    assert ("Below" in browser.open("/published/site_docs", ANYONE).text, "Below" in browser.open("/published/site_docs", STAFF).text) == (
        False,
        True,
    )
    taken = moment(box.store, BASE, ["org_a"])
    (url,) = (url for url in taken.urls if url.endswith("/one/staff"))
    answering = {name for name, reader in taken.url_readers.items() if url in taken.answers(name, reader)}
    assert answering == {"visitor:visitor.claims.staff", "agent"}
    box.patch(SITE, {"adaptiveContent": {"enabled": False}})
    assert browser.open("/published/site_docs/one/staff", ANYONE).status_code == 200


def test_where_the_first_page_has_a_condition_the_site_begins_for_others_with_the_next(make: Any) -> None:
    box = make(siteSpaces=[{"space": "spc_one", "condition": "!visitor.claims.guest"}])
    space = box.store.find("space", "spc_one")
    assert space is not None
    space["_pages"].reverse()
    box.store.save("space", space)
    browser = Browser(box.app)
    titles = [browser.page("/published/site_docs", reader).title for reader in (ANYONE, STAFF)]
    assert ["Start" in titles[0], "Staff" in titles[1]] == [True, True], titles


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"sections": [{"title": "New", "siteSpaces": []}]}, "sites[0].sections[0]: siteSpaces is not valid: List should"),
        ({"sections": [section("New", "spc_no")]}, "sites[0]: siteSpaces: there is no space spc_no"),
        ({"sections": [section("New", "spc_one", sectionGroup="grp_no")]}, "sites[0]: sections: there is no group grp_no before it"),
        ({"sections": [section("New", "spc_one")], "siteSpaces": [{"space": "spc_one"}]},
         "sites[0]: siteSpaces: a site with sections has its spaces in them"),
        ({"sections": [section("New", "spc_one", draf=True)]}, 'sites[0].sections[0]: unknown field "draf"; did you mean "draft"?'),
    ],
)  # fmt: skip
def test_a_wrong_part_of_a_site_is_reported_with_its_position(tmp_path: Path, parts: Any, message: str) -> None:
    with pytest.raises(SeedError) as caught:
        seed(tmp_path / "x.db", site(**parts))
    assert str(caught.value).startswith(message)


def test_a_seeded_structure_is_that_of_a_site_that_was_built_by_requests(tmp_path: Path, box: Box) -> None:
    built = box.site("spc_one")
    box.section(built, "Guides", "spc_one")
    box.section(built, "Other", "spc_two")
    ids = ("id", "siteSpaces", "urls")
    wanted = [{name: value for name, value in item.items() if name not in ids} for item in box.items(f"{built}/sections")]
    # a site that is built has two variants in its first section, which took over the space at its root
    (tmp_path / "seeded").mkdir()
    parts = [{"title": title, "siteSpaces": [{"space": space}]} for title, space in (("Guides", "spc_one"), ("Other", "spc_two"))]
    box.close()
    seeded = Box(tmp_path / "seeded", site(sections=parts))
    found = [{name: value for name, value in item.items() if name not in ids} for item in seeded.items(f"{SITE}/sections")]
    assert found == wanted
    seeded.close()
