"""Who is let in, what the others are told, and the one shape every refusal has."""

from __future__ import annotations

import asyncio

import httpx2
import pytest

from tests.sandbox.box import ADA_READS, BOB, CARA, CONTROL, RITA, Box

SAML = {"label": "Okta", "entityID": "e", "certificate": "c", "ssoURL": "https://idp.example"}


@pytest.mark.parametrize("path", ["/orgs", "/spaces/spc_one", "/orgs/org_a/sites/site_no", "/nowhere"])
def test_without_a_token_the_answer_is_401(box: Box, path: str) -> None:
    assert box.refused("GET", path, status=401, token=None) == "an access token is required: Authorization: Bearer <ACCESS_TOKEN>"


@pytest.mark.parametrize("header", ["Basic YTpi", "Bearer", "Bearer  ", "token-ada", ""])
def test_what_is_not_a_bearer_token_answers_401(box: Box, header: str) -> None:
    box.refused("GET", "/orgs", status=401, token=None, headers={"Authorization": header})


def test_an_unknown_token_answers_401_and_is_not_repeated(box: Box) -> None:
    assert box.refused("GET", "/orgs", status=401, token="token-of-nobody") == "the access token is unknown"


def test_who_calls_is_asked_before_the_body_is_read(box: Box) -> None:
    box.refused("PATCH", "/spaces/spc_one", status=401, token=None, content=b"{", headers={"Content-Type": "application/json"})


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "/spaces/spc_one", {"title": "x"}),
        ("POST", "/spaces/spc_one/duplicate", None),
        ("PUT", "/orgs/org_a/teams", {"title": "x"}),
        ("DELETE", "/collections/col_guides", None),
        ("DELETE", "/spaces/spc_not_there", None),
    ],
)
def test_a_write_with_a_read_token_answers_403_and_changes_nothing(box: Box, method: str, path: str, body: object) -> None:
    assert box.refused(method, path, body, status=403, token=ADA_READS) == "this access token is read-only"
    assert box.get("/spaces/spc_one")["title"] == "One"


def test_a_read_token_reads(box: Box) -> None:
    assert box.send("GET", "/spaces/spc_one", token=ADA_READS).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "role"),
    [
        ("PATCH", "/spaces/spc_one", {"title": "x"}, "create"),
        ("DELETE", "/spaces/spc_one", None, "create"),
        ("POST", "/orgs/org_a/sites", {}, "create"),
        ("PUT", "/orgs/org_a/teams", {"title": "x"}, "admin"),
        ("PATCH", "/orgs/org_a", {"title": "xx"}, "admin"),
        ("POST", "/orgs/org_a/saml", SAML, "admin"),
        ("DELETE", "/orgs/org_a/members/usr_ada", None, "admin"),
    ],
)
def test_a_role_that_is_too_low_answers_403_and_names_the_one_needed(box: Box, method: str, path: str, body: object, role: str) -> None:
    for token in (RITA, CARA) if role == "admin" else (RITA,):
        assert box.refused(method, path, body, status=403, token=token) == f"you need the role {role} for this"


def test_permissions_show_what_the_caller_may_do(box: Box) -> None:
    mine = {token: box.send("GET", "/spaces/spc_one", token=token).json()["permissions"] for token in ("token-ada", CARA, RITA)}
    assert [mine[token]["admin"] for token in mine] == [True, False, False]
    assert [mine[token]["merge"] for token in mine] == [True, True, False]
    assert all(one["view"] for one in mine.values())


FOREIGN = [
    ("GET", "/spaces/spc_one", "space spc_one not found"),
    ("PATCH", "/spaces/spc_one", "space spc_one not found"),
    ("DELETE", "/spaces/spc_one", "space spc_one not found"),
    ("POST", "/spaces/spc_one/duplicate", "space spc_one not found"),
    ("POST", "/spaces/spc_one/restore", "space spc_one not found"),
    ("GET", "/collections/col_guides", "collection col_guides not found"),
    ("DELETE", "/collections/col_guides", "collection col_guides not found"),
    ("GET", "/collections/col_guides/spaces", "collection col_guides not found"),
    ("GET", "/orgs/org_a", "organization org_a not found"),
    ("GET", "/orgs/org_a/members", "organization org_a not found"),
    ("GET", "/orgs/org_a/sites", "organization org_a not found"),
    ("DELETE", "/orgs/org_a/teams/team_x", "organization org_a not found"),
    ("GET", "/orgs/org_a/sso", "organization org_a not found"),
]


