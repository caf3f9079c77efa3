"""What the sandbox does where nothing is known, line by line, as far as it is about what is answered and when:

order: position order, new siblings at the end
order: collections and spaces share one order, of which a list shows the spaces, not recursive
order: members, teams, sites, share links newest first
proxy: origin is the whole string, target the published address
site creation with spaces makes one site space each at the root
site creation without a title is Untitled, collections likewise
limits are enforced with 400 that names the field
limits: unknown body fields are ignored, wrong types answer 400
limits: 401 without or with an unknown token, 403 for a write with a read token
limits: 404 for what another organization owns
OpenAPI processing goes pending, progress, complete by the clock
OpenAPI processing ends with FETCH_ERROR unless the URL is a fixture or a file was given
one clock: date, createdAt, updatedAt, deletedAt, purge, processing and rate limits
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.box import ADA_READS, BOB, CONTROL, DAY, SEED, Box

GUIDES = "/collections/col_guides/spaces"
SPEC = "/orgs/org_a/openapi/api"
NOON = "2031-01-01T12:00:00Z"


def source(url: str) -> Any:
    return {"source": {"url": url}}


def test_order_position_order_new_siblings_at_the_end(box: Box) -> None:
    """Lists answer in position order; new siblings land at the end."""
    site = box.site()
    collections = [box.post("/orgs/org_a/collections", {"title": title})["id"] for title in ("Bb", "Aa")]
    assert box.ids("/orgs/org_a/collections", nested="false") == ["col_guides", *collections]
    sections = [box.section(site, title) for title in ("Bb", "Aa", "Cc")]
    groups = [box.post(f"{site}/section-groups", {"title": title})["id"] for title in ("Bb", "Aa")]
    variant = box.ids(f"{site}/site-spaces")[0]
    variants = [variant, *(box.post(f"{site}/site-spaces", {"spaceId": "spc_one"})["id"] for _ in range(2))]
    assert box.ids(f"{site}/sections") == sections
    assert box.ids(f"{site}/section-groups") == groups
    assert box.ids(f"{site}/site-spaces")[:3] == variants
    box.move(f"{site}/sections/{sections[2]}", position={"before": {"type": "site-section", "siteSection": sections[0]}})
    box.move(f"{site}/site-spaces/{variant}")
    box.move("/spaces/spc_one")
    assert box.ids(f"{site}/sections") == [sections[2], *sections[:2]]
    assert [id for id in box.ids(f"{site}/site-spaces") if id in variants] == [*variants[1:], variant]
    assert box.ids(GUIDES) == ["spc_two", "spc_one"]


def test_order_collections_and_spaces_share_one_order_of_which_a_list_shows_the_spaces_not_recursive(box: Box) -> None:
    """Collections and spaces share one order, of which `collections/{id}/spaces` shows the spaces. That list is not recursive."""
    box.move("/collections/col_inner", position={"after": {"type": "space", "space": "spc_one"}})
    assert [kind for kind, _ in box.store.mixed("collection:col_guides")] == ["space", "collection", "space"]
    assert box.ids(GUIDES) == ["spc_one", "spc_two"]
    assert box.ids("/collections/col_inner/spaces") == ["spc_deep"]


def test_order_members_teams_sites_share_links_newest_first(box: Box) -> None:
    """Members, teams, sites, share links: newest first."""
    site = box.site()
    made: dict[str, list[str]] = {"/orgs/org_a/teams": [], "/orgs/org_a/sites": [site.rsplit("/", 1)[1]], f"{site}/share-links": []}
    for title in ("Bb", "Aa"):
        made["/orgs/org_a/teams"].append(box.put("/orgs/org_a/teams", {"title": title}, status=201)["id"])
        made["/orgs/org_a/sites"].append(box.post("/orgs/org_a/sites", {"title": title})["id"])
        made[f"{site}/share-links"].append(box.post(f"{site}/share-links", {"name": title})["id"])
    for path, ids in made.items():
        assert box.ids(path) == ids[::-1], path
    assert box.ids("/orgs/org_a/members") == ["usr_zoe", "usr_rita", "usr_cara", "usr_ada"]
    assert box.ids("/orgs/org_a/members", order="asc") == ["usr_ada", "usr_cara", "usr_rita", "usr_zoe"]


def test_proxy_origin_is_the_whole_string_target_the_published_address(box: Box) -> None:
    """`proxy` `host/path`: `origin` is the whole string written, `target` the site's own published address."""
    site = box.site()
    found = box.patch(site, {"proxy": "acme.example/docs/v2"})
    assert found["proxy"] == {"origin": "acme.example/docs/v2", "target": found["urls"]["published"].removeprefix("http://")}
    assert box.get(site) == found
    assert "proxy" not in box.patch(site, {"proxy": None})


