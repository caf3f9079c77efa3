"""Who can read what, as the control endpoint says it: held against the published views, asked as each of the readers."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.sandbox.box import ADA, CONTROL, Box
from tests.sandbox.test_page import shown
from tests.sandbox.test_readers import ANYONE, gets, key_of, read, site

__all__ = ["site"]  # the fixture

Readers = dict[str, str]
EVERYBODY = {"anyone", "anyone-with-the-address", "visitor"}


def asked(box: Box, **query: Any) -> dict[str, Readers]:
    """The readers of every object by id, with their levels; without admins, who read all."""
    answer = box.send("GET", "/_sandbox/readers", token=CONTROL, params=query)
    assert answer.status_code == 200, answer.text
    entries = answer.json()["items"]
    assert all(set(entry) == {"kind", "id", "organization", "title", "readers"} for entry in entries)
    return {entry["id"]: {entry["reader"]: entry["level"] for entry in entry["readers"] if entry["reader"] != "admin"} for entry in entries}


def names(box: Box, id: str, **query: Any) -> set[str]:
    return set(asked(box, **query)[id])


def test_what_is_published_is_read_by_everybody_and_the_rest_by_nobody(box: Box, site: str) -> None:
    found = asked(box)
    id, sections = site.rsplit("/", 1)[1], {entry["title"]: entry for entry in box.items(f"{site}/sections")}
    assert set(found[id]) == set(found["spc_one"]) == set(found[sections["Guides"]["id"]]) == EVERYBODY
    staff = {"visitor:visitor.claims.staff"}
    assert set(found["spc_two"]) == set(found[sections["Secret"]["id"]]) == set(found[sections["Secret"]["siteSpaces"][0]["id"]]) == staff
    assert found["spc_root"] == found["spc_deep"] == found["spc_bolt"] == {}
    assert {level for readers in found.values() for reader, level in readers.items() if reader in EVERYBODY} == {"read"}


@pytest.mark.parametrize(
    ("visibility", "readers"),
    [
        ("public", EVERYBODY | {"link"}),
        ("unlisted", {"anyone-with-the-address", "visitor", "link"}),
        ("share-link", {"link"}),
        ("visitor-auth", {"visitor"}),
    ],
)
def test_the_readers_of_a_site_follow_its_visibility_and_agree_with_its_views(
    box: Box, site: str, visibility: str, readers: set[str]
) -> None:
    link, key = key_of(box, site)
    name = f"link:{link.rsplit('/', 1)[1]}"
    box.patch(site, {"visibility": visibility})
    wanted = {name if entry == "link" else entry for entry in readers}
    assert names(box, "spc_one") == names(box, site.rsplit("/", 1)[1]) == wanted
    people = {"anyone": {}, "anyone-with-the-address": {"address": True}, "visitor": {"claims": {}}, name: {"shareKey": key}}
    assert {person for person, brings in people.items() if "spc_one" in gets(box, site, brings)} == wanted


def test_a_link_that_is_off_gives_its_holder_nothing_more_than_anyone_has(box: Box, site: str) -> None:
    link, _ = key_of(box, site)
    box.patch(link, {"active": False})
    name = f"link:{link.rsplit('/', 1)[1]}"
    assert name in names(box, "spc_one")
    box.patch(site, {"visibility": "share-link"})
    assert names(box, "spc_one") == set()
    box.patch(link, {"active": True})
    assert names(box, "spc_one") == {name}


def test_an_unpublished_site_has_no_readers_but_agents(box: Box) -> None:
    site = box.site("spc_one")
    key_of(box, site)
    box.patch(site, {"agentsContext": "included"})
    assert names(box, "spc_one") == names(box, site.rsplit("/", 1)[1]) == {"agent"}
    box.post(f"{site}/publish", status=200)
    assert names(box, "spc_one") > EVERYBODY | {"agent"}


@pytest.mark.parametrize(
    ("section", "variant", "readers"),
    [
        (None, None, EVERYBODY),
        ("visitor.claims.staff", None, {"visitor:visitor.claims.staff"}),
        ("visitor.claims.a", "visitor.claims.b", {"visitor:(visitor.claims.a) && (visitor.claims.b)"}),
        ("visitor.claims.a", "visitor.claims.a", {"visitor:visitor.claims.a"}),
        ("visitor.claims.a", "!visitor.claims.a", set()),
        ("visitor.claims.plan == 'pro'", "visitor.claims.plan in ['pro', 'team']",
         {"visitor:(visitor.claims.plan == 'pro') && (visitor.claims.plan in ['pro', 'team'])"}),
        ("'docs' in visitor.claims.groups", None, {"visitor:'docs' in visitor.claims.groups"}),
        ("visitor.claims.unsigned.beta", None, EVERYBODY | {"visitor:visitor.claims.unsigned.beta"}),
        ("visitor.claims.unsigned.beta", "!visitor.claims.unsigned.beta", set()),
        ("visitor.claims.unsigned.beta && visitor.claims.a", None, {"visitor:visitor.claims.unsigned.beta && visitor.claims.a"}),
        ("visitor.claims.unsigned.beta || visitor.claims.a", None, EVERYBODY
         | {"visitor:visitor.claims.unsigned.beta || visitor.claims.a"}),
        ("!visitor.claims.a", None, EVERYBODY | {"visitor:!visitor.claims.a"}),
        ("visitor.beta", None, set()),
    ],
)  # fmt: skip
def test_conditions_leave_the_visitors_for_whom_all_of_them_are_true(
    box: Box, site: str, section: str | None, variant: str | None, readers: set[str]
) -> None:
    secret = next(entry for entry in box.items(f"{site}/sections") if entry["title"] == "Secret")
    box.patch(f"{site}/sections/{secret['id']}", {"condition": section})
    box.patch(f"{site}/site-spaces/{secret['siteSpaces'][0]['id']}", {"condition": variant})
    assert names(box, "spc_two") == readers
    box.patch(site, {"adaptiveContent": {"enabled": False}})
    assert names(box, "spc_two") == EVERYBODY


def test_visitors_for_whom_another_condition_is_true_are_asked_about_where_they_are_named(box: Box, site: str) -> None:
    conditions = ["visitor.claims.staff", "!visitor.claims.staff", "visitor.claims.staff && visitor.claims.x", "visitor.nonsense"]
    visitors = {f"visitor:{condition}" for condition in conditions[:-1]}
    assert names(box, "spc_one", condition=conditions) == EVERYBODY | visitors
    assert names(box, "spc_two", condition=conditions) == visitors - {"visitor:!visitor.claims.staff"}


def test_a_space_has_the_readers_of_all_its_sites(box: Box, site: str) -> None:
    other = box.site("spc_two", title="Other")
    box.post(f"{other}/publish", status=200)
    _, key = key_of(box, other)
    box.patch(other, {"visibility": "share-link"})
    held = {entry for entry in names(box, "spc_two") if entry.startswith("link:")}
    assert len(held) == 1
    assert names(box, "spc_two") == held | {"visitor:visitor.claims.staff"}
    assert read(box, "/spaces/spc_two", {"shareKey": key}) is not None
    assert read(box, "/spaces/spc_two", ANYONE) is None


def test_a_deleted_space_is_read_by_nobody_not_even_admins(box: Box, site: str) -> None:
    box.patch("/spaces/spc_one", {"defaultLevel": "edit"})
    box.delete("/spaces/spc_one")
    entries = {entry["id"]: entry["readers"] for entry in box.send("GET", "/_sandbox/readers", token=CONTROL).json()["items"]}
    assert entries["spc_one"] == []
    assert entries["spc_two"] != []
    assert all(entries[entry["id"]] == [] for entry in box.items(f"{site}/site-spaces") if entry["space"]["id"] == "spc_one")


def test_an_openapi_document_is_read_by_members_with_a_role_and_by_everybody_where_it_is_public(box: Box) -> None:
    made = box.put("/orgs/org_a/openapi/pets", {"source": {"url": "https://fixtures.example/openapi.json"}}, status=201)
    members = [f"role:{role}" for role in ("read", "comment", "edit", "review", "create")]
    assert asked(box)[made["id"]] == dict.fromkeys(members, "read")
    box.patch("/orgs/org_a/openapi/pets", {"visibility": "public"})
    assert asked(box)[made["id"]] == dict.fromkeys([*EVERYBODY, *members], "read")


def test_an_organization_names_its_people_and_who_can_join_with_which_role(box: Box) -> None:
    box.patch("/orgs/org_a", {"emailDomains": ["acme.example"], "inviteLinks": False, "defaultRole": "edit"})
    provider = {"label": "Okta", "entityID": "e", "certificate": "", "ssoURL": "https://idp.example/in", "defaultRole": "admin"}
    saml = box.post("/orgs/org_a/saml", provider)["id"]
    people = {"member:usr_ada": "admin", "member:usr_cara": "create", "member:usr_rita": "read", "member:usr_zoe": "admin"}
    assert asked(box)["org_a"] == people | {"joins:acme.example": "edit", f"joins:saml:{saml}": "admin"}
    box.patch("/orgs/org_a", {"inviteLinks": True, "defaultRole": None, "emailDomains": []})
    assert asked(box)["org_a"] == people | {"joins:invite-link": "guest", f"joins:saml:{saml}": "admin"}


def test_one_organization_can_be_asked_about_and_the_control_token_is_needed(box: Box) -> None:
    assert set(asked(box, organization="org_b")) == {"org_b", "spc_bolt"}
    said = box.refused("GET", "/_sandbox/readers", status=400, token=CONTROL, params={"organization": "org_z"})
    assert said == "organization: unknown organization org_z"
    box.refused("GET", "/_sandbox/readers", status=401, token=ADA)


def test_the_page_names_the_widest_readers_of_each_site(box: Box, site: str) -> None:
    box.site("spc_root", title="Draft")
    for visibility, reader in (("public", "anyone"), ("unlisted", "anyone-with-the-address"), ("visitor-auth", "visitor")):
        box.patch(site, {"visibility": visibility})
        assert re.findall(r"read by ([a-z, -]+)<", shown(box)) == [reader]
    box.patch(site, {"visibility": "share-link"})
    assert "read by" not in shown(box)
    box.patch(site, {"agentsContext": "included", "visibility": "public"})
    assert re.findall(r"read by ([a-z, -]+)<", shown(box)) == ["anyone, agent"]
