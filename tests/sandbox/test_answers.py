"""Success codes, full objects, pages of lists.

Query parameters that come more than once.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.box import BOB, ZOE, Box

SAML = {"label": "Okta", "entityID": "e", "certificate": "c", "ssoURL": "https://idp.example", "defaultRole": "read"}
SPEC = {"source": {"url": "https://example.com/api.json"}}


# -- codes -----------------------------------------------------------------------------------------------------------------------------


def test_creates_answer_201(box: Box) -> None:
    site = box.site()
    section = box.section(site, "Guides")
    group = box.post(f"{site}/section-groups", {"title": "Group"})["id"]
    box.post(f"{site}/section-groups/{group}/sections", {"sectionId": section})
    box.post(f"{site}/site-spaces", {"spaceId": "spc_two"})
    box.post(f"{site}/share-links", {"name": "Link"})
    box.post("/orgs/org_a/collections", {"title": "New"})
    box.post("/spaces/spc_one/duplicate")
    box.put("/orgs/org_a/teams", {"title": "Team"}, status=201)
    box.post("/orgs/org_a/saml", SAML)
    box.post("/orgs/org_a/openapi", {"slug": "api", **SPEC})


def test_putting_an_openapi_specification_answers_201_when_it_is_made_and_200_after_that(box: Box) -> None:
    box.put("/orgs/org_a/openapi/api", SPEC, status=201)
    box.put("/orgs/org_a/openapi/api", SPEC, status=200)


def test_moves_transfers_restore_and_publish_answer_200(box: Box) -> None:
    site = box.site()
    first = box.section(site, "Aa")
    group = box.post(f"{site}/section-groups", {"title": "Group"})["id"]
    variant = box.ids(f"{site}/site-spaces")[0]
    for path in ("/spaces/spc_one", "/collections/col_inner", f"{site}/sections/{first}", f"{site}/section-groups/{group}"):
        box.post(f"{path}/move", {"position": {}}, status=200)
    box.post(f"{site}/site-spaces/{variant}/move", {"position": {}}, status=200)
    box.post(f"{site}/publish", status=200)
    box.delete("/spaces/spc_two")
    box.post("/spaces/spc_two/restore", status=200)
    box.post("/spaces/spc_two/transfer", {"organization": "org_b"}, status=200, token=ZOE)
    box.post("/collections/col_guides/transfer", {"organization": "org_b"}, status=200, token=ZOE)


# -- full objects ------------------------------------------------------------------------------------------------------------------------

FIELDS = {
    "/collections/col_inner": "object id title organization parent defaultLevel urls permissions",
    "/spaces/spc_one": (
        "object id title emoji visibility createdAt updatedAt editMode mergeRules organization parent language revision"
        " defaultLevel comments changeRequests changeRequestsOpen changeRequestsDraft urls permissions"
    ),
    "/orgs/org_a": (
        "object id title createdAt emailDomains hostname type useCase defaultRole sso ai inviteLinks plan mergeRules urls permissions"
    ),
    "/orgs/org_a/members/usr_ada": "object id role user disabled joinedAt lastSeenAt sso spaces teams",
}


@pytest.mark.parametrize("path", list(FIELDS))
def test_an_object_has_the_fields_of_the_reference_and_no_others(box: Box, path: str) -> None:
    assert set(box.get(path)) == set(FIELDS[path].split())


def test_nothing_that_is_kept_inside_is_shown(box: Box) -> None:
    site = box.site("spc_one")
    section = box.section(site, "Guides")
    box.post(f"{site}/section-groups", {"title": "Group", "sections": [section]})
    box.post(f"{site}/share-links", {"name": "Link"})
    box.put("/orgs/org_a/teams", {"title": "Team", "members": ["usr_ada"]}, status=201)
    box.post("/orgs/org_a/saml", SAML)
    box.put("/orgs/org_a/openapi/api", SPEC, status=201)

    def names(value: Any) -> set[str]:
        if isinstance(value, dict):
            return set(value).union(*(names(part) for part in value.values()))
        return set().union(*(names(part) for part in value)) if isinstance(value, list) else set()

    lists = ("sections", "section-groups", "site-spaces", "share-links")
    for path in (*(f"{site}/{one}" for one in lists), *(f"/orgs/org_a/{one}" for one in ("teams", "saml", "openapi", "sites", "members"))):
        found = box.get(path)
        assert found["count"] == len(found["items"]) >= 1
        assert not [name for name in names(found) if name.startswith("_")], path


def test_a_saml_provider_shows_its_team_and_addresses(box: Box) -> None:
    team = box.put("/orgs/org_a/teams", {"title": "Team"}, status=201)
    made = box.post("/orgs/org_a/saml", {**SAML, "defaultTeam": team["id"]})
    assert (made["defaultTeam"], set(made["service"])) == (team, {"acsURL", "startURL", "entityID"})
    assert box.get("/orgs/org_a/sso")["items"] == [{"id": made["id"], "label": "Okta", "startURL": made["service"]["startURL"]}]
    assert "defaultTeam" not in box.patch(f"/orgs/org_a/saml/{made['id']}", {"defaultTeam": None})
    assert box.get(f"/orgs/org_a/saml/{made['id']}")["label"] == "Okta"


def test_the_logo_is_written_as_an_address_and_read_below_urls(box: Box) -> None:
    found = box.patch("/orgs/org_a", {"logo": "https://acme.example/logo.png"})
    assert "logo" not in found
    assert found["urls"]["logo"].startswith("http://127.0.0.1")
    assert "logo" not in box.patch("/orgs/org_a", {"logo": None})["urls"]


def test_a_team_is_made_with_its_members_and_shows_how_many(box: Box) -> None:
    made = box.put("/orgs/org_a/teams", {"title": "Team", "members": ["usr_ada", "usr_rita", "usr_ada"]}, status=201)
    assert made["members"] == 2
    assert [item["team"]["id"] for item in box.items("/orgs/org_a/members/usr_rita/teams")] == [made["id"]]
    assert box.get("/orgs/org_a/members/usr_rita")["teams"] == 1
    box.delete("/orgs/org_a/members/usr_rita")
    assert box.get(f"/orgs/org_a/teams/{made['id']}")["members"] == 1


def test_members_are_filtered_by_role_and_text(box: Box) -> None:
    box.patch("/orgs/org_a/members/usr_cara", {"role": None})
    assert box.ids("/orgs/org_a/members", role="guest") == ["usr_cara"]
    assert box.ids("/orgs/org_a/members", search="RITA@acme") == ["usr_rita"]


def test_organizations_are_those_of_the_caller(box: Box) -> None:
    for token, mine in (("token-ada", ["org_a"]), (BOB, ["org_b"]), (ZOE, ["org_a", "org_b"])):
        assert [item["id"] for item in box.send("GET", "/orgs", token=token).json()["items"]] == mine


# -- pages -------------------------------------------------------------------------------------------------------------------------------


def test_pages_follow_one_another_without_gaps_and_the_last_has_no_next(box: Box) -> None:
    ids = ["col_guides", "col_inner", *(box.post("/orgs/org_a/collections", {"title": str(n)})["id"] for n in range(5))]
    seen, token = [], None
    for size in (3, 3, 1):
        page = box.get("/orgs/org_a/collections", limit=3, **({"page": token} if token else {}))
        assert (len(page["items"]), page["count"]) == (size, 7)
        seen += [item["id"] for item in page["items"]]
        token = page.get("next", {}).get("page")
    assert token is None
    assert seen == ids


def test_a_list_that_fills_its_page_exactly_has_no_next(box: Box) -> None:
    assert "next" not in box.get("/orgs/org_a/collections", limit=2)
    assert "next" in box.get("/orgs/org_a/collections", limit=1)


def test_page_tokens_tell_nothing(box: Box) -> None:
    token = box.get("/orgs/org_a/collections", limit=1)["next"]["page"]
    assert not token.isdigit()
    assert "col_" not in token


@pytest.mark.parametrize("limit", ["0", "-1", "many", "1.5", ""])
def test_a_limit_that_is_not_a_number_from_1_on_answers_400_and_names_it(box: Box, limit: str) -> None:
    assert box.refused("GET", "/orgs/org_a/collections", params={"limit": limit}).startswith("limit: ")


def test_a_page_of_one_is_one_item(box: Box) -> None:
    assert len(box.items("/orgs/org_a/collections", limit=1)) == 1


@pytest.mark.parametrize("token", ["2", "", "nonsense", "ä", "ZnJvbTotMQ==", "ZnJvbTo=", "/////w=="])
def test_a_page_token_of_somewhere_else_answers_400(box: Box, token: str) -> None:
    assert box.refused("GET", "/orgs/org_a/collections", params={"page": token}) == "page is not a page token of this service"


def test_every_list_has_pages(box: Box) -> None:
    site = box.site("spc_one", "spc_two")
    for path in ("/orgs", "/orgs/org_a/members", "/orgs/org_a/members/usr_ada/spaces", "/orgs/org_a/members/usr_ada/teams"):
        assert len(box.items(path, limit=1)) <= 1
    for path in ("sections", "section-groups", "site-spaces", "share-links"):
        assert len(box.items(f"{site}/{path}", limit=1)) <= 1
    for path in ("teams", "sites", "saml", "openapi", "collections"):
        assert len(box.items(f"/orgs/org_a/{path}", limit=1)) <= 1
    assert box.get(f"{site}/site-spaces", limit=1)["count"] == 2


def test_a_logo_that_is_not_a_url_is_refused(box: Box) -> None:
    assert box.refused("PATCH", "/orgs/org_a", {"logo": "Ⱦ"}).startswith("logo: ")
    assert "logo" not in box.get("/orgs/org_a")["urls"]


def test_a_parameter_of_one_value_that_is_given_twice_is_refused_by_name(box: Box) -> None:
    assert box.refused("GET", "/orgs", params=[("limit", "1"), ("limit", "2")]) == "limit: given more than once"
    assert box.refused("GET", "/integrations", params=[("scope", "a"), ("scope", "b")]) == "scope: given more than once"


def test_a_list_and_what_the_service_does_not_know_may_come_twice(box: Box) -> None:
    assert box.send("GET", "/integrations", params=[("blockDomain", "a.example"), ("blockDomain", "b.example")]).status_code == 200
    assert box.send("GET", "/spaces/spc_one/comments", params=[("authors", "a"), ("authors", "b")]).status_code == 200
    assert box.send("GET", "/orgs", params=[("mood", "good"), ("mood", "bad")]).status_code == 200
