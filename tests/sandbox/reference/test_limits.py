"""Limits, row by row:

limit page size, all paginated lists: max 1000
title, collection and space: max 50 chars
description, collection: max 100 chars
emoji, space: max 50 chars
subject, change request: max 100 chars
organization title: 2 to 255 chars
organization hostname: 3 to 32 chars
logo URI, organization update: max 2048 chars
team title, team create and update: 1 to 64 chars
share link name: max 50 chars
search query, organization search: required, max 512 chars
icon name, issues cluster: max 50 chars
weekly pulse, issues cluster: exactly 13 numbers
deleted space retention, space restore: 7 days
default list status, change request lists: open
nested default, collections list: true
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.box import DAY, Box
from tests.sandbox.world import World

SITE = "/orgs/{organizationId}/sites/{siteId}"
REQUEST = "/spaces/{spaceId}/change-requests/{changeRequestId}"
BOTH = ("/spaces/{spaceId}", REQUEST)
PAGINATED = [
    "/collections/{collectionId}/spaces",
    "/orgs/{organizationId}/collections",
    "/spaces/{spaceId}/links",
    "/spaces/{spaceId}/change-requests",
    "/orgs/{organizationId}/change-requests",
    "/spaces/{spaceId}/search?query=page",
    *(f"{base}/content/files" for base in BOTH),
    *(f"{base}/content/files/{{fileId}}/backlinks" for base in BOTH),
    *(f"{base}/content/page/{{pageId}}/links" for base in BOTH),
    *(f"{base}/content/page/{{pageId}}/backlinks" for base in BOTH),
    *(f"{base}/comments" for base in BOTH),
    *(f"{base}/commenters" for base in BOTH),
    f"{REQUEST}/comments/{{commentId}}/replies",
    "/spaces/{spaceId}/comments/{spaceCommentId}/replies",
    "/orgs",
    "/orgs/{organizationId}/search?query=page",
    "/orgs/{organizationId}/members",
    "/orgs/{organizationId}/members/{userId}/spaces",
    "/orgs/{organizationId}/members/{userId}/teams",
    "/orgs/{organizationId}/teams",
    "/orgs/{organizationId}/sites",
    *(f"{SITE}/{name}" for name in ("sections", "section-groups", "site-spaces", "share-links")),
    "/integrations",
    *(f"/integrations/{{integrationName}}/{name}" for name in ("installations", "events", "spaces", "sites")),
    *(f"/orgs/{{organizationId}}/{name}" for name in ("openapi", "translations", "saml")),
    *(f"/orgs/{{organizationId}}/{name}" for name in ("conversations-clusters", "conversations", "conversations-issues")),
]


@pytest.fixture
def world(template: World, tmp_path: Path) -> Iterator[World]:
    made = template.copied(tmp_path)
    yield made
    made.box.close()


def at_most(box: Box, method: str, path: str, field: str, most: int, **rest: Any) -> None:
    """So many characters are taken and one more is refused by name."""
    assert box.send(method, path, {**rest, field: "x" * most}).is_success
    assert box.refused(method, path, {**rest, field: "x" * (most + 1)}).startswith(f"{field}: ")


def at_least(box: Box, method: str, path: str, field: str, least: int, **rest: Any) -> None:
    """So many characters are taken and one less is refused by name."""
    assert box.send(method, path, {**rest, field: "x" * least}).is_success
    assert box.refused(method, path, {**rest, field: "x" * (least - 1)}).startswith(f"{field}: ")


def test_limit_page_size_all_paginated_lists_max_1000(world: World) -> None:
    """`limit` page size | all paginated lists | max 1000"""
    box = world.box
    comment = box.post("/spaces/spc_one/comments", {"body": {"markdown": "Hm"}}, status=200)["id"]
    for pattern in PAGINATED:
        path = pattern.format(**world.known, spaceCommentId=comment)
        query = {"query": "page"} if "?" in path else {}
        path = path.partition("?")[0]
        assert "items" in box.get(path, limit=1000, **query), path
        assert box.refused("GET", path, params={"limit": 1001, **query}).startswith("limit: "), path
    declared = [operation for methods in box.app.openapi()["paths"].values() for operation in methods.values()]
    limited = [one for one in declared if any(part["name"] == "limit" for part in one.get("parameters", []))]
    assert len(PAGINATED) == len(limited)


def test_a_page_of_1000_is_a_thousand_items(box: Box) -> None:
    with box.store.write():
        for number in range(999):
            box.store.add(
                "collection", "org_a", "root:org_a", {"id": f"col_{number}", "title": "", "organization": "org_a", "defaultLevel": None}
            )
    page = box.get("/orgs/org_a/collections", limit=1000)
    assert (len(page["items"]), page["count"]) == (1000, 1001)
    assert len(box.items("/orgs/org_a/collections", limit=1000, page=page["next"]["page"])) == 1


def test_title_collection_and_space_max_50_chars(box: Box) -> None:
    """title | collection, space | max 50 chars"""
    for method, path in (("PATCH", "/collections/col_guides"), ("POST", "/orgs/org_a/collections"), ("PATCH", "/spaces/spc_one")):
        at_most(box, method, path, "title", 50)


def test_description_collection_max_100_chars(box: Box) -> None:
    """description | collection | max 100 chars"""
    at_most(box, "PATCH", "/collections/col_guides", "description", 100)


def test_emoji_space_max_50_chars(box: Box) -> None:
    """emoji | space | max 50 chars"""
    at_most(box, "PATCH", "/spaces/spc_one", "emoji", 50)


def test_subject_change_request_max_100_chars(box: Box) -> None:
    """subject | change request | max 100 chars"""
    at_most(box, "POST", "/spaces/spc_one/change-requests", "subject", 100)
    at_most(box, "PATCH", "/spaces/spc_one/change-requests/1", "subject", 100)


def test_organization_title_2_to_255_chars(box: Box) -> None:
    """organization title | organization | 2 to 255 chars"""
    at_least(box, "PATCH", "/orgs/org_a", "title", 2)
    at_most(box, "PATCH", "/orgs/org_a", "title", 255)


def test_organization_hostname_3_to_32_chars(box: Box) -> None:
    """organization hostname | organization | 3 to 32 chars"""
    at_least(box, "PATCH", "/orgs/org_a", "hostname", 3)
    at_most(box, "PATCH", "/orgs/org_a", "hostname", 32)


def test_logo_uri_organization_update_max_2048_chars(box: Box) -> None:
    """logo URI | organization update | max 2048 chars"""
    fits = f"https://acme.example/{'x' * 2027}"
    assert "logo" in box.patch("/orgs/org_a", {"logo": fits})["urls"]
    assert box.refused("PATCH", "/orgs/org_a", {"logo": f"{fits}x"}).startswith("logo: ")


def test_team_title_team_create_and_update_1_to_64_chars(box: Box) -> None:
    """team title | team create/update | 1 to 64 chars"""
    team = box.put("/orgs/org_a/teams", {"title": "Team"}, status=201)["id"]
    for method, path in (("PUT", "/orgs/org_a/teams"), ("PATCH", f"/orgs/org_a/teams/{team}")):
        at_least(box, method, path, "title", 1)
        at_most(box, method, path, "title", 64)


def test_share_link_name_max_50_chars(box: Box) -> None:
    """share link name | share link | max 50 chars"""
    site = box.site()
    link = box.post(f"{site}/share-links", {"name": "Link"})["id"]
    for method, path in (("POST", f"{site}/share-links"), ("PATCH", f"{site}/share-links/{link}")):
        at_most(box, method, path, "name", 50)


def test_search_query_organization_search_required_max_512_chars(box: Box) -> None:
    """search query | organization search | required, max 512 chars"""
    assert box.items("/orgs/org_a/search", query="x" * 512) == []
    for query in ({}, {"query": ""}, {"query": "x" * 513}):
        assert box.refused("GET", "/orgs/org_a/search", params=query).startswith("query: ")


def clusters(box: Box, *subjects: str) -> list[Any]:
    """The clusters of conversations about these."""
    for number, subject in enumerate(subjects):
        told = {"id": f"con_{number}", "subject": subject, "parts": [{"type": "message", "role": "user", "body": "Why?"}]}
        assert box.send("POST", "/orgs/org_a/conversations", told).status_code == 204
    return box.items("/orgs/org_a/conversations-clusters")


def test_icon_name_issues_cluster_max_50_chars(box: Box) -> None:
    """icon name | issues cluster | max 50 chars; the service chooses it, whatever the conversations are about."""
    found = clusters(box, "It is slow", "x" * 600, "🙂" * 60)
    assert len(found) == 3
    assert all(1 <= len(one["icon"]) <= 50 for one in found)


def test_weekly_pulse_issues_cluster_exactly_13_numbers(box: Box) -> None:
    """weekly pulse | issues cluster | exactly 13 numbers"""
    box.clock("2031-01-01T00:00:00Z")
    assert clusters(box, "It is slow", "It is slow")[0]["weeklyPulse"] == [0] * 12 + [2]
    box.clock(advance=12 * 7 * DAY)
    assert box.items("/orgs/org_a/conversations-clusters")[0]["weeklyPulse"] == [2] + [0] * 12
    box.clock(advance=7 * DAY)
    assert box.items("/orgs/org_a/conversations-clusters")[0]["weeklyPulse"] == [0] * 13


def test_deleted_space_retention_space_restore_7_days(box: Box) -> None:
    """deleted space retention | space restore | 7 days"""
    box.clock("2031-01-01T00:00:00Z")
    box.delete("/spaces/spc_one")
    box.delete("/spaces/spc_two")
    box.clock(advance=7 * DAY - 1)
    assert "deletedAt" not in box.post("/spaces/spc_one/restore", status=200)
    box.clock(advance=1)
    assert box.refused("POST", "/spaces/spc_two/restore", status=404) == "space spc_two not found"


def test_default_list_status_change_request_lists_open(box: Box) -> None:
    """default list status | change request lists | `open`"""
    ids = [box.post("/spaces/spc_one/change-requests")["id"] for _ in range(4)]
    for id, status in zip(ids, ("open", "archived", "draft", "open"), strict=True):
        box.patch(f"/spaces/spc_one/change-requests/{id}", {"status": status})
    box.post("/spaces/spc_one/change-requests/4/merge", status=200)
    for path in ("/spaces/spc_one/change-requests", "/orgs/org_a/change-requests"):
        assert box.ids(path) == [ids[0]]
        for status, wanted in zip(("open", "archived", "draft", "merged"), ids, strict=True):
            assert box.ids(path, status=status) == [wanted]
        box.refused("GET", path, params={"status": "all"})


def test_nested_default_collections_list_true(box: Box) -> None:
    """`nested` default | collections list | true"""
    assert box.ids("/orgs/org_a/collections") == box.ids("/orgs/org_a/collections", nested="true") == ["col_guides", "col_inner"]
    assert box.ids("/orgs/org_a/collections", nested="false") == ["col_guides"]
