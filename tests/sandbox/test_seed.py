"""Seeds: what they put in, and what a wrong one is told. Nothing of a wrong one is put in."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.sandbox.seed import SeedError, plant, seed
from reconciler.sandbox.seed_fields import LISTS as LISTS_OF_FIELDS, File, MergeRules, Page, ReviewRule
from reconciler.sandbox.store import Store
from tests.sandbox.box import DAY, SEED, Box

LISTS = "organizations, members, tokens, teams, collections, spaces, sites, openapi, saml, integrations"
ORGANIZATION = {"id": "org_a"}
MEMBER = {"organization": "org_a", "id": "usr_a", "email": "a@acme.example"}
SPACE = {"organization": "org_a", "id": "spc_a"}

FIELDS = (
    "id, title, createdAt, emailDomains, hostname, type, useCase, defaultRole, sso, ai, inviteLinks, plan, mergeRules, billing, blocked"
)
BAD: list[tuple[dict[Any, Any], str]] = [
    ({"organisations": []}, 'unknown list "organisations"; did you mean "organizations"?'),
    ({7: []}, f'unknown list "7"; a seed has {LISTS}'),
    ({"organizations": {"id": "org_a"}}, "organizations must be a list, not a map"),
    ({"organizations": ["org_a"]}, "organizations[0]: an entry must be a map of fields, not text"),
    ({"organizations": [{}]}, "organizations[0]: id is missing"),
    ({"organizations": [{"id": 7}]}, "organizations[0]: id must be text, not a number; quote it"),
    ({"organizations": [{"id": ""}]}, "organizations[0]: id has no value; write one, or remove the line"),
    ({"organizations": [ORGANIZATION, ORGANIZATION]}, "organizations[1]: id: org_a already exists"),
    ({"organizations": [{"id": "org_a", "title": ["x"]}]}, "organizations[0]: title must be text, not a list"),
    ({"organizations": [{"id": "org_a", "_logo": "x"}]}, f'organizations[0]: unknown field "_logo"; its fields are {FIELDS}'),
    ({"organizations": [{"id": "org_a", "titel": "x"}]}, 'organizations[0]: unknown field "titel"; did you mean "title"?'),
    ({"organizations": [{"id": "org_a", "mergeRules": {"type": {1, 2}}}]}, "organizations[0].mergeRules: type must be text, not a set"),
    ({"organizations": [{"id": "org_a", "sso": float("nan")}]}, "organizations[0]: sso must be true or false, not a number"),
    ({"organizations": [{"id": "org_a", "sso": "yes"}]}, "organizations[0]: sso must be true or false, not text"),
    ({"organizations": [{"id": "org_a", "billing": {"paid": float("nan")}}]}, "organizations[0]: billing is not valid: it must be JSON"),
    (
        {"organizations": [ORGANIZATION, {"id": "org_b", "titel": 1, "sso": 1}]},
        ('organizations[1]: sso must be true or false, not a number; organizations[1]: unknown field "titel"; did you mean "title"?'),
    ),
    ({"members": [MEMBER]}, "members[0]: organization: there is no organization org_a"),
    (
        {"organizations": [ORGANIZATION], "members": [{**MEMBER, "email": None}]},
        "members[0]: email has no value; write one, or remove the line",
    ),
    (
        {"organizations": [ORGANIZATION], "members": [{**MEMBER, "role": "owner"}]},
        'members[0]: role is "owner"; one of admin, create, review, edit, comment, read',
    ),
    (
        {"organizations": [ORGANIZATION], "members": [{**MEMBER, "role": "reader"}]},
        'members[0]: role is "reader"; one of admin, create, review, edit, comment, read; did you mean "read"?',
    ),
    ({"organizations": [ORGANIZATION], "members": [MEMBER, MEMBER]}, "members[1]: id: usr_a is a member already"),
    ({"organizations": [ORGANIZATION], "tokens": [{"token": "t", "member": "usr_no"}]}, "tokens[0]: member: there is no member usr_no"),
    (
        {"organizations": [ORGANIZATION], "members": [MEMBER], "tokens": [{"token": "t", "member": "usr_a", "access": "all"}]},
        'tokens[0]: access is "all"; one of read, write',
    ),
    (
        {"organizations": [ORGANIZATION], "members": [MEMBER], "tokens": [{"token": "t", "member": "usr_a"}] * 2},
        "tokens[1]: token: it already exists",
    ),
    (
        {"organizations": [ORGANIZATION], "collections": [{"organization": "org_a", "id": "c", "parent": "d"}]},
        "collections[0]: parent: there is no collection d before it",
    ),
    (
        {"organizations": [ORGANIZATION], "collections": [{"organization": "org_b", "id": "c"}], "spaces": [{**SPACE, "parent": "c"}]},
        "collections[0]: organization: there is no organization org_b",
    ),
    ({"organizations": [ORGANIZATION], "spaces": [{**SPACE, "pages": "x"}]}, "spaces[0]: pages must be a list, not text"),
    (
        {"organizations": [ORGANIZATION], "spaces": [{**SPACE, "pages": [{"pages": ["x"]}]}]},
        "spaces[0].pages[0].pages[0]: an entry must be a map of fields, not text",
    ),
    (
        {"organizations": [ORGANIZATION], "spaces": [{**SPACE, "pages": [{"titel": "x"}]}]},
        'spaces[0].pages[0]: unknown field "titel"; did you mean "title"?',
    ),
    (
        {"organizations": [ORGANIZATION], "spaces": [{**SPACE, "deletedAt": "once"}]},
        "spaces[0]: deletedAt must be a time, such as 2026-11-18T14:02:11Z",
    ),
    (
        {"organizations": [ORGANIZATION], "spaces": [{**SPACE, "variables": {"a": 1}}]},
        "spaces[0].variables: a must be text, not a number; quote it",
    ),
    (
        {"organizations": [ORGANIZATION], "teams": [{"organization": "org_a", "id": "t", "members": "usr_a"}]},
        "teams[0]: members must be a list, not text",
    ),
    (
        {"organizations": [ORGANIZATION], "teams": [{"organization": "org_a", "id": "t", "members": ["usr_a"]}]},
        "teams[0]: members: there is no member usr_a",
    ),
    (
        {"organizations": [ORGANIZATION], "openapi": [{"organization": "org_a", "slug": "api"}, {"organization": "org_a", "slug": "api"}]},
        "openapi[1]: slug: api is taken",
    ),
    (
        {"organizations": [ORGANIZATION], "openapi": [{"organization": "org_a", "id": "s"}, {"organization": "org_a", "id": "s"}]},
        "openapi[1]: id: s already exists",
    ),
    (
        {"organizations": [ORGANIZATION], "saml": [{"organization": "org_a", "id": "s", "defaultTeam": "t"}]},
        "saml[0]: defaultTeam: there is no team t",
    ),
]


@pytest.mark.parametrize(("document", "message"), BAD, ids=[message[:60] for _, message in BAD])
def test_an_invalid_seed_is_reported_with_its_position_and_loads_nothing(tmp_path: Path, document: dict[str, Any], message: str) -> None:
    with pytest.raises(SeedError) as caught:
        seed(tmp_path / "x.db", document)
    assert str(caught.value) == message
    assert not (tmp_path / "x.db").exists()


@pytest.mark.parametrize("document", [None, [], "organizations", 7])
def test_a_seed_that_is_not_a_map_is_reported(tmp_path: Path, document: Any) -> None:
    with pytest.raises(SeedError, match=f"^a seed must be a map of lists: {LISTS}$"):
        seed(tmp_path / "x.db", document)


@pytest.mark.parametrize("document", [{}, {"organizations": None}, {"organizations": []}])
def test_an_empty_seed_is_a_seed(tmp_path: Path, document: dict[str, Any]) -> None:
    seed(tmp_path / "x.db", document)


def test_objects_have_the_ids_and_the_order_of_the_seed(box: Box) -> None:
    assert box.ids("/orgs/org_a/collections") == ["col_guides", "col_inner"]
    assert box.ids("/collections/col_guides/spaces") == ["spc_one", "spc_two"]
    assert box.get("/spaces/spc_one")["visibility"] == "in-collection"
    assert box.get("/orgs/org_a/members/usr_ada")["user"]["displayName"] == "Ada"


def test_a_specification_shows_the_url_that_was_written_and_none_that_was_not(tmp_path: Path) -> None:
    url = "https://acme.example/v7/orders.json"
    specs = [{"organization": "org_a", "slug": "orders", "sourceURL": url}, {"organization": "org_a", "slug": "plain"}]
    box = Box(tmp_path, {**SEED, "openapi": specs})
    assert box.get("/orgs/org_a/openapi/orders")["sourceURL"] == url
    assert "sourceURL" not in box.get("/orgs/org_a/openapi/plain")
    box.close()


def test_the_example_of_the_reference_is_a_seed(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "seed.md").read_text(encoding="utf-8")
    document = yaml.safe_load(page.split("```yaml\n")[1].split("```")[0])
    box = Box(tmp_path, document)
    assert {item["id"] for item in box.store.select("space")} == {"spc_blank", "spc_guides"}
    box.close()


def test_every_field_of_a_seed_has_a_description() -> None:
    described = [*(model for name, model in LISTS_OF_FIELDS.items() if name != "integrations"), Page, File, MergeRules, ReviewRule]
    assert [f"{model.__name__}.{name}" for model in described for name, field in model.model_fields.items() if not field.description] == []


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
    with pytest.raises(SeedError, match=r"^organizations\[0\]: id: org_a already exists; "):
        seed(box.db, SEED)
    box.open()
    assert box.get("/spaces/spc_late")["title"] == "Untitled"


def test_the_handbook_of_the_examples_is_planted_with_its_pages(tmp_path: Path) -> None:
    file = Path(__file__).parents[2] / "examples" / "handbook" / "sandbox.seed.yaml"
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
