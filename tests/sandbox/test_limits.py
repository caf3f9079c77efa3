"""Limits the reference's table does not have, at their boundaries, and values that are wrong otherwise; the table's are in `reference/`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.box import Box

SAML = {"label": "Okta", "entityID": "e", "certificate": "c", "ssoURL": "https://idp.example"}
SPEC = {"source": {"url": "https://example.com/api.json"}}

# (path, method, field, longest that fits, what else the body needs); `S`, `C`, `P`, `G` are a site and what is in it
LONGEST: list[tuple[str, str, str, int, dict[str, Any]]] = [
    ("/orgs/org_a/sites", "POST", "title", 128, {}),
    ("S", "PATCH", "title", 128, {}),
    ("S", "PATCH", "basename", 100, {}),
    ("S/sections", "POST", "title", 128, {"spaceId": "spc_one"}),
    ("S/sections/C", "PATCH", "title", 128, {}),
    ("S/sections/C", "PATCH", "path", 100, {}),
    ("S/sections/C", "PATCH", "condition", 1024, {}),
    ("S/sections/C", "PATCH", "description", 256, {}),
    ("S/section-groups", "POST", "title", 100, {}),
    ("S/section-groups/G", "PATCH", "title", 100, {}),
    ("S/site-spaces/P", "PATCH", "path", 100, {}),
    ("S/site-spaces/P", "PATCH", "condition", 1024, {}),
    ("/orgs/org_a/saml", "POST", "label", 30, SAML),
    ("/orgs/org_a/openapi", "POST", "slug", 100, SPEC),
]
SHORTEST: list[tuple[str, str, str, int, dict[str, Any]]] = [
    ("/orgs/org_a/sites", "POST", "title", 2, {}),
    ("S", "PATCH", "basename", 1, {}),
    ("S/sections", "POST", "title", 2, {"spaceId": "spc_one"}),
    ("S/sections/C", "PATCH", "path", 1, {}),
    ("S/section-groups", "POST", "title", 1, {}),
    ("S/share-links", "POST", "name", 1, {}),
    ("/orgs/org_a/saml", "POST", "label", 1, SAML),
    ("/orgs/org_a/openapi", "POST", "slug", 1, SPEC),
]


def _address(box: Box, path: str) -> str:
    """The path with what its letters stand for made."""
    if not path.startswith("S"):
        return path
    site = box.site("spc_two")
    section = box.section(site, "First")
    rest = path[1:]
    if rest.endswith("/C"):
        rest = rest[:-1] + section
    if rest.endswith("/P"):
        rest = rest[:-1] + box.ids(f"{site}/site-spaces")[0]
    if rest.endswith("/G"):
        rest = rest[:-1] + str(box.post(f"{site}/section-groups", {"title": "Group"})["id"])
    return site + rest


def _named(case: tuple[str, str, str, int, dict[str, Any]]) -> str:
    return f"{case[1]} {case[0]} {case[2]} {case[3]}"


@pytest.mark.parametrize("case", LONGEST, ids=_named)
def test_the_longest_that_fits_is_taken_and_one_more_answers_400_with_the_fields_name(box: Box, case: Any) -> None:
    path, method, field, longest, rest = case
    address = _address(box, path)
    assert box.send(method, address, {**rest, field: "x" * longest}).is_success
    assert box.refused(method, address, {**rest, field: "x" * (longest + 1)}).startswith(f"{field}: ")


@pytest.mark.parametrize("case", SHORTEST, ids=_named)
def test_the_shortest_that_fits_is_taken_and_one_less_answers_400_with_the_fields_name(box: Box, case: Any) -> None:
    path, method, field, shortest, rest = case
    address = _address(box, path)
    assert box.send(method, address, {**rest, field: "x" * shortest}).is_success
    assert box.refused(method, address, {**rest, field: "x" * (shortest - 1)}).startswith(f"{field}: ")


def test_a_proxy_of_512_characters_fits_and_one_more_does_not(box: Box) -> None:
    site = box.site()
    fits = f"acme.example/{'x' * 499}"
    assert box.patch(site, {"proxy": fits})["proxy"]["origin"] == fits
    assert box.refused("PATCH", site, {"proxy": f"{fits}x"}).startswith("proxy: ")


@pytest.mark.parametrize("proxy", ["acme.example", "https://acme.example/docs", "acme.example/", "/docs", "acme.example/a b", ""])
def test_a_proxy_is_a_host_and_at_least_one_segment_without_a_scheme(box: Box, proxy: str) -> None:
    assert box.refused("PATCH", box.site(), {"proxy": proxy}).startswith("proxy: ")


@pytest.mark.parametrize("slug", ["a--b", "-a", "a-", "a_b", "a b", "ä"])
def test_a_slug_is_alphanumeric_groups_separated_by_single_hyphens(box: Box, slug: str) -> None:
    assert box.refused("POST", "/orgs/org_a/openapi", {"slug": slug, **SPEC}).startswith("slug: ")
    assert box.refused("PUT", f"/orgs/org_a/openapi/{slug}", SPEC).startswith("slug: ")


def test_a_slug_in_the_address_has_at_most_100_characters(box: Box) -> None:
    box.put(f"/orgs/org_a/openapi/{'x' * 100}", SPEC, status=201)
    assert box.refused("PUT", f"/orgs/org_a/openapi/{'x' * 101}", SPEC).startswith("slug: ")


def test_lengths_are_counted_in_characters(box: Box) -> None:
    assert box.patch("/spaces/spc_one", {"title": "🙂" * 50})["title"] == "🙂" * 50
    assert box.refused("PATCH", "/spaces/spc_one", {"title": "🙂" * 51}).startswith("title: ")


WRONG: list[tuple[str, str, dict[str, Any], str]] = [
    ("PATCH", "/spaces/spc_one", {"title": 7}, "title"),
    ("PATCH", "/spaces/spc_one", {"title": None}, "title"),
    ("PATCH", "/spaces/spc_one", {"editMode": "open"}, "editMode"),
    ("PATCH", "/spaces/spc_one", {"defaultLevel": "owner"}, "defaultLevel"),
    ("PATCH", "/spaces/spc_one", {"mergeRules": {"type": "rules", "rules": [{"users": []}]}}, "mergeRules.rules.0.rule"),
    ("PATCH", "/orgs/org_a", {"sso": "yes"}, "sso"),
    ("PATCH", "/orgs/org_a", {"emailDomains": "acme.example"}, "emailDomains"),
    ("PATCH", "/orgs/org_a", {"defaultContent": {"type": "site", "site": "site_no"}}, "defaultContent.site"),
    ("PATCH", "/orgs/org_a/members/usr_rita", {"role": "owner"}, "role"),
    ("PUT", "/orgs/org_a/teams", {}, "title"),
    ("PUT", "/orgs/org_a/teams", {"title": "T", "members": ["usr_no"]}, "members"),
    ("PATCH", "/orgs/org_a/sites/S", {"visibility": "secret"}, "visibility"),
    ("PATCH", "/orgs/org_a/sites/S", {"adaptiveContent": {"enabled": 1}}, "adaptiveContent.enabled"),
    ("POST", "/orgs/org_a/sites", {"type": "huge"}, "type"),
    ("POST", "/orgs/org_a/saml", {**SAML, "defaultTeam": "team_no"}, "defaultTeam"),
    ("POST", "/orgs/org_a/openapi", {"slug": "a", "source": {}}, "source"),
    ("POST", "/spaces/spc_one/move", {"position": {"before": {"type": "page", "space": "x"}}}, "position.before"),
]


@pytest.mark.parametrize(("method", "path", "body", "field"), WRONG)
def test_a_wrong_value_answers_400_and_names_the_field(box: Box, method: str, path: str, body: dict[str, Any], field: str) -> None:
    assert box.refused(method, path, body).startswith(f"{field}: ")


def test_a_move_and_a_change_of_a_share_link_must_say_something(box: Box) -> None:
    site = box.site("spc_one")
    section, group = box.section(site, "Aa"), box.post(f"{site}/section-groups", {"title": "Group"})["id"]
    link = box.post(f"{site}/share-links", {"name": "Press"})["id"]
    variant = box.ids(f"{site}/site-spaces")[0]
    paths = ["/spaces/spc_one", "/collections/col_inner"]
    paths += [f"{site}/sections/{section}", f"{site}/section-groups/{group}", f"{site}/site-spaces/{variant}"]
    for path in paths:
        assert box.refused("POST", f"{path}/move", {}).startswith("body: must have at least one of")
    assert box.refused("PATCH", f"{site}/share-links/{link}", {"title": "x"}) == "body: must have at least one of active, name"


def test_default_content_is_a_site_of_the_same_organization(box: Box) -> None:
    foreign = box.send("POST", "/orgs/org_b/sites", {}, token="token-bob").json()["id"]
    body = {"defaultContent": {"type": "site", "site": foreign}}
    assert box.refused("PATCH", "/orgs/org_a", body) == f"defaultContent.site: there is no site {foreign}"


def test_unknown_merge_rules_survive_a_round(box: Box) -> None:
    rules = {"type": "rules", "rules": [{"rule": "require_two", "users": [], "count": 2}], "note": {"by": ["x"]}}
    assert (box.patch("/spaces/spc_one", {"mergeRules": rules})["mergeRules"], box.get("/spaces/spc_one")["mergeRules"]) == (rules, rules)
