"""The rest of an organization: joining, searching, instructions, members seen and signed in, sites as visitors get them, documents."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.sandbox.integrations import specs
from reconciler.sandbox.service import Fault, who
from reconciler.sandbox.sites.structure import site_of
from reconciler.sandbox.sites.visitors import reader, space_reader
from tests.sandbox.box import ADA, ADA_READS, BOB, CARA, CONTROL, RITA, SEED, ZOE, Box

# -- joining ---------------------------------------------------------------------------------------------------------------------------


def test_whoever_has_an_address_at_an_allowed_domain_joins_with_the_default_role(box: Box) -> None:
    box.patch("/orgs/org_a", {"emailDomains": ["Bolt.example"], "defaultRole": "comment"})
    now = box.clock("2031-01-01T00:00:00Z")
    assert box.send("GET", "/orgs/org_a", token=BOB).status_code == 404
    for _ in range(2):
        assert box.send("POST", "/orgs/org_a/join", token=BOB).status_code == 204
    joined = box.get("/orgs/org_a/members/usr_bob")
    assert (joined["role"], joined["joinedAt"], joined["user"]["email"]) == ("comment", now, "bob@bolt.example")
    assert box.get("/orgs/org_a/members")["count"] == 5


def test_who_joins_where_the_default_role_is_null_is_a_guest(box: Box) -> None:
    box.patch("/orgs/org_a", {"emailDomains": ["bolt.example"], "defaultRole": None})
    box.send("POST", "/orgs/org_a/join", token=BOB)
    assert box.get("/orgs/org_a/members/usr_bob")["role"] is None


@pytest.mark.parametrize("domains", [[], ["acme.example"], ["olt.example"], ["example"], [""]])
def test_nobody_else_joins_or_learns_that_the_organization_exists(box: Box, domains: list[str]) -> None:
    box.patch("/orgs/org_a", {"emailDomains": domains})
    assert box.refused("POST", "/orgs/org_a/join", status=404, token=BOB) == "organization org_a not found"
    assert box.refused("POST", "/orgs/org_no/join", status=404, token=BOB) == "organization org_no not found"


def test_joining_as_a_member_changes_nothing(box: Box) -> None:
    before = box.get("/orgs/org_a/members/usr_rita")
    assert (box.send("POST", "/orgs/org_a/join", token=RITA).status_code, box.get("/orgs/org_a/members/usr_rita")) == (204, before)
    assert box.send("POST", "/orgs/org_a/join", token=CONTROL).status_code == 204


def test_who_was_removed_is_remembered_and_may_join_again(box: Box) -> None:
    box.patch("/orgs/org_a", {"emailDomains": ["acme.example"]})
    box.delete("/orgs/org_a/members/usr_cara")
    assert box.send("POST", "/orgs/org_a/join", token=CARA).status_code == 204
    assert box.get("/orgs/org_a/members/usr_cara")["user"]["displayName"] == "Cara"


def test_a_domain_shows_its_organizations_to_members_and_to_those_who_could_join(box: Box) -> None:
    def seen(token: str, domain: str = "bolt.example") -> list[str]:
        answer = box.send("GET", f"/email-domains/{domain}/orgs", token=token)
        assert answer.status_code == 200
        return [one["id"] for one in answer.json()["organizations"]]

    assert seen(BOB) == []
    box.patch("/orgs/org_a", {"emailDomains": ["bolt.example"]})
    assert (seen(BOB), seen(BOB, "BOLT.example"), seen(ADA), seen(ZOE), seen(CONTROL)) == (["org_a"],) * 5
    assert seen(ADA, "acme.example") == []
    box.send("PATCH", "/orgs/org_b", {"emailDomains": ["bolt.example"]}, token=BOB)
    assert (seen(BOB), seen(ADA)) == (["org_a", "org_b"], ["org_a"])
    shown = box.send("GET", "/email-domains/bolt.example/orgs", token=BOB).json()["organizations"]
    assert (set(shown[0]["permissions"].values()), set(shown[1]["permissions"].values())) == ({False}, {True})


def test_deleting_an_invite_answers_204_whether_it_was_there_or_not(box: Box) -> None:
    for organization in ("org_a", "org_b"):
        box.store.add("link-invite", organization, f"invites:{organization}", {"id": f"inv_{organization}", "organization": organization})
    for invite in ("inv_org_a", "inv_org_a", "inv_org_b", "inv_no"):
        box.delete(f"/orgs/org_a/link-invites/{invite}")
    assert [one["id"] for one in box.store.select("link-invite")] == ["inv_org_b"]
    box.refused("DELETE", "/orgs/org_a/link-invites/x", status=403, token=CARA)
    box.refused("DELETE", "/orgs/org_a/link-invites/x", status=404, token=BOB)


# -- searching -------------------------------------------------------------------------------------------------------------------------

PAGES = [
    {
        "id": "pag_start",
        "title": "Start",
        "path": "start",
        "markdown": "Hello.\n\n## Install\nRun the *Rocket* tool.\n\n## Install\nAgain.\n\n## More\nNothing.",
        "pages": [{"id": "pag_deep", "title": "Rocket fuel", "path": "start/fuel", "pages": [{"path": "start/fuel/deep"}]}],
    },
    {"title": "Other"},
]


@pytest.fixture
def library(tmp_path: Path) -> Any:
    spaces = [
        *SEED["spaces"],
        {"organization": "org_a", "id": "spc_lib", "title": "Library", "pages": PAGES},
        {"organization": "org_b", "id": "spc_far", "title": "Far", "pages": PAGES},
    ]
    box = Box(tmp_path, {**SEED, "spaces": spaces})
    yield box
    box.close()


def test_a_search_finds_pages_of_all_spaces_with_their_sections_and_ancestors(library: Box) -> None:
    assert library.get("/orgs/org_a/search", query="rocket") == {
        "items": [
            {
                "id": "spc_lib",
                "title": "Library",
                "pages": [
                    {
                        "id": "pag_start",
                        "title": "Start",
                        "path": "start",
                        "sections": [
                            {
                                "id": "install",
                                "title": "Install",
                                "path": "start#install",
                                "body": "Run the *Rocket* tool.",
                                "urls": {"app": "http://127.0.0.1:1/app/s/spc_lib/start#install"},
                            }
                        ],
                        "ancestors": [],
                        "urls": {"app": "http://127.0.0.1:1/app/s/spc_lib/start"},
                    },
                    {
                        "id": "pag_deep",
                        "title": "Rocket fuel",
                        "path": "start/fuel",
                        "sections": [],
                        "ancestors": [{"title": "Start"}],
                        "urls": {"app": "http://127.0.0.1:1/app/s/spc_lib/start/fuel"},
                    },
                ],
            }
        ],
        "count": 1,
    }


def test_every_word_has_to_be_there_and_sections_of_one_title_have_different_ids(library: Box) -> None:
    assert [page["id"] for page in library.items("/orgs/org_a/search", query="TOOL  again")[0]["pages"]] == ["pag_start"]
    sections = library.items("/orgs/org_a/search", query="install")[0]["pages"][0]["sections"]
    assert [section["id"] for section in sections] == ["install", "install-2"]
    assert library.items("/orgs/org_a/search", query="rocket nothing-like-it") == []
    assert library.items("/orgs/org_a/search", query=" ") == []


def test_a_search_is_paged_by_space_and_leaves_deleted_spaces_out(library: Box) -> None:
    first = library.get("/orgs/org_a/search", query="page", limit=2)
    rest = library.get("/orgs/org_a/search", query="page", limit=2, page=first["next"]["page"])
    assert sorted(one["id"] for one in first["items"] + rest["items"]) == ["spc_deep", "spc_one", "spc_root", "spc_two"]
    assert (len(first["items"]), first["count"], "next" in rest) == (2, 4, False)
    library.delete("/spaces/spc_lib")
    assert library.items("/orgs/org_a/search", query="rocket") == []


# -- agent instructions ----------------------------------------------------------------------------------------------------------------

INSTRUCTIONS = "/orgs/org_a/agent-instructions"
DOCUMENT = {
    "object": "document",
    "data": {"schemaVersion": 8, "more": [1]},
    "nodes": [
        {
            "object": "block",
            "type": "paragraph",
            "isVoid": False,
            "key": "k",
            "data": {"align": "start"},
            "nodes": [{"object": "text", "leaves": [{"object": "leaf", "text": "Be kind.", "marks": []}]}],
        }
    ],
}


def test_instructions_are_an_empty_document_until_they_are_put(box: Box) -> None:
    found = box.get(INSTRUCTIONS)
    assert (set(found), found["object"]) == ({"object", "instructions", "updatedAt", "updatedBy", "urls"}, "agent-instructions")
    assert found["instructions"] == {"object": "document", "data": {"schemaVersion": 1}, "nodes": []}


def test_instructions_that_are_put_are_read_back_with_who_and_when(box: Box) -> None:
    for moment in ("2031-01-01T00:00:00Z", "2031-01-02T00:00:00Z"):
        now = box.clock(moment)
        answer = box.put(INSTRUCTIONS, {"instructions": DOCUMENT})
        assert answer == box.get(INSTRUCTIONS)
        assert (answer["instructions"], answer["updatedAt"], answer["updatedBy"]) == (DOCUMENT, now, "usr_ada")
    assert answer["urls"]["location"].endswith("/v1/orgs/org_a/agent-instructions")
    assert box.send("GET", "/orgs/org_b/agent-instructions", token=BOB).json()["instructions"]["nodes"] == []


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (None, "instructions"),
        ("text", "instructions"),
        ([], "instructions"),
        ({"object": "doc", "nodes": []}, "object"),
        ({"object": "document"}, "nodes"),
        ({"object": "document", "nodes": {}}, "nodes"),
        ({"object": "document", "nodes": ["x"]}, "nodes.0"),
        ({"object": "document", "nodes": [{"object": "text"}]}, "nodes.0.object"),
        ({"object": "document", "nodes": [{"object": "block"}]}, "nodes.0.type"),
        ({"object": "document", "nodes": [{"object": "block", "type": "p", "nodes": [{}]}]}, "nodes.0.nodes.0"),
        ({"object": "document", "nodes": [{"object": "block", "type": "p", "nodes": 7}]}, "nodes.0.nodes"),
        ({"object": "document", "nodes": [{"object": "block", "type": "p", "isVoid": 1}]}, "isVoid"),
        ({"object": "document", "nodes": [], "data": {"schemaVersion": "1"}}, "schemaVersion"),
        ({"object": "document", "nodes": [], "data": []}, "data"),
    ],
)
def test_an_invalid_rich_document_answers_400_and_names_the_position(box: Box, document: object, field: str) -> None:
    said = box.refused("PUT", INSTRUCTIONS, {"instructions": document})
    assert said.startswith("instructions")
    assert field in said
    assert box.get(INSTRUCTIONS)["instructions"]["nodes"] == []


def test_only_admins_put_instructions_and_only_members_read_them(box: Box) -> None:
    box.refused("PUT", INSTRUCTIONS, {"instructions": DOCUMENT}, status=403, token=CARA)
    assert box.send("GET", INSTRUCTIONS, token=RITA).status_code == 200
    box.refused("GET", INSTRUCTIONS, status=404, token=BOB)
    box.refused("PUT", INSTRUCTIONS, {"instructions": DOCUMENT}, status=404, token=BOB)


# -- members ---------------------------------------------------------------------------------------------------------------------------


def _read(part: str) -> Any:
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def test_a_ping_moves_last_seen_and_answers_a_signed_token(box: Box) -> None:
    now = box.clock("2031-01-01T00:00:00Z")
    head, claims, signature = box.post("/orgs/org_a/ping", status=200, token=RITA)["serviceVisitorClaims"].split(".")
    assert _read(head) == {"alg": "HS256", "typ": "JWT"}
    assert _read(claims) == {"sub": "usr_rita", "organization": "org_a", "role": "read", "iat": 1924992000}
    expected = hmac.new(str(box.store.meta("visitor-key")).encode(), f"{head}.{claims}".encode(), hashlib.sha256).digest()
    assert base64.urlsafe_b64decode(signature + "=") == expected
    assert box.get("/orgs/org_a/members/usr_rita")["lastSeenAt"] == now
    assert box.get("/orgs/org_a/members/usr_ada")["lastSeenAt"] != now


def test_a_ping_is_refused_to_those_outside_and_nothing_for_the_control_token(box: Box) -> None:
    box.refused("POST", "/orgs/org_a/ping", status=404, token=BOB)
    box.refused("POST", "/orgs/org_a/ping", status=403, token=ADA_READS)
    assert box.post("/orgs/org_a/ping", status=200, token=CONTROL) == {}


def test_members_sorted_by_last_seen_have_the_order_of_their_pings(box: Box) -> None:
    for day, token in enumerate((RITA, ZOE, ADA, CARA), start=1):
        box.clock(f"2031-01-0{day}T00:00:00Z")
        box.post("/orgs/org_a/ping", status=200, token=token)
    members = "/orgs/org_a/members"
    assert box.ids(members, sort="lastSeenAt") == ["usr_cara", "usr_ada", "usr_zoe", "usr_rita"]
    assert box.ids(members, sort="lastSeenAt", order="asc") == ["usr_rita", "usr_zoe", "usr_ada", "usr_cara"]
    assert box.ids(members) == ["usr_zoe", "usr_rita", "usr_cara", "usr_ada"]


def test_a_member_becomes_an_sso_member(box: Box) -> None:
    path = "/orgs/org_a/members/usr_rita"
    assert box.get(path)["sso"] is False
    assert box.post(f"{path}/sso", status=200)["sso"] is True
    assert box.patch(path, {"role": "edit"})["sso"] is True
    assert [item["id"] for item in box.items("/orgs/org_a/members") if item["sso"]] == ["usr_rita"]
    box.refused("POST", "/orgs/org_a/members/usr_bob/sso", status=404)
    box.refused("POST", f"{path}/sso", status=403, token=CARA)


# -- adaptive schema -------------------------------------------------------------------------------------------------------------------

SCHEMA: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "isBeta": {"type": "boolean", "description": "Takes part in the beta"},
        "has-plan": {"type": "boolean"},
        "unsigned": {"type": "object", "properties": {"dark": {"type": "boolean"}}, "additionalProperties": False},
    },
    "additionalProperties": False,
}


def test_there_is_no_adaptive_schema_until_one_is_put(box: Box) -> None:
    path = f"{box.site()}/adaptive-schema"
    assert box.refused("GET", path, status=404).endswith("has no adaptive schema")
    assert box.get(f"{path}/template-conditions") == {"items": []}
    answer = {"object": "site-adaptive-schema", "jsonSchema": SCHEMA, "updatedAt": box.clock("2031-01-01T00:00:00Z")}
    assert box.put(path, {"jsonSchema": SCHEMA}) == answer == box.get(path)


def test_conditions_follow_from_the_schema(box: Box) -> None:
    path = f"{box.site()}/adaptive-schema"
    box.put(path, {"jsonSchema": SCHEMA})
    assert box.items(f"{path}/template-conditions") == [
        {"description": "Takes part in the beta", "condition": "visitor.claims.isBeta"},
        {"description": "has-plan is true", "condition": 'visitor.claims["has-plan"]'},
        {"description": "dark is true", "condition": "visitor.claims.unsigned.dark"},
    ]
    plan = {"type": "string", "enum": ["free", "pro"], "description": "The plan"}
    more = {"seats": {"type": "number"}, "groups": {"type": "array", "items": {"type": "string"}}, "name": {"type": "string"}}
    company = {"type": "object", "properties": {"isPartner": {"type": "boolean"}}, "additionalProperties": False}
    box.put(path, {"jsonSchema": {"type": "object", "properties": {"plan": plan, **more, "company": company}}})
    assert box.items(f"{path}/template-conditions") == [
        {"description": "The plan is free", "condition": 'visitor.claims.plan == "free"'},
        {"description": "The plan is pro", "condition": 'visitor.claims.plan == "pro"'},
        {"description": "isPartner is true", "condition": "visitor.claims.company.isPartner"},
    ]
    box.put(path, {"jsonSchema": {"type": "object", "properties": {}}})
    assert box.items(f"{path}/template-conditions") == []


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        (None, "jsonSchema"),
        ([], "jsonSchema"),
        ("{}", "jsonSchema"),
        ({}, "jsonSchema.type"),
        (SCHEMA | {"$schema": "https://json-schema.org/draft/2020-12/schema"}, "jsonSchema.$schema"),
        (SCHEMA | {"$schema": []}, "jsonSchema.$schema"),
        (SCHEMA | {"type": "array"}, "jsonSchema.type"),
        (SCHEMA | {"properties": []}, "jsonSchema.properties"),
        (SCHEMA | {"additionalProperties": True}, "jsonSchema.additionalProperties"),
        (SCHEMA | {"required": "isBeta"}, "jsonSchema.required"),
        (SCHEMA | {"required": [[]]}, "jsonSchema.required"),
        (SCHEMA | {"properties": {"a": {"type": "null"}}}, "jsonSchema.properties.a.type"),
        (SCHEMA | {"properties": {"a": {"type": "string", "enum": ["a", "a"]}}}, "jsonSchema.properties.a.enum"),
        (SCHEMA | {"properties": {"a": {"type": "array"}}}, "jsonSchema.properties.a.items"),
        (SCHEMA | {"properties": {"a": {"type": "object", "properties": {"b": {}}}}}, "jsonSchema.properties.a.properties.b.type"),
        (SCHEMA | {"properties": {"a": True}}, "jsonSchema.properties.a"),
        (SCHEMA | {"properties": {"a": {"type": "boolean", "description": 7}}}, "jsonSchema.properties.a.description"),
        (SCHEMA | {"properties": {"unsigned": {"type": "boolean"}}}, "jsonSchema.properties.unsigned.type"),
        (
            SCHEMA | {"properties": {"unsigned": {"type": "object", "properties": {"a": 7}}}},
            "jsonSchema.properties.unsigned.properties.a",
        ),
    ],
)
def test_a_schema_of_another_shape_answers_400_and_changes_nothing(box: Box, schema: object, field: str) -> None:
    path = f"{box.site()}/adaptive-schema"
    box.put(path, {"jsonSchema": SCHEMA})
    assert box.refused("PUT", path, {"jsonSchema": schema}).startswith(f"{field}: ")
    assert box.get(path)["jsonSchema"] == SCHEMA


def test_a_schema_is_refused_to_readers_and_strangers_and_survives_a_change_of_the_site(box: Box) -> None:
    site = box.site()
    path = f"{site}/adaptive-schema"
    box.refused("PUT", path, {"jsonSchema": SCHEMA}, status=403, token=RITA)
    for method, where in (("GET", path), ("PUT", path), ("GET", f"{path}/template-conditions")):
        box.refused(method, where, {"jsonSchema": SCHEMA} if method == "PUT" else None, status=404, token=BOB)
    box.put(path, {"jsonSchema": SCHEMA})
    assert not any(key.startswith("_") for key in box.patch(site, {"title": "New"}))
    assert box.get(path)["jsonSchema"] == SCHEMA
    box.delete(site)
    box.refused("GET", path, status=404)


# -- published -------------------------------------------------------------------------------------------------------------------------


def test_a_site_is_read_as_published_only_once_it_is(box: Box) -> None:
    site = box.site("spc_one", "spc_two")
    assert box.refused("GET", f"{site}/published", status=404).endswith("is not published")
    box.post(f"{site}/publish", status=200)
    found = box.get(f"{site}/published")
    assert (set(found), found["site"]) == ({"object", "site", "structure", "customizations", "scripts"}, box.get(site))
    assert found["structure"] == {"type": "siteSpaces", "structure": box.items(f"{site}/site-spaces")}
    assert set(found["customizations"]["siteSpaces"]) == set(box.ids(f"{site}/site-spaces"))


def test_the_structure_of_a_published_site_is_its_sections_in_the_order_of_its_visitors(box: Box) -> None:
    site = box.site()
    first = box.section(site, "First")
    box.section(site, "Second", "spc_two")
    box.post(f"{site}/section-groups", {"title": "Group", "sections": [first]})
    box.post(f"{site}/publish", status=200)
    assert box.get(f"{site}/published")["structure"] == {"type": "sections", "structure": box.items(f"{site}/sections")}


def test_a_customization_has_every_documented_part(box: Box) -> None:
    site = box.site("spc_one", title="Acme docs")
    box.post(f"{site}/publish", status=200)
    look = box.get(f"{site}/published")["customizations"]["site"]
    assert len(look["announcement"]["message"]) >= 2
    parts = """title styling favicon header footer announcement themes pdf feedback ai advancedCustomization git pageActions externalLinks
        pagination trademark privacyPolicy socialPreview insights"""
    styling = """theme primaryColor infoColor successColor warningColor dangerColor tint corners depth links font monospaceFont icons
        sidebar search"""
    assert (set(look), set(look["styling"]), look["title"]) == (set(parts.split()), set(styling.split()), "Acme docs")


# -- share keys ------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def shared(box: Box) -> tuple[Box, str, str, str]:
    """A published site with a share link: its path, the link's path and the key."""
    site = box.site("spc_one")
    box.patch(site, {"visibility": "share-link"})
    box.post(f"{site}/publish", status=200)
    link = box.post(f"{site}/share-links", {"name": "For friends"})
    return box, site, f"{site}/share-links/{link['id']}", link["urls"]["published"].partition("?key=")[2]


