"""Readers of published content over HTTP: what each of them gets, by what they bring."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.proofs import spread
from tests.sandbox.box import ADA, BOB, CARA, RITA, ZOE, Box

HEADER = "X-Sandbox-Reader"
ANYONE: dict[str, Any] = {}
ADDRESS = {"address": True}
STAFF = {"claims": {"staff": True}}
SIGNED_IN: dict[str, Any] = {"claims": {}}
AGENT = {"agent": True}


def read(box: Box, path: str, reader: dict[str, Any], *, key: str | None = None, token: str = BOB) -> Any:
    """The answer to a reader; None where they get nothing."""
    answer = box.send("GET", path, token=token, headers={HEADER: json.dumps(reader)}, params={"shareKey": key} if key else {})
    assert answer.status_code in (200, 404), answer.text
    return answer.json() if answer.status_code == 200 else None


def gets(box: Box, site: str, reader: dict[str, Any], *, key: str | None = None) -> set[str]:
    """The ids of the spaces that a reader gets on a site, which every view of it agrees on."""
    published = read(box, f"{site}/published", reader, key=key)
    views = [read(box, f"{site}/{part}", reader, key=key) for part in ("sections", "site-spaces")]
    if published is None:
        assert views == [None, None]
        assert [id for id in ("spc_one", "spc_two") if read(box, f"/spaces/{id}", reader, key=key)] == []
        return set()
    structure, sections, variants = published["structure"]["structure"], views[0]["items"], views[1]["items"]
    if published["structure"]["type"] == "sections":
        assert structure == sections
        assert [entry["id"] for section in sections for entry in section["siteSpaces"]] == [entry["id"] for entry in variants]
    else:
        assert structure == variants
    assert set(published["customizations"]["siteSpaces"]) == {entry["id"] for entry in variants}
    found = {str(entry["space"]["id"]) for entry in variants}
    assert {id for id in ("spc_one", "spc_two") if read(box, f"/spaces/{id}", reader, key=key)} == found
    return found


@pytest.fixture
def site(box: Box) -> str:
    """A published site with two sections: one is for everybody, one for staff."""
    site = box.site("spc_one")
    box.section(site, "Guides", "spc_one")
    secret = box.section(site, "Secret", "spc_two")
    box.patch(f"{site}/sections/{secret}", {"condition": "visitor.claims.staff"})
    box.patch(site, {"adaptiveContent": {"enabled": True}})
    box.post(f"{site}/publish", status=200)
    return site


def key_of(box: Box, site: str) -> tuple[str, str]:
    link = box.post(f"{site}/share-links", {"name": "Partners"})
    return f"{site}/share-links/{link['id']}", link["urls"]["published"].partition("?key=")[2]


# -- gates of a site ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("visibility", "readers"),
    [
        ("public", {"anyone", "address", "key", "signed in"}),
        ("unlisted", {"address", "key", "signed in"}),
        ("share-link", {"key"}),
        ("visitor-auth", {"signed in"}),
    ],
)
def test_the_visibility_of_a_published_site_says_who_gets_in(box: Box, site: str, visibility: str, readers: set[str]) -> None:
    _, key = key_of(box, site)
    box.patch(site, {"visibility": visibility})
    found = {
        "anyone": gets(box, site, ANYONE),
        "address": gets(box, site, ADDRESS),
        "key": gets(box, site, ANYONE, key=key),
        "signed in": gets(box, site, SIGNED_IN),
        "agent": gets(box, site, AGENT),
    }
    assert {name for name, spaces in found.items() if spaces == {"spc_one"}} == readers
    assert all(not spaces for name, spaces in found.items() if name not in readers)


def test_an_unpublished_site_answers_nothing_to_visitors(box: Box) -> None:
    site = box.site("spc_one")
    _, key = key_of(box, site)
    box.patch(site, {"agentsContext": "included"})
    for reader in (ANYONE, ADDRESS, STAFF):
        assert gets(box, site, reader, key=key) == set()
        assert read(box, site, reader) is None
        assert read(box, "/orgs/org_a/sites", reader)["items"] == []


def test_only_the_key_of_an_active_link_of_the_site_itself_opens_it(box: Box, site: str) -> None:
    box.patch(site, {"visibility": "share-link"})
    link, key = key_of(box, site)
    _, other = key_of(box, box.site("spc_two", title="Other"))
    assert [gets(box, site, ANYONE, key=entry) for entry in (key, other, "wrong", "ä")] == [{"spc_one"}, set(), set(), set()]
    box.patch(link, {"active": False})
    assert gets(box, site, ANYONE, key=key) == set()
    box.patch(link, {"active": True})
    assert gets(box, site, {"shareKey": key}) == {"spc_one"}
    box.delete(link)
    assert gets(box, site, ANYONE, key=key) == set()


def test_an_agent_reads_all_of_a_site_that_is_in_the_agents_context(box: Box, site: str) -> None:
    for visibility in ("public", "share-link", "visitor-auth"):
        box.patch(site, {"visibility": visibility, "agentsContext": "excluded"})
        assert gets(box, site, AGENT) == set()
        box.patch(site, {"agentsContext": "included"})
        assert gets(box, site, AGENT) == {"spc_one", "spc_two"}


def test_readers_find_the_sites_they_get_into(box: Box, site: str) -> None:
    id = site.rsplit("/", 1)[1]
    for visibility, reader, seen in (("public", ANYONE, True), ("unlisted", ANYONE, False), ("unlisted", ADDRESS, True)):
        box.patch(site, {"visibility": visibility})
        assert [entry["id"] for entry in read(box, "/orgs/org_a/sites", reader)["items"]] == ([id] if seen else [])
        assert (read(box, site, reader) is not None) is seen


# -- conditions --------------------------------------------------------------------------------------------------------------------


def test_a_condition_hides_a_section_with_all_in_it_from_those_for_whom_it_is_false(box: Box, site: str) -> None:
    assert gets(box, site, STAFF) == {"spc_one", "spc_two"}
    assert gets(box, site, ANYONE) == gets(box, site, {"claims": {"staff": False}}) == {"spc_one"}
    assert gets(box, site, {"unsigned": {"staff": True}}) == {"spc_one"}


def test_a_condition_hides_a_site_space_and_leaves_those_beside_it(box: Box) -> None:
    site = box.site("spc_one", "spc_two")
    box.post(f"{site}/publish", status=200)
    box.patch(f"{site}/site-spaces/{box.ids(f'{site}/site-spaces')[1]}", {"condition": "visitor.claims.staff"})
    assert gets(box, site, ANYONE) == {"spc_one", "spc_two"}  # adaptive content is off
    box.patch(site, {"adaptiveContent": {"enabled": True}})
    assert (gets(box, site, ANYONE), gets(box, site, STAFF)) == ({"spc_one"}, {"spc_one", "spc_two"})


def test_conditions_hide_nothing_while_adaptive_content_is_disabled(box: Box, site: str) -> None:
    box.patch(site, {"adaptiveContent": {"enabled": False}})
    assert gets(box, site, ANYONE) == {"spc_one", "spc_two"}


def test_the_conditions_of_a_section_and_of_a_site_space_must_both_be_true(box: Box, site: str) -> None:
    section = next(entry for entry in box.items(f"{site}/sections") if entry["title"] == "Secret")
    box.patch(f"{site}/site-spaces/{section['siteSpaces'][0]['id']}", {"condition": "visitor.claims.plan == 'pro'"})
    assert (gets(box, site, STAFF), gets(box, site, {"claims": {"staff": True, "plan": "pro"}})) == ({"spc_one"}, {"spc_one", "spc_two"})


def test_the_holder_of_a_key_has_no_claims(box: Box, site: str) -> None:
    _, key = key_of(box, site)
    box.patch(site, {"visibility": "share-link"})
    assert gets(box, site, ANYONE, key=key) == {"spc_one"}
    answer = box.send("GET", f"{site}/sections", token=BOB, params={"shareKey": key}).json()
    assert [entry["title"] for entry in answer["items"]] == ["Guides"]


TRUE = {"staff": True, "plan": "pro", "groups": ["docs", "api"], "deep": {"er": 1}, "none": None, "zero": 0}


@pytest.mark.parametrize(
    ("condition", "shown"),
    spread(
        [
            ("visitor.claims.staff", True),
            ("!visitor.claims.staff", False),
            ("!!visitor.claims.staff", True),
            ("visitor.claims.zero", False),
            ("visitor.claims.absent", False),
            ("visitor.claims.absent.deeper.still", False),
            ("!visitor.claims.absent", True),
            ("visitor.claims.deep.er == 1", True),
            ('visitor["claims"]["deep"]["er"] === 1', True),
            ("visitor.claims.deep.er == true", False),
            ("visitor.claims.deep.er == '1'", False),
            ('visitor.claims.plan == "pro"', True),
            ("'pro' == visitor.claims.plan", True),
            ("visitor.claims.plan != 'pro'", False),
            ("visitor.claims.absent != 'pro'", True),
            ("visitor.claims.none == null", True),
            ("visitor.claims.absent == undefined", True),
            ("visitor.claims.plan in ['team', 'pro']", True),
            ("visitor.claims.plan in []", False),
            ("'docs' in visitor.claims.groups", True),
            ("'web' in visitor.claims.groups", False),
            ("'p' in visitor.claims.plan", False),
            ("visitor.claims.absent || visitor.claims.staff", True),
            ("visitor.claims.absent && visitor.claims.staff", False),
            ("visitor.claims.staff || visitor.claims.absent && visitor.claims.absent", True),
            ("(visitor.claims.staff || visitor.claims.absent) && visitor.claims.absent", False),
            ("visitor.claims.unsigned.beta", True),
            ("visitor.claims.unsigned.alpha", False),
            (r"visitor.claims.plan == 'p\ro'", True),
            ("true", True),
            ("0", False),
        ],
        12,
    ),
)
def test_conditions_are_expressions_over_claims(box: Box, site: str, condition: str, shown: bool) -> None:
    section = next(entry for entry in box.items(f"{site}/sections") if entry["title"] == "Secret")
    box.patch(f"{site}/sections/{section['id']}", {"condition": condition})
    assert gets(box, site, {"claims": TRUE, "unsigned": {"beta": True}}) == ({"spc_one", "spc_two"} if shown else {"spc_one"})


@pytest.mark.parametrize(
    "condition",
    spread([
        "visitor.beta", "visitor", "visitor.claims", "claims.staff", "staff", "visitor.claims.staff +", "visitor.claims.staff)", "(", "((",
        "visitor.claims.staff == ", "visitor.claims.a > 1", "visitor.claims.staff visitor.claims.staff", "a.b()", "'", "é", "  ",
        "visitor.claims.groups.includes('docs')", "visitor.claims[staff]", "visitor.claims.staff in [visitor.claims.plan]",
        "!" * 900 + "true", "true ? true : false", "[1 2]",
    ], 8),
)  # fmt: skip
def test_a_condition_that_cannot_be_evaluated_is_true_for_nobody(box: Box, site: str, condition: str) -> None:
    section = next(entry for entry in box.items(f"{site}/sections") if entry["title"] == "Secret")
    box.patch(f"{site}/sections/{section['id']}", {"condition": condition})
    assert gets(box, site, {"claims": TRUE, "unsigned": {"beta": True}}) == {"spc_one"}


# -- spaces, specifications, members --------------------------------------------------------------------------------------------------


def test_a_deleted_space_is_read_by_nobody_and_a_restored_one_again(box: Box, site: str) -> None:
    box.delete("/spaces/spc_one")
    assert gets(box, site, ANYONE) == set()
    assert read(box, f"{site}/published", ANYONE) is not None
    box.post("/spaces/spc_one/restore", status=200)
    assert gets(box, site, ANYONE) == {"spc_one"}


def test_readers_get_no_other_space_and_nothing_but_what_is_published(box: Box, site: str) -> None:
    below = ("", "/members", "/collections", "/teams", "/saml", "/openapi", "/translations")
    content = ("/spaces/spc_root", "/spaces/spc_bolt", "/spaces/spc_one/content", "/spaces/spc_one/comments", "/collections/col_guides")
    for path in (*content, *(f"/orgs/org_a{part}" for part in below), f"{site}/share-links", f"{site}/section-groups"):
        for token in (ADA, BOB):
            assert read(box, path, STAFF, token=token) is None, path
    assert read(box, "/orgs", STAFF, token=ADA)["items"] == []
    assert read(box, f"/orgs/org_b/sites/{site.rsplit('/', 1)[1]}/published", ANYONE) is None
    assert read(box, "/orgs/org_z/sites", ANYONE) is None


OWN_VISIBILITIES = [("public", 4), ("unlisted", 3), ("visitor-auth", 2), ("share-link", 0), ("private", 0), ("in-collection", 0)]


@pytest.mark.parametrize(("visibility", "readers"), OWN_VISIBILITIES)
def test_a_space_that_is_published_by_itself_is_read_by_its_own_visibility(box: Box, visibility: str, readers: int) -> None:
    with box.store.write():  # no operation changes it
        space = box.store.find("space", "spc_root")
        assert space is not None
        box.store.save("space", space | {"visibility": visibility})
    asked: list[dict[str, Any]] = [ANYONE, ADDRESS, SIGNED_IN, STAFF, AGENT]
    assert sum(read(box, "/spaces/spc_root", reader) is not None for reader in asked) == readers


def test_an_openapi_document_is_read_by_readers_where_it_is_public(box: Box) -> None:
    box.put("/orgs/org_a/openapi/pets", {"source": {"url": "https://fixtures.example/openapi.json"}}, status=201)
    assert read(box, "/orgs/org_a/openapi/pets", ANYONE) is None
    box.patch("/orgs/org_a/openapi/pets", {"visibility": "public"})
    assert read(box, "/orgs/org_a/openapi/pets", ANYONE)["slug"] == "pets"
    assert read(box, "/orgs/org_a/openapi/cats", ANYONE) is None


def test_members_see_the_whole_structure_and_the_header_makes_a_reader_of_them(box: Box, site: str) -> None:
    assert len(box.items(f"{site}/sections")) == len(box.get(f"{site}/published")["structure"]["structure"]) == 2
    assert [entry["title"] for entry in read(box, f"{site}/sections", ANYONE, token=ADA)["items"]] == ["Guides"]


def test_a_reader_only_reads_and_is_described_in_json(box: Box, site: str) -> None:
    assert box.refused("PATCH", site, {"title": "Mine"}, status=403, headers={HEADER: "{}"}) == f"{HEADER}: a reader only reads"
    for text in ("", "x", "[]", '{"claim": {}}', '{"address": 1}', '{"claims": []}', "[" * 5000):
        assert box.refused("GET", site, status=400, headers={HEADER: text}).startswith(f"{HEADER}: expected JSON")
    assert box.send("GET", site, token=None, headers={HEADER: "{}"}).status_code == 401


def test_a_reader_sees_the_same_whoever_lends_the_token(box: Box, site: str) -> None:
    for token in (ADA, CARA, RITA, BOB, ZOE):
        assert [entry["title"] for entry in read(box, f"{site}/sections", ANYONE, token=token)["items"]] == ["Guides"]