@pytest.mark.parametrize(("method", "path", "message"), FOREIGN)
def test_what_another_organization_owns_answers_404_as_if_it_were_not_there(box: Box, method: str, path: str, message: str) -> None:
    assert box.refused(method, path, {} if method == "PATCH" else None, status=404, token=BOB) == message


def test_an_object_is_not_found_below_another_organization_or_site(box: Box) -> None:
    team = box.put("/orgs/org_a/teams", {"title": "Team"}, status=201)["id"]
    site, other = box.site("spc_one"), box.site(title="Other")
    section = box.section(site, "Guides")
    box.refused("GET", f"/orgs/org_b/teams/{team}", status=404, token=BOB)
    assert box.refused("PATCH", f"{other}/sections/{section}", {}, status=404) == f"section {section} not found"
    box.delete(f"{other}/sections/{section}")
    assert box.ids(f"{site}/sections") == [section]


def test_a_foreign_space_or_collection_cannot_be_taken_in(box: Box) -> None:
    assert box.refused("POST", "/orgs/org_a/sites", {"spaces": ["spc_bolt"]}, status=404) == "space spc_bolt not found"
    assert box.refused("POST", f"{box.site()}/site-spaces", {"spaceId": "spc_bolt"}, status=404) == "space spc_bolt not found"
    assert box.refused("POST", "/spaces/spc_bolt/move", {"parent": "col_guides"}, status=404) == "space spc_bolt not found"
    assert box.refused("POST", "/spaces/spc_one/move", {"parent": "col_no"}, status=404) == "collection col_no not found"


# -- one shape -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/nowhere", "/orgs/org_a/nowhere", "/_sandbox/nowhere"])
def test_an_unknown_route_answers_404(box: Box, path: str) -> None:
    assert box.refused("GET", path, status=404).endswith("Not Found")


def test_a_wrong_method_answers_405_and_says_what_is_allowed(box: Box) -> None:
    assert box.refused("PUT", "/orgs", {}, status=405) == "PUT /v1/orgs: Method Not Allowed"
    assert "GET" in box.send("PUT", "/orgs", {}).headers["Allow"]


@pytest.mark.parametrize("content", [b"{", b"", b"[1, 2", b"\xff\xfe", b"nonsense", b"[" * 100_000])
def test_a_body_that_is_not_json_answers_400(box: Box, content: bytes) -> None:
    box.refused("POST", "/orgs/org_a/collections", content=content, headers={"Content-Type": "application/json"})


def test_malformed_json_is_called_that(box: Box) -> None:
    assert box.refused("POST", "/orgs/org_a/collections", content=b"{", headers={"Content-Type": "application/json"}) == "body: not JSON"


@pytest.mark.parametrize("body", [[], "text", 7, True])
def test_a_body_that_is_not_an_object_answers_400(box: Box, body: object) -> None:
    assert box.refused("POST", "/orgs/org_a/collections", body).startswith("body: ")


def test_a_missing_body_answers_400(box: Box) -> None:
    assert box.refused("POST", "/orgs/org_a/sites").startswith("body: ")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.1:80", "localhost.evil.example:1", "[::2]"])
def test_a_host_that_is_not_the_loopback_interface_answers_403(box: Box, host: str) -> None:
    assert box.refused("GET", "/orgs", status=403, headers={"Host": host}) == "this service only listens on the loopback interface"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "localhost", "LocalHost:80", "[::1]", "[::1]:80"])
def test_every_name_of_the_loopback_interface_is_answered(box: Box, host: str) -> None:
    assert box.send("GET", "/orgs", headers={"Host": host}).status_code == 200


def test_what_breaks_inside_answers_500_in_the_same_shape(box: Box) -> None:
    async def ask() -> httpx2.Response:
        transport = httpx2.ASGITransport(box.app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:1") as client:
            return await client.get("/v1/orgs/org_a/collections", headers={"Authorization": "Bearer token-ada"})

    box.store.connection.execute("update objects set data = '[]' where kind = 'collection'")
    answer = asyncio.run(ask())
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, 500)
    assert "Date" in answer.headers


@pytest.mark.parametrize("path", ["/_sandbox/clock", "/_sandbox/identity"])
def test_control_endpoints_are_only_for_the_control_token(box: Box, path: str) -> None:
    for token in ("token-ada", None, "x"):
        box.refused("GET", path, status=401, token=token)
    assert box.send("GET", path, token=CONTROL).status_code == 200
