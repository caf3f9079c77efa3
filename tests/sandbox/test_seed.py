"""Seeds: what they put in, and what a wrong one is told. Nothing of a wrong one is put in."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.sandbox.seed import SeedError, plant, seed
from reconciler.sandbox.store import Store
from tests.sandbox.box import DAY, SEED, Box

LISTS = "organizations, members, tokens, collections, spaces, teams, sites, openapi, saml, integrations"
ORGANIZATION = {"id": "org_a"}
MEMBER = {"organization": "org_a", "id": "usr_a", "email": "a@acme.example"}
SPACE = {"organization": "org_a", "id": "spc_a"}

BAD: list[tuple[dict[Any, Any], str]] = [
    (
        {"organisations": []},
        f"organisations: unknown list; a seed has {LISTS}",
    ),
    ({7: []}, f"7: unknown list; a seed has {LISTS}"),
    ({"organizations": {"id": "org_a"}}, "organizations: expected a list"),
    ({"organizations": ["org_a"]}, "organizations[0]: expected an object in the form of the service"),
    ({"organizations": [{}]}, "organizations[0].id is missing"),
    ({"organizations": [{"id": 7}]}, "organizations[0].id: expected a text"),
    ({"organizations": [{"id": ""}]}, "organizations[0].id: expected a text"),
    ({"organizations": [ORGANIZATION, ORGANIZATION]}, "organizations[1].id: org_a already exists"),
    ({"organizations": [{"id": "org_a", "title": ["x"]}]}, "organizations[0].title: expected a text"),
    ({"organizations": [{"id": "org_a", "_logo": "x"}]}, "organizations[0]._logo: names that begin with _ are reserved"),
    ({"organizations": [{"id": "org_a", "mergeRules": {"type": {1, 2}}}]}, "organizations[0].mergeRules: expected a JSON value"),
    ({"organizations": [{"id": "org_a", "sso": float("nan")}]}, "organizations[0].sso: expected a JSON value"),
    ({"members": [MEMBER]}, "members[0].organization: unknown organization org_a"),
    ({"organizations": [ORGANIZATION], "members": [{**MEMBER, "email": None}]}, "members[0].email is missing"),
    (
        {"organizations": [ORGANIZATION], "members": [{**MEMBER, "role": "owner"}]},
        "members[0].role: expected one of admin, create, review, edit, comment, read or null",
    ),
    ({"organizations": [ORGANIZATION], "members": [MEMBER, MEMBER]}, "members[1].id: usr_a is a member already"),
    ({"organizations": [ORGANIZATION], "tokens": [{"token": "t", "member": "usr_no"}]}, "tokens[0].member: there is no member usr_no"),
    (
        {"organizations": [ORGANIZATION], "members": [MEMBER], "tokens": [{"token": "t", "member": "usr_a", "access": "all"}]},
        "tokens[0].access: expected read or write",
    ),
    (
        {"organizations": [ORGANIZATION], "members": [MEMBER], "tokens": [{"token": "t", "member": "usr_a"}] * 2},
        "tokens[1].token: it already exists",
    ),
    (
        {"organizations": [ORGANIZATION], "collections": [{"organization": "org_a", "id": "c", "parent": "d"}]},
        "collections[0].parent: there is no collection d before it",
    ),
    ({"organizations": [ORGANIZATION], "spaces": [{**SPACE, "pages": "x"}]}, "spaces[0].pages: expected a list of objects"),
    (
        {"organizations": [ORGANIZATION], "spaces": [{**SPACE, "pages": [{"pages": ["x"]}]}]},
        "spaces[0].pages[0].pages: expected a list of objects",
    ),
    ({"organizations": [ORGANIZATION], "spaces": [{**SPACE, "deletedAt": "once"}]}, "spaces[0].deletedAt: expected an ISO 8601 time"),
    ({"organizations": [ORGANIZATION], "spaces": [{**SPACE, "variables": {"a": 1}}]}, "spaces[0].variables: expected a map of texts"),
    (
        {"organizations": [ORGANIZATION], "teams": [{"organization": "org_a", "id": "t", "members": "usr_a"}]},
        "teams[0].members: expected a list of texts",
    ),
    (
        {"organizations": [ORGANIZATION], "teams": [{"organization": "org_a", "id": "t", "members": ["usr_a"]}]},
        "teams[0].members: there is no member usr_a",
    ),
    (
        {"organizations": [ORGANIZATION], "openapi": [{"organization": "org_a", "slug": "api"}, {"organization": "org_a", "slug": "api"}]},
        "openapi[1].slug: api is taken",
    ),
    (
        {"organizations": [ORGANIZATION], "openapi": [{"organization": "org_a", "id": "s"}, {"organization": "org_a", "id": "s"}]},
        "openapi[1].id: s already exists",
    ),
    (
        {"organizations": [ORGANIZATION], "saml": [{"organization": "org_a", "id": "s", "defaultTeam": "t"}]},
        "saml[0].defaultTeam: there is no team t",
    ),
]


@pytest.mark.parametrize(("document", "message"), BAD, ids=[message[:60] for _, message in BAD])
def test_an_invalid_seed_is_reported_with_its_position_and_loads_nothing(tmp_path: Path, document: dict[str, Any], message: str) -> None:
    with pytest.raises(SeedError) as caught:
        seed(tmp_path / "x.db", document)
    assert str(caught.value) == message
    store = Store(tmp_path / "x.db")
    assert store.count_all() == 0
    store.close()


@pytest.mark.parametrize("document", [None, [], "organizations", 7])
def test_a_seed_that_is_not_a_map_is_reported(tmp_path: Path, document: Any) -> None:
    with pytest.raises(SeedError, match=r"^a seed must be a map of lists: organizations, members, spaces, …$"):
        seed(tmp_path / "x.db", document)


@pytest.mark.parametrize("document", [{}, {"organizations": None}, {"organizations": []}])
def test_an_empty_seed_is_a_seed(tmp_path: Path, document: dict[str, Any]) -> None:
    seed(tmp_path / "x.db", document)


def test_objects_have_the_ids_and_the_order_of_the_seed(box: Box) -> None:
    assert box.ids("/orgs/org_a/collections") == ["col_guides", "col_inner"]
    assert box.ids("/collections/col_guides/spaces") == ["spc_one", "spc_two"]
    assert box.get("/spaces/spc_one")["visibility"] == "in-collection"
    assert box.get("/orgs/org_a/members/usr_ada")["user"]["displayName"] == "Ada"


def test_fields_of_the_seed_are_kept(tmp_path: Path) -> None:
    document = {
        **SEED,
        "spaces": [*SEED["spaces"], {"organization": "org_a", "id": "spc_x", "title": "X", "emoji": "🙂", "pages": [{"title": "Start"}]}],
        "teams": [{"organization": "org_a", "id": "team_x", "title": "X", "members": ["usr_ada"]}],
        "sites": [{"organization": "org_a", "id": "site_x", "title": "Docs", "visibility": "unlisted"}],
        "openapi": [{"organization": "org_a", "slug": "api", "file": "openapi: 3.1.0"}],
        "saml": [{"organization": "org_a", "id": "saml_x", "label": "Okta", "defaultTeam": "team_x"}],
    }
    box = Box(tmp_path, document)
    assert box.get("/spaces/spc_x")["emoji"] == "🙂"
    assert [page["title"] for page in box.get("/spaces/spc_x/content/pages")["pages"]] == ["Start"]
    box.post("/spaces/spc_x/duplicate")
    assert box.get("/orgs/org_a/teams/team_x")["members"] == 1
    found = box.get("/orgs/org_a/sites/site_x")
    assert (found["title"], found["basename"], found["visibility"]) == ("Docs", "docs", "unlisted")
    assert box.get("/orgs/org_a/saml/saml_x")["defaultTeam"]["id"] == "team_x"
    box.clock(advance=60)
    spec = box.get("/orgs/org_a/openapi/api")
    assert (spec["processingState"], "lastVersion" in spec, "lastProcessErrorCode" in spec) == ("complete", True, False)
    assert "file" not in spec
    box.close()


def test_a_space_may_be_seeded_deleted_and_its_time_may_be_one_of_yaml(tmp_path: Path) -> None:
    document = yaml.safe_load("organizations: [{id: org_a, createdAt: 2030-01-01T00:00:00Z}]")
    now = datetime.now(UTC).replace(microsecond=0)
    document |= {"members": SEED["members"][:1], "tokens": SEED["tokens"][:1], "spaces": [{**SPACE, "deletedAt": now.replace(tzinfo=None)}]}
    box = Box(tmp_path, document)
    assert box.get("/orgs/org_a")["createdAt"] == "2030-01-01T00:00:00.000Z"
    assert datetime.fromisoformat(box.get("/spaces/spc_a")["deletedAt"]) == now
    box.clock(advance=7 * DAY)
    box.refused("GET", "/spaces/spc_a", status=404)
    box.close()


def test_a_file_may_be_seeded_again_with_what_it_does_not_have(box: Box) -> None:
    box.close()
    seed(box.db, {"spaces": [{"organization": "org_a", "id": "spc_late"}]})
    with pytest.raises(SeedError, match=r"^organizations\[0\]\.id: org_a already exists$"):
        seed(box.db, SEED)
    box.open()
    assert box.get("/spaces/spc_late")["title"] == "Untitled"


def test_the_handbook_of_the_examples_is_planted_with_its_pages(tmp_path: Path) -> None:
    file = Path(__file__).parents[2] / "examples" / "seeds" / "handbook.yaml"
    store = Store(tmp_path / "handbook.db")
    plant(store, yaml.safe_load(file.read_text(encoding="utf-8")))
    spaces = store.select("space", organization="org_handbook")
    waiting = [page for space in spaces for page in space["_pages"]]
    pages = []
    while waiting:
        pages.append(waiting.pop())
        waiting += pages[-1]["pages"]
    assert len(spaces) == 16
    assert len(pages) > 350
    assert len({page["id"] for page in pages}) == len(pages)
    store.close()