def seen(box: Box, path: str, key: str | None, token: str | None = BOB) -> int:
    return box.send("GET", path, token=token, params={"shareKey": key} if key else {}).status_code


def test_the_key_of_an_active_link_lets_a_stranger_read_the_published_site(shared: tuple[Box, str, str, str]) -> None:
    box, site, link, key = shared
    path = f"{site}/published"
    assert [seen(box, path, one) for one in (None, "wrong", key[:-1], "ä", key)] == [404, 404, 404, 404, 200]
    assert seen(box, path, key, token=None) == 401
    assert (seen(box, path, None, token=RITA), seen(box, path, "wrong", token=RITA)) == (200, 200)
    answer = box.send("GET", path, token=BOB, params={"shareKey": key}).json()
    assert answer["structure"]["structure"][0]["space"]["id"] == "spc_one"
    assert answer["structure"]["structure"][0]["space"]["permissions"]["edit"] is False
    box.patch(link, {"active": False})
    assert seen(box, path, key) == 404
    box.patch(link, {"active": True})
    box.patch(site, {"visibility": "visitor-auth"})
    assert seen(box, path, key) == 404
    box.patch(site, {"visibility": "share-link"})
    box.delete(link)
    assert seen(box, path, key) == 404


def test_a_key_opens_its_own_site_only_once_that_is_published(shared: tuple[Box, str, str, str]) -> None:
    box, site, _, key = shared
    other = box.site("spc_one", title="Other")
    box.post(f"{other}/publish", status=200)
    assert seen(box, f"{other}/published", key) == 404
    hidden = box.site("spc_one", title="Hidden")
    made = box.post(f"{hidden}/share-links", {"name": "x"})["urls"]["published"].partition("?key=")[2]
    assert (seen(box, f"{hidden}/published", made), seen(box, site, key)) == (404, 404)


