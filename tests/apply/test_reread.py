"""After an apply only what was written is read again, with what lists with it; `--verify full` reads everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.growth.edits import collections
from tests.harness import Org
from tests.meddling import Meddled
from tests.small import applied, node, settled, small

AFTER_MAX = 5  # requests of an apply beside those of its plan, where one title is changed


def titled(name: str, title: str) -> dict[str, Any]:
    """The small organization with another title of a node."""
    changed = small()
    node(changed, name)["title"] = title
    return changed


def after_plan(org: Org) -> list[tuple[str, str]]:
    return org.requests[org.planned :]


def test_one_changed_title_is_one_write_and_one_reading(tmp_path: Path) -> None:
    org = Org(tmp_path)
    applied(org, small())
    org.write(titled("six", "Seven"))
    outcome = org.apply()
    space = f"/spaces/{org.id('acme/space/six')}"
    assert outcome.went_through
    assert after_plan(org) == [("PATCH", space), ("GET", space)]
    settled(org)


def test_what_is_read_after_one_changed_title_does_not_grow(tmp_path: Path) -> None:
    for many in (20, 80):
        org = Org(tmp_path / str(many))
        org.write(collections(many))
        org.apply()
        text = (org.project / "reconciler.yaml").read_text(encoding="utf-8")
        assert "title: Collection 1\n" in text
        org.write(text.replace("title: Collection 1\n", "title: Another title\n"))
        outcome = org.apply()
        assert outcome.went_through
        assert [method for method, _ in after_plan(org)].count("PATCH") == 1
        assert len(after_plan(org)) <= AFTER_MAX


def test_verify_full_reads_everything(tmp_path: Path) -> None:
    org = Org(tmp_path)
    applied(org, small())
    org.write(titled("six", "Seven"))
    org.verify = "full"
    before = len(org.requests)
    assert org.apply().went_through
    plan = {path for _, path in org.requests[before : org.planned]}
    assert {path for method, path in after_plan(org) if method == "GET"} >= plan


@pytest.mark.parametrize("verify", ["written", "full"])
def test_an_edit_of_what_was_not_written_is_reported_only_where_everything_is_read(verify: Any, tmp_path: Path) -> None:
    org = Meddled(tmp_path)
    applied(org, small())
    org.write(titled("six", "Seven"))
    org.verify = verify
    team = org.id("acme/team/writers")
    at = len(org.requests)
    org.plan()
    outcome = org.meddled(len(org.requests) - at + 1, lambda org: org._call("PATCH", f"/orgs/org_acme/teams/{team}", {"title": "Scribes"}))
    assert org.acted is not None
    assert [str(edit.address) for edit in outcome.edited] == (["acme/team/writers"] if verify == "full" else [])
    assert [str(change.address) for change in org.plan().changes] == ["acme/team/writers"]


def test_an_edit_of_what_lists_with_what_was_written_is_reported(tmp_path: Path) -> None:
    tree = small()
    org = Meddled(tmp_path)
    applied(org, tree)
    node(tree, "product")["content"].append({"space": "seven", "title": "Seven"})
    org.write(tree)
    one = org.id("acme/space/one")
    at = len(org.requests)
    org.plan()
    outcome = org.meddled(len(org.requests) - at + 2, lambda org: org._call("PATCH", f"/spaces/{one}", {"title": "Uno"}))
    assert org.acted is not None
    assert [str(edit.address) for edit in outcome.edited] == ["acme/space/one"]
    assert not outcome.leftover


class Forgetting(httpx2.AsyncBaseTransport):
    """A service that lists no section any more once it has written one."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self.inner, self.wrote = inner, False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = await self.inner.handle_async_request(request)
        self.wrote = self.wrote or request.method != "GET"
        if self.wrote and request.url.path.endswith("/sections"):
            return httpx2.Response(200, json={"items": [], "count": 0}, request=request)
        return answer


def test_where_something_that_was_written_is_not_shown_everything_is_read(tmp_path: Path) -> None:
    org = Org(tmp_path)
    applied(org, small())
    org.write(titled("guides", "Handbooks"))
    inner = org.transport
    org.transport = lambda: Forgetting(inner())  # type: ignore[method-assign]
    before = len(org.requests)
    outcome = org.apply()
    plan = {path for _, path in org.requests[before : org.planned]}
    assert {path for method, path in after_plan(org) if method == "GET"} >= plan
    assert "acme/site/docs/section/guides" in [str(edit.address) for edit in outcome.edited] + [str(at) for at in outcome.unverified]
