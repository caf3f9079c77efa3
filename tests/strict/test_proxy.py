"""The strict proxy is itself strict enough, and what is allowed passes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.sandbox.seed import seed
from tests.harness import SEED, TOKEN
from tests.strict.proxy import strict
from tests.strict.rules import UNSIGNED, refusals

SITE = "/orgs/org_acme/sites/site_1"

EXAMPLE = Path(__file__).parents[2] / "examples" / "agents" / "visitors.schema.json"
OBJECT = {"type": "object", "properties": {}, "additionalProperties": False}


def claims(**properties: Any) -> dict[str, Any]:
    """The body that sets a site's adaptive schema."""
    return {"jsonSchema": {**OBJECT, "properties": properties}}


REFUSED: list[tuple[str, str, Any, str]] = [
    ("POST", "/spaces/spc_1/move", {}, "no property"),
    ("POST", "/spaces/spc_1/move", {"position": {"before": None}}, "null"),
    ("PATCH", "/collections/col_1", {"description": None}, "null"),
    ("POST", "/orgs/org_acme/collections", {"title": "A", "parent": None}, "null"),
    ("POST", f"{SITE}/section-groups", {"title": "A", "parent": None}, "null"),
    ("POST", f"{SITE}/site-spaces", {"spaceId": "spc_1", "sectionId": None}, "null"),
    ("PATCH", "/orgs/org_acme/saml/saml_1", {"defaultTeam": None}, "null"),
    ("PATCH", "/orgs/org_acme", {"title": "A "}, "not blank"),
    ("PATCH", "/orgs/org_acme", {"mergeRules": {"type": "inherit"}}, "'inherit' is neither"),
    ("PATCH", "/orgs/org_acme", {"mergeRules": {"type": "rules"}}, "'rules' is a required"),
    ("PATCH", "/spaces/spc_1", {"mergeRules": {"type": "rules", "rules": [{"rule": "allow_bypass"}]}}, "requires 'users'"),
    ("PATCH", "/spaces/spc_1", {"mergeRules": {"type": "rules", "rules": [{"rule": "sunday"}]}}, "not published"),
    ("PUT", f"{SITE}/adaptive-schema", {"jsonSchema": {"type": "object", "properties": {}}}, "'additionalProperties'"),
    ("PUT", f"{SITE}/adaptive-schema", claims(a={"type": "boolean"}), "'description' is a required"),
    ("PUT", f"{SITE}/adaptive-schema", claims(a={"type": "null", "description": "A"}), "'null' is not published"),
    ("PUT", f"{SITE}/adaptive-schema", claims(a={"type": "number", "description": "A", "minimum": 1}), "['minimum'] are not published"),
    ("PUT", f"{SITE}/adaptive-schema", claims(unsigned={**OBJECT, "description": "Other"}), "must be 'Unsigned claims"),
    ("POST", "/spaces/spc_1/rename", {"title": "A"}, "an operation that is not published"),
]


@pytest.mark.parametrize(("method", "path", "body", "says"), REFUSED)
def test_what_the_published_schemas_refuse_is_refused(method: str, path: str, body: Any, says: str) -> None:
    assert any(says in refusal for refusal in refusals(method, path, body)), refusals(method, path, body)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "/spaces/spc_1", {"mergeRules": {"type": "inherit"}, "emoji": None}),
        ("PATCH", "/orgs/org_acme", {"mergeRules": {"type": "none"}, "logo": None, "defaultRole": None}),
        ("PATCH", "/collections/col_1", {"description": ""}),
        ("POST", "/spaces/spc_1/move", {"parent": None}),
        ("DELETE", "/spaces/spc_1", None),
        ("PUT", f"{SITE}/adaptive-schema", claims(a={"type": "boolean", "description": "A"}, unsigned={**OBJECT, "description": UNSIGNED})),
        ("PUT", f"{SITE}/adaptive-schema", {"jsonSchema": json.loads(EXAMPLE.read_text("utf-8"))}),
    ],
)
def test_what_they_take_is_taken(method: str, path: str, body: Any) -> None:
    assert refusals(method, path, body) == []


@pytest.mark.parametrize("dressed", [False, True], ids=["plain", "dressed"])
def test_the_proxy_refuses_with_400_and_answers_a_delete_as_it_is_published(dressed: bool, tmp_path: Path) -> None:
    seed(tmp_path / "sandbox.db", SEED)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with strict(tmp_path / "sandbox.db", dressed=dressed) as (url, proxy), httpx2.Client(base_url=f"{url}/v1", headers=headers) as client:
        refused = client.patch("/spaces/spc_blank", json={"titel": "x"})
        assert (refused.status_code, len(proxy.refused)) == (400, 1)
        assert "titel" in refused.json()["error"]["message"]
        shown = client.get("/spaces/spc_blank").json()
        assert ("xLater" in shown, shown["title"]) == (dressed, "Blank")
        assert client.delete("/spaces/spc_blank").status_code == (205 if dressed else 204)