def test_a_key_makes_a_guest_of_one_organization_who_only_reads(shared: tuple[Box, str, str, str]) -> None:
    box, site, _, key = shared
    stranger = who(box.app.state.service, f"Bearer {BOB}", "GET")
    id = site.rsplit("/", 1)[1]
    guest = reader(stranger, "org_a", id, key)
    assert site_of(guest, "org_a", id)["id"] == id
    assert (guest.rank("org_a"), guest.rank("org_b")) == (-1, -2)
    for refused in (guest.admin, guest.creator):
        with pytest.raises(Fault):
            refused("org_a")
    with pytest.raises(Fault):
        guest.member("org_b")
    assert space_reader(stranger, "spc_one", key).get("space", "spc_one")["id"] == "spc_one"
    for space in ("spc_two", "spc_no"):
        assert space_reader(stranger, space, key) is stranger
    assert space_reader(stranger, "spc_one", "wrong") is stranger
    box.delete("/spaces/spc_one")
    assert space_reader(stranger, "spc_one", key) is stranger


# -- documents -------------------------------------------------------------------------------------------------------------------------

SPEC = "/orgs/org_a/openapi/api"


def ended(box: Box, url: str, status: int = 200) -> Any:
    """The specification after its processing."""
    box.put(SPEC, {"source": {"url": url}}, status=status)
    box.clock(advance=2)
    return box.get(SPEC)


