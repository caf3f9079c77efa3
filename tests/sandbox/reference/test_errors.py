"""Errors, item by item:

1 deleting a resource that does not exist answers 204 with no content
2 400 for invalid input, invalid move positions and visibility updates
3 404 when nothing matches
4 adaptive schema endpoints document an unexpected error
5 error body shape: not shown
6 statuses of authentication, permission, validation and conflicts: not shown
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.proofs import costly
from tests.sandbox.box import ADA, ADA_READS, BASE, RITA, Box
from tests.sandbox.world import World

SITE = "/orgs/org_a/sites/{siteId}"
REQUEST = "/spaces/spc_one/change-requests/{changeRequestId}"
SPEC = {"source": {"url": "https://example.com/api.json"}}
DELETED = {
    "collection": "/collections/{collectionId}",
    "space": "/spaces/{spaceId}",
    "site": SITE,
    "site section": f"{SITE}/sections/{{siteSectionId}}",
    "site section group": f"{SITE}/section-groups/{{siteSectionGroupId}}",
    "section in a group": f"{SITE}/section-groups/{{siteSectionGroupId}}/sections/{{siteSectionId}}",
    "site space": f"{SITE}/site-spaces/{{siteSpaceId}}",
    "share link": f"{SITE}/share-links/{{shareLinkId}}",
    "team": "/orgs/org_a/teams/{teamId}",
    "comment": f"{REQUEST}/comments/{{commentId}}",
    "comment on a space": "/spaces/spc_one/comments/{commentId}",
    "reply": f"{REQUEST}/comments/{{commentId}}/replies/{{commentReplyId}}",
    "reply on a space": "/spaces/spc_one/comments/{commentId}/replies/{commentReplyId}",
    "OpenAPI spec": "/orgs/org_a/openapi/{specSlug}",
    "SAML provider": "/orgs/org_a/saml/{samlProviderId}",
    "integration": "/integrations/{integrationName}",
    "translation": "/orgs/org_a/translations/{translationId}",
    "organization member": "/orgs/org_a/members/{userId}",
    "organization invite": "/orgs/org_a/link-invites/{inviteId}",
}


@pytest.fixture
def world(template: World, tmp_path: Path) -> Iterator[World]:
    made = template.copied(tmp_path)
    yield made
    made.box.close()


@costly
@pytest.mark.parametrize("resource", list(DELETED))
def test_1_deleting_a_resource_that_does_not_exist_answers_204_with_no_content(world: World, resource: str) -> None:
    """Deleting a resource that does not exist answers 204 with no content (the 17 resources, two of them in two families)."""
    there, never = DELETED[resource].format(**world.known), DELETED[resource].format(**world.known | {last(resource): "never-there"})
    assert never != there
    world.box.delete(never)
    for _ in range(2):
        world.box.delete(there)


def last(resource: str) -> str:
    """The name of what is deleted, in its path."""
    return DELETED[resource].rsplit("{", 1)[1].rstrip("}")


def test_a_reply_to_a_comment_that_does_not_exist_is_deleted_like_any_other(world: World) -> None:
    for base in ("/spaces/spc_one", REQUEST.format(**world.known)):
        world.box.delete(f"{base}/comments/never-there/replies/never-there")


DOCUMENT = {"object": "document", "data": {"schemaVersion": 1}, "nodes": []}
INVALID: list[tuple[str, str, Any, str]] = [
    ("POST", "/orgs/org_a/openapi", {"slug": "a b", **SPEC}, "slug"),
    ("POST", "/orgs/org_a/openapi", {"slug": "api", **SPEC}, "slug"),
    ("POST", "/orgs/org_a/openapi", {"slug": "new"}, "source"),
    ("PUT", "/orgs/org_a/openapi/api", {"source": {"url": 7}}, "source.url"),
    ("PUT", "/orgs/org_a/openapi/a b", SPEC, "slug"),
    ("POST", "/orgs/org_a/translations", {"language": "fr"}, "source"),
    ("POST", "/orgs/org_a/translations", {"source": {"space": "spc_no"}, "language": "fr"}, "source.space"),
    ("POST", "/orgs/org_a/translations", {"source": {"space": "spc_bolt"}, "language": "fr"}, "source.space"),
    ("POST", "/orgs/org_a/translations", {"source": {"space": "spc_one"}}, "language"),
    ("PUT", "/orgs/org_a/translations/{translationId}", {}, "instructions"),
    ("PUT", "/orgs/org_a/translations/{translationId}", {"instructions": {"object": "text"}}, "instructions"),
    ("PUT", f"{SITE}/adaptive-schema", {}, "jsonSchema"),
    ("PUT", f"{SITE}/adaptive-schema", {"jsonSchema": {"type": "array"}}, "jsonSchema.type"),
    ("PATCH", SITE, {"visibility": "in-collection"}, "visibility"),
    ("PATCH", "/orgs/org_a/openapi/api", {"visibility": "unlisted"}, "visibility"),
]
MOVED = {
    f"{SITE}/sections/{{siteSectionId}}": ("site-section", "siteSection"),
    f"{SITE}/section-groups/{{siteSectionGroupId}}": ("site-section", "id"),
    f"{SITE}/site-spaces/{{siteSpaceId}}": ("site-space", "siteSpace"),
}


@pytest.mark.parametrize(("method", "path", "body", "field"), INVALID)
def test_2_400_for_invalid_input_invalid_move_positions_and_visibility_updates(
    world: World, method: str, path: str, body: Any, field: str
) -> None:
    """Invalid creation or update input on OpenAPI specs, translations, site adaptive schema; visibility updates."""
    assert world.box.refused(method, path.format(**world.known), body).startswith(field)


@pytest.mark.parametrize("path", list(MOVED))
@pytest.mark.parametrize("side", ["before", "after"])
def test_2_400_for_an_invalid_move_position(world: World, path: str, side: str) -> None:
    """Invalid move position for site section groups, sections and site spaces."""
    type, name = MOVED[path]
    address = path.format(**world.known)
    for anchor in ({"type": type, name: "never-there"}, {"type": "space", name: "x"}, {"type": type}, {"type": type, name: 7}, 7):
        assert world.box.refused("POST", f"{address}/move", {"position": {side: anchor}}).startswith("position")
    itself = {"type": type, name: address.rsplit("/", 1)[1]}
    assert world.box.refused("POST", f"{address}/move", {"position": {side: itself}}).startswith("position")
    assert world.box.refused("POST", f"{address}/move", {"position": {"before": itself, "after": itself}}).startswith("position")


POSITION: Any = {"position": {}}
MISSING: dict[str, list[tuple[str, str, Any]]] = {
    "integration": [
        ("GET", "/integrations/nope", None),
        *(("GET", f"/integrations/nope/{name}", None) for name in ("installations", "events", "spaces", "sites")),
    ],
    "site": [
        ("GET", "/orgs/org_a/sites/nope", None),
        ("PATCH", "/orgs/org_a/sites/nope", {"title": "New"}),
        ("POST", "/orgs/org_a/sites/nope/publish", None),
        *(("GET", f"/orgs/org_a/sites/nope/{name}", None) for name in ("published", "adaptive-schema", "sections", "site-spaces")),
    ],
    "OpenAPI spec": [("GET", "/orgs/org_a/openapi/nope", None), ("PATCH", "/orgs/org_a/openapi/nope", {"visibility": "public"})],
    "translation": [
        ("GET", "/orgs/org_a/translations/nope", None),
        ("PUT", "/orgs/org_a/translations/nope", {"instructions": DOCUMENT}),
        ("POST", "/orgs/org_a/translations/nope/run", None),
    ],
    "SAML provider": [("GET", "/orgs/org_a/saml/nope", None), ("PATCH", "/orgs/org_a/saml/nope", {"label": "New"})],
    "site section group": [
        ("PATCH", f"{SITE}/section-groups/nope", {"title": "New"}),
        ("POST", f"{SITE}/section-groups/nope/move", POSITION),
        ("POST", f"{SITE}/section-groups/nope/sections", {"sectionId": "{siteSectionId}"}),
        ("POST", f"{SITE}/section-groups", {"title": "New", "parent": "nope"}),
    ],
    "site section": [
        ("PATCH", f"{SITE}/sections/nope", {"title": "New"}),
        ("POST", f"{SITE}/sections/nope/move", POSITION),
        ("POST", f"{SITE}/site-spaces", {"spaceId": "spc_one", "sectionId": "nope"}),
    ],
    "site space": [("PATCH", f"{SITE}/site-spaces/nope", {"path": "new"}), ("POST", f"{SITE}/site-spaces/nope/move", POSITION)],
    "integration event": [("GET", "/integrations/words/events/nope", None)],
    "organization for hostname": [("POST", "/integrations/other", {"organization": "nope", "title": "Other"})],
    "unknown target of an installation": [
        ("POST", "/integrations/words/installations", {"organization": "nope"}),
        ("POST", "/integrations/nope/installations", {"organization": "org_a"}),
    ],
    "dev mode of an unknown integration": [("PUT", "/integrations/nope/dev", {"tunnelUrl": "https://tunnel.example"})],
}


@pytest.mark.parametrize("resource", list(MISSING))
def test_3_404_when_nothing_matches(world: World, resource: str) -> None:
    """404 when no matching resource exists; also on installing into an unknown target and on dev-mode update for an unknown integration."""
    for method, path, body in MISSING[resource]:
        given = {name: one.format(**world.known) if isinstance(one, str) else one for name, one in body.items()} if body else None
        assert "not found" in world.box.refused(method, path.format(**world.known), given, status=404), path


@pytest.mark.parametrize("suffix", ["", "/template-conditions"])
def test_4_adaptive_schema_endpoints_document_an_unexpected_error(box: Box, suffix: str) -> None:
    """Some site adaptive-schema endpoints also document a generic unexpected-error response."""
    path = f"/v1{box.site()}/adaptive-schema{suffix}"
    box.store.connection.execute("update objects set data = json_set(data, '$._adaptiveSchema', 7) where kind = 'site'")

    async def ask() -> httpx2.Response:
        transport = httpx2.ASGITransport(box.app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url=BASE) as client:
            return await client.get(path, headers={"Authorization": f"Bearer {ADA}"})

    answer = asyncio.run(ask())
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, 500)
    described = box.app.openapi()["paths"][f"/v1/orgs/{{organizationId}}/sites/{{siteId}}/adaptive-schema{suffix}"]["get"]
    assert described["responses"]["500"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/error"}


def test_5_error_body_shape_not_shown(box: Box) -> None:
    """Not shown: here `{"error": {"code": <status>, "message": <text>}}`, of every refusal."""
    for status, method, path, body, token in (
        (400, "PATCH", "/spaces/spc_one", {"title": 7}, ADA),
        (401, "GET", "/spaces/spc_one", None, None),
        (403, "PATCH", "/spaces/spc_one", {"title": "x"}, RITA),
        (404, "GET", "/spaces/spc_no", None, ADA),
        (405, "PUT", "/orgs", {}, ADA),
        (409, "POST", "/spaces/spc_one/transfer", {"organization": "org_a"}, ADA),
    ):
        answer = box.send(method, path, body, token=token)
        said = answer.json()["error"]["message"]
        assert answer.json() == {"error": {"code": status, "message": said}}
        assert isinstance(said, str)
        assert answer.headers["Content-Type"] == "application/json"
        assert (answer.status_code, bool(said)) == (status, True)


def test_6_statuses_of_authentication_permission_validation_and_conflicts_not_shown(box: Box) -> None:
    """Not shown: here 401, 403, 400 and 409."""
    for token in (None, "unknown"):
        box.refused("GET", "/orgs", status=401, token=token)
    for token in (RITA, ADA_READS):
        box.refused("PATCH", "/orgs/org_a", {"title": "New"}, status=403, token=token)
    box.refused("PATCH", "/orgs/org_a", {"title": ""}, status=400)
    for path in ("/spaces/spc_one", "/collections/col_guides"):
        box.refused("POST", f"{path}/transfer", {"organization": "org_a"}, status=409)
    box.post("/spaces/spc_one/change-requests")
    box.post("/spaces/spc_one/change-requests/1/merge", status=200)
    box.refused("POST", "/spaces/spc_one/change-requests/1/merge", status=409)
