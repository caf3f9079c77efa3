"""What is held against every request of the tool in all tests is itself strict enough, and really looks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reconciler.client import RetryClass
from tests.command_line import Cli
from tests.harness import Org
from tests.request_bodies import WRONG, foreign, problems
from tests.small import applied, small

SITE = "/orgs/org_acme/sites/site_1"
SOURCE = {"url": "https://acme.example/openapi.json"}
WRONG_BODIES: list[tuple[str, str, Any, str]] = [
    ("POST", "/spaces/spc_1/move", {}, "no property"),
    ("POST", "/spaces/spc_1/move", {"anchor": "spc_2"}, "'anchor' was unexpected"),
    ("POST", "/spaces/spc_1/move", {"position": {"after": {"type": "space"}}}, "not valid under any"),
    ("POST", "/spaces/spc_1/move", {"position": {"after": {"type": "space", "space": "spc_2", "id": "spc_2"}}}, "not valid under any"),
    ("POST", "/spaces/spc_1/move", None, "requires one"),
    ("POST", f"{SITE}/section-groups/grp_1/move", {}, "no property"),
    ("PATCH", f"{SITE}/share-links/link_1", {}, "no property"),
    ("PATCH", SITE, {"proxy": "https://acme.example/docs"}, "not valid under any"),
    ("PATCH", "/spaces/spc_1", {"titel": "x"}, "'titel' was unexpected"),
    ("PATCH", "/spaces/spc_1", {"defaultLevel": "guest"}, "not valid under any"),
    ("PATCH", "/collections/col_1", {"title": "x" * 51}, "too long"),
    ("PUT", "/orgs/org_acme/teams", {"members": []}, "'title' is a required"),
    ("PATCH", "/orgs/org_acme/teams/team_1", {"members": []}, "'title' is a required"),
    ("PUT", "/orgs/org_acme/openapi/pets", {"source": {}}, "not valid under any"),
    ("PUT", "/orgs/org_acme/openapi/pets", {"source": {**SOURCE, "text": "x"}}, "is valid under each of"),
    ("PATCH", "/orgs/org_acme/openapi/pets", {"source": SOURCE}, "'visibility' is a required"),
    ("POST", f"{SITE}/section-groups", {"icon": "gear"}, "'title' is a required"),
    ("POST", f"{SITE}/publish", {"published": True}, "the document has none"),
]


@pytest.mark.parametrize(("method", "path", "body", "says"), WRONG_BODIES)
def test_a_wrong_body_is_found(method: str, path: str, body: Any, says: str) -> None:
    assert any(says in problem for problem in problems(method, path, body)), problems(method, path, body)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/spaces/spc_1/move", {"parent": None}),
        ("POST", "/spaces/spc_1/move", {"position": {"before": {"type": "collection", "collection": "col_1"}}}),
        ("POST", "/spaces/spc_1/duplicate", None),
        ("PATCH", "/spaces/spc_1", {"emoji": None, "defaultLevel": "inherit", "mergeRules": {"type": "none"}}),
        ("PUT", "/orgs/org_acme/openapi/pets", {"source": SOURCE}),
        ("DELETE", "/spaces/spc_1", None),
        ("POST", "/somewhere/else", {"any": "thing"}),
    ],
)
def test_a_right_body_is_let_be(method: str, path: str, body: Any) -> None:
    assert problems(method, path, body) == []


async def _send(org: Org, path: str, body: Any) -> None:
    async with org.client() as writer:
        await writer.send("PATCH", path, body, retry=RetryClass.IDEMPOTENT)


def test_what_the_tool_sends_is_watched_and_what_a_foreign_client_sends_is_not(tmp_path: Path) -> None:
    import asyncio

    org = Org(tmp_path)
    asyncio.run(_send(org, "/spaces/spc_blank", {"title": "Same", "colour": "red"}))
    assert WRONG == ["PATCH /spaces/spc_blank: $: Additional properties are not allowed ('colour' was unexpected)"]
    WRONG.clear()
    with foreign():
        asyncio.run(_send(org, "/spaces/spc_blank", {"title": "Same", "colour": "red"}))
    assert WRONG == []


def test_calls_that_people_make_by_the_command_line_are_theirs(tmp_path: Path) -> None:
    org, cli = Org(tmp_path), Cli(tmp_path)
    applied(org, small())
    cli("api", "PATCH", "/spaces/spc_blank", "-f", "colour=red", "--sandbox", str(org.db))
    assert WRONG == []