def test_what_was_processed_last_is_shown_until_the_next_processing_ends(box: Box) -> None:
    box.clock("2031-01-01T00:00:00Z")
    good = ended(box, "https://fixtures.example/openapi.json", 201)
    assert (good["processingState"], good["lastProcessedAt"]) == ("complete", "2031-01-01T00:00:02.000Z")
    assert "lastProcessErrorCode" not in good
    again = box.put(SPEC, {"source": {"url": "https://nowhere.example/x.json"}})
    assert (again["processingState"], again["lastVersion"]) == ("pending", good["lastVersion"])
    box.clock(advance=1)
    assert (box.get(SPEC)["processingState"], box.get(SPEC)["lastProcessedAt"]) == ("progress", good["lastProcessedAt"])
    box.clock(advance=1)
    bad = box.get(SPEC)
    assert (bad["lastVersion"], bad["lastProcessErrorCode"]) == (good["lastVersion"], "FETCH_ERROR")
    assert bad["lastProcessedErrors"][0]["code"] == "FETCH_ERROR"
    better = ended(box, "https://fixtures.example/openapi.json")
    assert better["lastVersion"] != good["lastVersion"]
    assert "lastProcessedErrors" not in better
    assert box.items("/orgs/org_a/openapi") == [better]


@pytest.mark.parametrize(("name", "code"), [("broken", "PARSE_ERROR"), ("slow", "FETCH_TIMEOUT")])
def test_addresses_the_service_knows_end_with_the_other_errors(box: Box, name: str, code: str) -> None:
    assert ended(box, f"https://fixtures.example/{name}.json", 201)["lastProcessErrorCode"] == code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("openapi: 3.1.0", None),
        ('{"swagger": "2.0"}', None),
        ("title: x", "PARSE_ERROR"),
        ("[", "PARSE_ERROR"),
        ("[" * 5000, "PARSE_ERROR"),
        ("", "PARSE_ERROR"),
        ("openapi: []", "PARSE_ERROR"),
        ("x: 2031-99-99", "PARSE_ERROR"),
    ],
)
def test_an_uploaded_file_is_at_its_url_in_that_organization(box: Box, text: str, code: str | None) -> None:
    specs.give(box.store, "org_a", "https://given.example/a.yaml", text)
    found = ended(box, "https://given.example/a.yaml", 201)
    assert (found.get("lastProcessErrorCode"), "lastVersion" in found) == (code, code is None)
    specs.give(box.store, "org_b", "https://given.example/b.yaml", "openapi: 3.1.0")
    assert ended(box, "https://given.example/b.yaml")["lastProcessErrorCode"] == "FETCH_ERROR"


