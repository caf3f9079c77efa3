"""A list that does not show yet what was just written proves nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest

from reconciler.state import StateScope, Store
from tests.harness import ORGANIZATION, Org
from tests.small import settled
from tests.transports import Onward, Way

LIST = f"/orgs/{ORGANIZATION}/teams"


def lagging(after: timedelta) -> Way:
    """Lists of teams show nothing, at a moment by the service's clock."""

    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        answer = await onward(request)
        date = (datetime.now(UTC) + after).strftime("%a, %d %b %Y %H:%M:%S GMT")
        if request.url.path != f"/v1{LIST}" or request.method != "GET":
            answer.headers["date"] = date
            return answer
        return httpx2.Response(200, json={"items": []}, headers={"date": date}, request=request)

    return way


class LaggingOrg(Org):
    def store(self) -> Store:
        scope = StateScope(self.scope_project, None, f"sandbox:{self.name}")
        return Store.open(f"sqlite:///{self.root}/state.db", scope, clock=lambda: datetime.now(UTC), create=True, lag=30.0)


@pytest.fixture
def org(tmp_path: Path) -> LaggingOrg:
    made = LaggingOrg(tmp_path)
    made.write({"teams": {"writers": {"title": "Writers"}}})
    made.apply()
    settled(made)
    return made


def test_what_was_just_made_and_is_not_listed_is_unknown_and_not_made_again(org: LaggingOrg) -> None:
    org.way = lagging(timedelta(0))
    (blocked,) = org.plan().blocked
    assert "the list may not show it yet" in blocked.reason
    org.apply()
    org.way = None
    assert len(org.items(LIST)) == 1
    settled(org)


def test_it_stays_managed_when_its_line_is_removed(org: LaggingOrg) -> None:
    org.write({"teams": {}})
    org.way = lagging(timedelta(0))
    (blocked,) = org.plan().blocked
    assert "could not be read" in blocked.reason
    org.apply()
    org.way = None
    org.apply()
    assert org.items(LIST) == []


def test_an_absence_is_believed_when_the_service_s_clock_says_that_it_was_long_ago(org: LaggingOrg) -> None:
    org.call("DELETE", f"{LIST}/{org.id('acme/team/writers')}")
    org.way = lagging(timedelta(seconds=10))
    assert org.plan().steps == ()
    org.way = lagging(timedelta(seconds=120))
    assert [f"{step.verb} {step.address}" for step in org.plan().steps] == ["create acme/team/writers"]


def test_only_what_was_written_is_recent(org: LaggingOrg) -> None:
    org.write({"teams": {"writers": {"title": "Writers"}}, "content": [{"space": "blank", "id": "spc_blank", "title": "Blank"}]})
    org.apply()
    state = org.remembered()
    assert {str(address) for address in state.bindings} > {str(address) for address in state.recent} == {"acme/team/writers"}
