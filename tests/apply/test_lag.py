"""A service that reads from a replica: what was just written is not shown yet, and nobody else is accused of it.

After an apply only what was written is read again, with what lists with it; `--verify full` reads everything.
A run that was held up after it wrote an intent sends nothing after the deadline that stands in it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.model import Intent, StepStatus
from reconciler.sandbox.app import create_app
from reconciler.state import IntentEnding, Journal, Store
from tests.growth.edits import collections
from tests.harness import Org, Still
from tests.meddling import Meddled
from tests.proofs import costly
from tests.small import applied, node, settled, small
from tests.transports import Onward, between

SETTLE = 30.0


class ReplicatedOrg(Org):
    """Writes go to the service; what is read is the service as it was `lag` seconds ago."""

    lag = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.copies: list[tuple[float, Path]] = []
        self.apps: dict[Path, Any] = {}

    def copy(self) -> None:
        """Keep the service as it is before a write."""
        path = self.root / f"copy-{len(self.copies)}.db"
        with sqlite3.connect(path) as target:
            self.app.state.service.store.connection.backup(target)
        self.copies.append((self.clock.monotonic(), path))

    def replica(self) -> Any:
        """The service as it was before the first write that is not visible yet; None for the service as it is."""
        now = self.clock.monotonic()
        path = next((path for at, path in self.copies if at > now - self.lag), None)
        if path is not None and path not in self.apps:
            self.apps[path] = create_app(path)
        return self.apps.get(path) if path is not None else None

    def service_transport(self) -> httpx2.AsyncBaseTransport:
        return between(super().service_transport(), self._replicated)

    async def _replicated(self, request: httpx2.Request, onward: Onward) -> httpx2.Response:
        if request.method != "GET":
            self.copy()
            return await onward(request)
        app = self.replica()
        return await (onward(request) if app is None else httpx2.ASGITransport(app).handle_async_request(request))

    def store(self) -> Store:
        self.settle = SETTLE
        return super().store()


@pytest.fixture
def org(tmp_path: Path) -> ReplicatedOrg:
    return ReplicatedOrg(tmp_path, settle=SETTLE, clock=Still())


TEAMS = {"teams": {"writers": {"title": "Writers"}, "editors": {"title": "Editors"}}}


def clean(org: ReplicatedOrg) -> None:
    """An apply ends without anything to report."""
    outcome = org.apply()
    assert (outcome.edited, outcome.leftover, outcome.unverified, outcome.not_visible) == ((), (), (), ())
    assert outcome.went_through


def changed(tree: dict[str, Any]) -> dict[str, Any]:
    """Updates, moves, another order, another default, a delete and a create."""
    tree["title"] = "Acme Inc"
    tree["content"][1]["content"].reverse()
    tree["content"][2]["content"].append(tree["content"].pop(3))
    node(tree, "more")["title"] = "Much more"
    guides = node(tree, "guides")
    guides["spaces"][0]["default"] = True
    del guides["spaces"][1]["default"], tree["sites"]["docs"]["shareLinks"]
    tree["teams"]["editors"] = {"title": "Editors"}
    return tree


@pytest.mark.parametrize("lag", [4.0, 20.0])
def test_what_appears_within_the_settle_time_is_waited_for(org: ReplicatedOrg, lag: float) -> None:
    org.lag = lag
    org.write(TEAMS)
    clean(org)
    org.write({"teams": {"writers": {"title": "Authors"}}})
    clean(org)
    assert [team["title"] for team in org.items("/orgs/org_acme/teams")] == ["Authors"]


@costly
def test_a_whole_organization_behind_a_replica_ends_clean(org: ReplicatedOrg) -> None:
    org.lag = 6.0
    org.write(small())
    clean(org)
    settled(org)
    org.write(changed(small()))
    clean(org)
    settled(org)


def test_what_does_not_appear_is_not_visible_and_nobody_is_accused(org: ReplicatedOrg) -> None:
    org.write(TEAMS)
    org.apply()
    org.lag = float("inf")
    org.copies.clear()
    org.write({"teams": {"writers": {"title": "Authors"}, "editors": {"title": "Editors"}, "readers": {"title": "Readers"}}})
    before = org.clock.monotonic()
    outcome = org.apply()
    assert (outcome.edited, outcome.leftover) == ((), ())
    assert sorted(map(str, outcome.not_visible)) == ["acme/team/readers", "acme/team/writers"]
    assert SETTLE <= org.clock.monotonic() - before < 2 * SETTLE


def test_the_next_run_right_after_creates_nothing_twice(org: ReplicatedOrg) -> None:
    org.lag = float("inf")
    org.write(TEAMS)
    org.apply()
    for _ in range(2):
        assert [step.verb for step in org.plan().steps] == []
        org.apply()
    org.lag = 0.0
    assert len(org.items("/orgs/org_acme/teams")) == 2
    settled(org)


def test_a_third_value_is_somebody_else_s_and_is_reported_at_once(org: ReplicatedOrg) -> None:
    org.write(TEAMS)
    org.apply()
    team = org.id("acme/team/writers")

    async def edited(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        answer = await onward(request)
        if request.method == "PATCH":
            await onward(httpx2.Request("PATCH", request.url, json={"title": "Scribes"}, headers=request.headers))
        return answer

    org.way = edited
    org.write({"teams": {"writers": {"title": "Authors"}, "editors": {"title": "Editors"}}})
    before = org.clock.monotonic()
    outcome = org.apply()
    assert [(str(edit.address), edit.before, edit.after) for edit in outcome.edited] == [("acme/team/writers", "Authors", "Scribes")]
    assert outcome.not_visible == ()
    assert org.clock.monotonic() - before < 1
    assert org.call("GET", f"/orgs/org_acme/teams/{team}")["title"] == "Scribes"


@costly
def test_a_run_that_reads_again_before_each_write_sees_its_own_writes_late_and_goes_on(org: ReplicatedOrg) -> None:
    org.fresh, org.lag = -1.0, 8.0
    org.write(small())
    clean(org)
    org.write(changed(small()))
    clean(org)
    settled(org)


def test_a_collection_is_deleted_once_the_service_shows_that_it_was_emptied(org: ReplicatedOrg) -> None:
    org.write(small())
    org.apply()
    tree = small()
    other = tree["content"].pop(2)
    tree["content"].append(other["content"][0])
    org.lag = 5.0
    org.copies.clear()
    org.write(tree)
    clean(org)
    org.clock.slept += org.lag + 1  # type: ignore[attr-defined]
    settled(org)
    assert "Other" not in {collection["title"] for collection in org.items("/orgs/org_acme/collections")}


@costly
def test_a_collection_that_is_never_shown_as_emptied_stays(org: ReplicatedOrg) -> None:
    org.write(small())
    org.apply()
    tree = small()
    other = tree["content"].pop(2)
    tree["content"].append(other["content"][0])
    org.lag = float("inf")
    org.copies.clear()
    org.write(tree)
    outcome = org.apply()
    assert [(result.step.verb, result.status.value) for result in outcome.results if result.step.verb == "delete"] == [("delete", "stale")]
    assert outcome.edited == ()


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


@costly
def test_what_is_read_after_one_changed_title_does_not_grow(tmp_path: Path) -> None:
    for many in (20, 80):
        org = Org(tmp_path / str(many))
        org.write(collections(many))
        org.apply()
        text = (org.project / "reconciler.yaml").read_text(encoding="utf-8")
        assert "title: Collection 1\n" in text
        org.write(text.replace("title: Collection 1\n", "title: Another title\n"))
        assert org.apply().went_through
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


@costly
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


def test_where_something_that_was_written_is_not_shown_everything_is_read(tmp_path: Path) -> None:
    org = Org(tmp_path)
    applied(org, small())
    org.write(titled("guides", "Handbooks"))
    before = len(org.requests)

    async def forgetting(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        """It lists no section any more once it has written one."""
        answer = await onward(request)
        if request.url.path.endswith("/sections") and any(method != "GET" for method, _ in org.requests[before:]):
            return httpx2.Response(200, json={"items": [], "count": 0}, request=request)
        return answer

    org.way = forgetting
    outcome = org.apply()
    plan = {path for _, path in org.requests[before : org.planned]}
    assert {path for method, path in after_plan(org) if method == "GET"} >= plan
    assert "acme/site/docs/section/guides" in [str(edit.address) for edit in outcome.edited] + [str(at) for at in outcome.unverified]


def test_a_run_that_is_held_up_past_its_deadline_sends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    org = Org(tmp_path)
    org.write(small())
    org.deadline = 0.05
    commit = Journal.commit

    def slowly(journal: Journal, intents: Sequence[Intent], endings: Sequence[IntentEnding]) -> tuple[Intent, ...]:
        written = commit(journal, intents, endings)
        time.sleep(0.06)
        return written

    with monkeypatch.context() as stopped:
        stopped.setattr(Journal, "commit", slowly)
        outcome = org.apply()
    assert {result.status for result in outcome.results} == {StepStatus.FAILED, StepStatus.SKIPPED}
    assert {method for method, _ in org.requests} == {"GET"}
    org.deadline = 30.0
    org.apply()
    settled(org)
