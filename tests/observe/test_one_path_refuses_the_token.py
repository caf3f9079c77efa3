"""A 401 on one path says nothing of the token, if the service accepts it elsewhere: that path is not known, and the run goes on."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from reconciler.errors import Rejected
from reconciler.model import StepStatus
from tests.harness import Org
from tests.small import applied, small
from tests.transports import Onward, Way

ROOT = "/orgs/org_acme"


def refusing(*paths: str, after: int = 0) -> Way:
    """Answers 401 to these paths, or to all of them without any, once so many requests were passed on."""
    passed = 0

    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        nonlocal passed
        if (not paths or request.url.path.removeprefix("/v1") in paths) and passed >= after:
            return httpx2.Response(401, json={"error": {"code": 401, "message": "not with this token"}}, request=request)
        passed += 1
        return await onward(request)

    return way


@pytest.fixture
def org(tmp_path: Path) -> Org:
    return Org(tmp_path)


def test_every_reading_but_that_of_the_root_may_be_refused(org: Org) -> None:
    applied(org, small())
    org.requests.clear()
    org.plan()
    paths = sorted({path for _, path in org.requests if path != ROOT})
    assert len(paths) > 5
    for path in paths:
        org.way = refusing(path)
        org.requests.clear()
        plan = org.plan()
        assert [path for unknown in plan.unknown if path in unknown.reason] or not plan.unknown, path
        assert [f"GET {path}" for method, path in org.requests if path == "/orgs"] in ([], ["GET /orgs"]), "asked once more, if at all"
        assert plan.changes == (), path
    for unknown in plan.unknown:
        assert unknown.reason.startswith(f"GET {path}: the token is refused here, and accepted elsewhere")


@pytest.mark.parametrize("after", [0, 3])
def test_a_token_that_is_refused_everywhere_ends_the_run_also_in_the_middle(org: Org, after: int) -> None:
    applied(org, small())
    org.way = refusing(after=after)
    with pytest.raises(Rejected) as caught:
        org.plan()
    assert (caught.value.id, caught.value.status) == ("RC-token-refused", 401)


def test_a_write_that_is_refused_with_401_does_not_blame_the_token(org: Org) -> None:
    org.write({"teams": {"writers": {"title": "Writers"}, "editors": {"title": "Editors"}}})

    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        return await (refusing()(request, onward) if request.method == "PUT" else onward(request))

    org.way = way
    ended = {(result.status, result.id) for result in org.apply().results}
    assert ended == {(StepStatus.FAILED, "RC-not-permitted")}
