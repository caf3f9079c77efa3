"""What the service shows of payments explains why it refuses requests, before they are sent and after; publishing may ask for a payment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.model import StepStatus
from tests.harness import Org
from tests.organizations import SEED
from tests.transports import Onward, Way

PUBLISHED = {"title": "Docs", "published": True, "structure": ["blank"]}
BLOCKED: dict[str, Any] = {"blocked": {"source": "backoffice", "reason": "the invoice of May"}}
FAILED: dict[str, Any] = {"billing": {"hasPaymentFailed": True, "isScheduledToCancel": True, "endDate": "2027-01-31T00:00:00.000Z"}}
FROZEN = {"id": "sites-adaptive-content", "plan": "ultimate", "frozen": True, "customizations": []}


def limited(root: Path, **organization: Any) -> Org:
    """An organization of which the service shows such things."""
    (first, *others) = SEED["organizations"]
    return Org(root, seed={**SEED, "organizations": [{**first, **organization}, *others]})


def written(org: Org, **sites: dict[str, Any]) -> None:
    org.write({"content": [{"space": "blank", "id": "spc_blank", "title": "Blank"}], "sites": sites})


def notes(org: Org) -> str:
    return "\n".join(org.plan().notes)


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        (BLOCKED, 'acme is blocked by the service: "the invoice of May"'),
        (FAILED, "acme has a payment that failed"),
        (FAILED, "acme has a subscription that ends on 2027-01-31"),
    ],
    ids=["blocked", "failed", "cancelled"],
)
def test_a_plan_says_what_may_refuse_its_requests(tmp_path: Path, shown: dict[str, Any], says: str) -> None:
    org = limited(tmp_path, **shown)
    written(org, docs={"title": "Docs", "structure": ["blank"]})
    assert says in notes(org)
    org.apply()
    assert says not in notes(org), "nothing is sent any more"


def test_a_feature_that_is_frozen_says_which_plan_it_requires(tmp_path: Path) -> None:
    site = {"organization": "org_acme", "id": "site_docs", "title": "Docs", "features": [FROZEN]}
    org = Org(tmp_path, seed={**SEED, "sites": [site]})
    written(org, docs={"title": "Docs", "structure": ["blank"]})
    assert 'acme/site/docs has a feature that is frozen: "sites-adaptive-content", which requires the plan "ultimate"' in notes(org)


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        ({"billing": {"isScheduledToCancel": True, "endDate": {"day": 1}}}, ["acme has a subscription that ends"]),
        ({"billing": {"isScheduledToCancel": True, "endDate": "soon"}}, ["acme has a subscription that ends"]),
        ({"billing": {"isScheduledToCancel": True, "endDate": 5}}, ["acme has a subscription that ends"]),
        ({"billing": {"hasPaymentFailed": "no", "isScheduledToCancel": 1}}, []),
        ({"billing": [], "blocked": None}, []),
        ({"billing": None, "blocked": False}, []),
        ({"blocked": {"reason": 5}}, ["acme is blocked by the service"]),
    ],
)
def test_values_that_nobody_expects_change_nothing_but_what_is_said(tmp_path: Path, shown: dict[str, Any], says: list[str]) -> None:
    usual, org = Org(tmp_path / "usual"), Org(tmp_path / "org", way=_showing(shown))
    for each in (usual, org):
        each.root.mkdir(exist_ok=True)
        written(each, docs={"title": "Docs", "structure": ["blank"]})
    plan = org.plan()
    assert [note.partition(":")[0] for note in plan.notes] == says
    assert plan.steps == usual.plan().steps


def _showing(of_organizations: dict[str, Any]) -> Way:
    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        answer = await onward(request)
        if request.url.path != "/v1/orgs/org_acme":
            return answer
        await answer.aread()
        return httpx2.Response(200, json={**answer.json(), **of_organizations}, request=request)

    return way


def test_a_frozen_feature_without_a_name_is_said_without_one(tmp_path: Path) -> None:
    site = {"organization": "org_acme", "id": "site_docs", "title": "Docs", "features": [{**FROZEN, "id": None, "plan": None}]}
    org = Org(tmp_path, seed={**SEED, "sites": [site]})
    written(org, docs={"title": "Docs", "structure": ["blank"]})
    assert "acme/site/docs has a feature that is frozen: the service may refuse" in notes(org)


def test_without_such_things_nothing_is_said(tmp_path: Path) -> None:
    org = Org(tmp_path)
    written(org, docs={"title": "Docs", "structure": ["blank"]})
    assert org.plan().notes == ()


def test_a_plan_says_before_that_publishing_may_ask_for_a_payment(tmp_path: Path) -> None:
    org = Org(tmp_path)
    written(org, docs=PUBLISHED, more={**PUBLISHED, "title": "More"})
    (note,) = org.plan().notes
    assert note.startswith("acme/site/docs, acme/site/more: publish may be answered with a checkout: ")


def test_a_checkout_is_a_failed_step_that_says_what_to_do(tmp_path: Path) -> None:
    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        if request.url.path.endswith("/publish"):
            return httpx2.Response(200, json={"type": "checkout", "sessionId": "cs_1"}, request=request)
        return await onward(request)

    org = Org(tmp_path, way=way)
    written(org, docs=PUBLISHED)
    (failed,) = [result for result in org.apply().results if result.status is not StepStatus.DONE]
    assert (failed.step.verb, failed.status, failed.id) == ("publish", StepStatus.FAILED, "RC-payment-required")
    assert str(failed.error).startswith("answered with a checkout: ")


@pytest.mark.parametrize("status", [402, 403])
def test_a_refusal_is_explained_by_what_the_service_shows(tmp_path: Path, status: int) -> None:
    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        if request.method == "POST":
            return httpx2.Response(status, json={"error": {"code": status, "message": "no"}}, request=request)
        return await onward(request)

    org = limited(tmp_path, **BLOCKED)
    org.way = way
    written(org, docs={"title": "Docs", "structure": ["blank"]})
    failed = org.apply().results[0]
    assert '; acme is blocked by the service: "the invoice of May"' in str(failed.error)
    assert failed.id == {402: "RC-payment-required", 403: "RC-not-permitted"}[status]