def test_site_creation_with_spaces_makes_one_site_space_each_at_the_root(box: Box) -> None:
    """With `spaces` makes one site space each at the root."""
    site = box.site("spc_two", "spc_one")
    found = box.items(f"{site}/site-spaces")
    assert [(one["space"]["id"], one["default"]) for one in found] == [("spc_two", True), ("spc_one", False)]
    assert not any("section" in one for one in found)
    assert box.get(site)["siteSpaces"] == 2
    assert box.items(f"{box.site()}/site-spaces") == []


def test_site_creation_without_a_title_is_untitled_collections_likewise(box: Box) -> None:
    """Without a title the title is `Untitled`. Collections likewise."""
    made = box.post("/orgs/org_a/sites", {})
    assert (made["title"], made["type"], made["published"]) == ("Untitled", "basic", False)
    assert box.post("/orgs/org_a/collections", {})["title"] == "Untitled"


def test_limits_are_enforced_with_400_that_names_the_field(box: Box) -> None:
    """Limits are enforced with 400 and a message that names the field, and the object stays as it is."""
    before = box.get("/spaces/spc_one")
    for body, field in (({"title": "x" * 51}, "title"), ({"emoji": "x" * 51, "title": "New"}, "emoji"), ({"editMode": "x"}, "editMode")):
        assert box.refused("PATCH", "/spaces/spc_one", body).startswith(f"{field}: ")
    assert box.get("/spaces/spc_one") == before


def test_limits_unknown_body_fields_are_ignored_wrong_types_answer_400(box: Box) -> None:
    """Unknown body fields are ignored as the reference's objects are open; wrong types answer 400."""
    found = box.patch("/spaces/spc_one", {"title": "New", "colour": "red", "id": "spc_other", "organization": "org_b"})
    assert (found["title"], found["id"], found["organization"]) == ("New", "spc_one", "org_a")
    assert "colour" not in found
    strange: list[Any] = [7, None, True, [], {}, 1.5]
    for wrong in strange:
        assert box.refused("PATCH", "/spaces/spc_one", {"title": wrong}).startswith("title: ")


def test_limits_401_without_or_with_an_unknown_token_403_for_a_write_with_a_read_token(box: Box) -> None:
    """401 without or with an unknown token, 403 for a write with a read token."""
    for method in ("GET", "PATCH", "DELETE"):
        for token in (None, "token-of-nobody"):
            box.refused(method, "/spaces/spc_one", {} if method == "PATCH" else None, status=401, token=token)
    assert box.send("GET", "/spaces/spc_one", token=ADA_READS).status_code == 200
    for method in ("PATCH", "DELETE"):
        box.refused(method, "/spaces/spc_one", {} if method == "PATCH" else None, status=403, token=ADA_READS)
    assert "deletedAt" not in box.get("/spaces/spc_one")


