"""A service that reads from a replica: what was just written is not shown yet, and nobody else is accused of it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.sandbox.app import create_app
from reconciler.state import Store
from tests.harness import Org, Still
from tests.small import node, settled, small

SETTLE = 30.0


class Replicated(httpx2.AsyncBaseTransport):
    """Writes go to the service; what is read is the service as it was `lag` seconds ago."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, org: ReplicatedOrg) -> None:
        self.inner, self.org = inner, org

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method != "GET":
            self.org.copy()
            return await self.inner.handle_async_request(request)
        app = self.org.replica()
        return await (
            httpx2.ASGITransport(app).handle_async_request(request) if app is not None else self.inner.handle_async_request(request)
        )


class ReplicatedOrg(Org):
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

    def transport(self) -> httpx2.AsyncBaseTransport:
        return Replicated(super().transport(), self)

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
        made = org.plan()
        assert [step.verb for step in made.steps] == []
        org.apply()
    org.lag = 0.0
    assert len(org.items("/orgs/org_acme/teams")) == 2
    settled(org)


def test_a_third_value_is_somebody_else_s_and_is_reported_at_once(org: ReplicatedOrg) -> None:
    org.write(TEAMS)
    org.apply()
    team = org.id("acme/team/writers")

    class Edited(httpx2.AsyncBaseTransport):
        def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
            self.inner = inner

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            answer = await self.inner.handle_async_request(request)
            if request.method == "PATCH":
                await self.inner.handle_async_request(
                    httpx2.Request("PATCH", request.url, json={"title": "Scribes"}, headers=request.headers)
                )
            return answer

    inner = org.transport
    org.transport = lambda: Edited(inner())  # type: ignore[method-assign]
    org.write({"teams": {"writers": {"title": "Authors"}, "editors": {"title": "Editors"}}})
    before = org.clock.monotonic()
    outcome = org.apply()
    assert [(str(edit.address), edit.before, edit.after) for edit in outcome.edited] == [("acme/team/writers", "Authors", "Scribes")]
    assert outcome.not_visible == ()
    assert org.clock.monotonic() - before < 1
    assert org.call("GET", f"/orgs/org_acme/teams/{team}")["title"] == "Scribes"


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