def test_a_file_of_the_seed_stays_behind_its_address_when_the_specification_changes_or_goes(tmp_path: Path) -> None:
    seeded = {"organization": "org_a", "slug": "api", "sourceURL": "https://seeded.example/a.yaml", "file": "openapi: 3.1.0"}
    box = Box(tmp_path, {**SEED, "openapi": [seeded]})
    other = "/orgs/org_a/openapi/other"
    box.clock(advance=2)
    first = box.get(SPEC)
    assert box.put(other, {"source": {"url": seeded["sourceURL"]}}, status=201)["processingState"] == "pending"
    moved = ended(box, "https://elsewhere.example/a.yaml")
    assert (moved["lastProcessErrorCode"], moved["lastVersion"]) == ("FETCH_ERROR", first["lastVersion"])
    assert "lastProcessErrorCode" not in box.get(other)
    box.delete(SPEC)
    assert "lastProcessErrorCode" not in ended(box, seeded["sourceURL"], 201)
    box.close()


# -- anything ----------------------------------------------------------------------------------------------------------------------------

ODD: list[Any] = [
    None,
    7,
    "x",
    [],
    {},
    {"jsonSchema": {"type": {}}},
    {"jsonSchema": {"properties": None}},
    {"instructions": {"nodes": [None]}},
]


@pytest.mark.parametrize("body", ODD, ids=json.dumps)
def test_odd_bodies_never_answer_500(box: Box, body: Any) -> None:
    site = box.site()
    for method, path in (
        ("PUT", INSTRUCTIONS),
        ("PUT", f"{site}/adaptive-schema"),
        ("PUT", SPEC),
        ("POST", "/orgs/org_a/ping"),
        ("POST", "/orgs/org_a/join"),
        ("POST", "/orgs/org_a/members/usr_ada/sso"),
        ("DELETE", "/orgs/org_a/link-invites/%00"),
    ):
        assert box.send(method, path, body).status_code < 500
    for path in ("/email-domains/%00/orgs", "/email-domains/%ff/orgs", "/orgs/org_a/search?query=%00%ff"):
        assert box.send("GET", path).status_code == 200