def test_limits_404_for_what_another_organization_owns(box: Box) -> None:
    """404 for what another organization owns."""
    site = box.site("spc_one")
    box.post("/spaces/spc_one/change-requests")
    foreign = ("/spaces/spc_one", "/spaces/spc_one/content", "/spaces/spc_one/change-requests/1", "/collections/col_guides", "/orgs/org_a")
    for path in (*foreign, site, f"{site}/sections", "/orgs/org_a/members/usr_ada", "/orgs/org_a/search?query=x"):
        box.refused("GET", path, status=404, token=BOB)
    for method, path, body in (("PATCH", "/spaces/spc_one", {}), ("DELETE", "/spaces/spc_one", None), ("POST", f"{site}/publish", None)):
        box.refused(method, path, body, status=404, token=BOB)
    assert "deletedAt" not in box.get("/spaces/spc_one")


def test_openapi_processing_goes_pending_progress_complete_by_the_clock(box: Box) -> None:
    """Goes pending, progress, complete after a delay of the settable clock; again with every PUT."""
    box.clock(NOON)
    for status in (201, 200):
        seen = [box.put(SPEC, source("https://example.com/api.json"), status=status)["processingState"]]
        for _ in range(3):
            seen.append(box.get(SPEC)["processingState"])
            box.clock(advance=1)
        assert seen == ["pending", "pending", "progress", "complete"]


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://example.com/api.json", "FETCH_ERROR"),
        ("https://fixtures.example/openapi.json", None),
        ("https://given.example/a.yaml", None),
    ],
)
def test_openapi_processing_ends_with_fetch_error_unless_the_url_is_a_fixture_or_a_file_was_given(
    tmp_path: Path, url: str, code: str | None
) -> None:
    """A URL that is not one of the sandbox's own fixtures ends with FETCH_ERROR unless a file was given for it."""
    given = {"organization": "org_a", "slug": "given", "sourceURL": "https://given.example/a.yaml", "file": "openapi: 3.1.0"}
    box = Box(tmp_path, SEED | {"openapi": [given]})
    box.clock(NOON)
    box.put(SPEC, source(url), status=201)
    box.clock(advance=2)
    shown = box.get(SPEC)
    assert (shown["processingState"], shown["lastProcessedAt"]) == ("complete", "2031-01-01T12:00:02.000Z")
    assert (shown.get("lastProcessErrorCode"), "lastVersion" in shown) == (code, code is None)
    assert [one["code"] for one in shown.get("lastProcessedErrors", [])] == ([code] if code else [])
    box.close()


def test_one_clock_date_createdat_updatedat_deletedat_purge_processing_and_rate_limits(box: Box) -> None:
    """`Date`, `createdAt`, `updatedAt`, `deletedAt`, purge, processing delays and `X-RateLimit-Reset` all come from the settable clock."""
    now = box.clock(NOON)
    assert box.post("/orgs/org_a/sites", {})["createdAt"] == box.post("/spaces/spc_two/duplicate")["createdAt"] == now
    later = box.clock(advance=90)
    assert box.patch("/spaces/spc_one", {"title": "New"})["updatedAt"] == later == "2031-01-01T12:01:30.000Z"
    box.put(SPEC, source("https://example.com/api.json"), status=201)
    box.delete("/spaces/spc_one")
    assert box.get("/spaces/spc_one")["deletedAt"] == later
    rules = [{"fault": "rate-limit", "limit": 9, "window": 60, "operation": "GET *"}]
    assert box.send("PUT", "/_sandbox/faults", {"rules": rules}, token=CONTROL).status_code == 200
    answer = box.send("GET", "/orgs")
    assert answer.headers.get_list("Date") == ["Wed, 01 Jan 2031 12:01:30 GMT"]
    assert answer.headers["X-RateLimit-Reset"] == "1925035320"  # 12:02:00
    assert box.get(SPEC)["processingState"] == "pending"
    box.clock(advance=7 * DAY)
    assert box.get(SPEC)["processingState"] == "complete"
    box.refused("GET", "/spaces/spc_one", status=404)
