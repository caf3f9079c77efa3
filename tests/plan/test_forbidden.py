"""The plan says before the first request what the token is not allowed, by the permissions that the service shows."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from reconciler.report.layout import plain
from reconciler.report.text import plan_text
from tests.harness import SEED, Org
from tests.small import applied, node, small

LINUS = "token-of-linus"


@pytest.fixture(scope="module")
def living(tmp_path_factory: pytest.TempPathFactory) -> Org:
    """Applied by an admin; planned here by somebody who may edit."""
    seed = copy.deepcopy(SEED)
    seed["tokens"].append({"token": LINUS, "member": "usr_linus", "access": "write"})
    org = Org(tmp_path_factory.mktemp("living"), seed=seed)
    applied(org, small())
    return org


def test_each_request_that_the_flags_forbid_is_named_with_the_flag(living: Org) -> None:
    tree = small() | {"inviteLinks": False}
    tree["teams"]["writers"]["title"] = "Authors"
    tree["teams"]["new"] = {"title": "New"}
    tree["sites"]["docs"]["title"] = "Handbook"
    node(tree, "product")["title"] = "Products"
    node(tree, "one")["title"] = "The one"
    tree["openapi"]["more"] = {"source": {"url": "https://more.example/openapi.json"}}
    living.write(tree)
    plan = living.plan(token=LINUS)
    assert {f"{request.address} {request.verb}: {request.flag} of {request.of}" for request in plan.forbidden} == {
        "acme update: admin of acme",
        "acme/team/writers update: admin of acme/team/writers",
        "acme/team/new create: admin of acme",
        "acme/site/docs update: createContent of acme",
        "acme/collection/product update: create of acme/collection/product",
        "acme/openapi/more create: createOpenAPISpec of acme",
    }  # a space may be edited by whoever has the role edit: the service shows no flag that would say more
    assert "! forbidden" in plain(plan_text(plan))


def test_a_token_with_all_permissions_gets_no_finding(living: Org) -> None:
    tree = small() | {"inviteLinks": False}
    tree["sites"]["docs"]["title"] = "Handbook"
    living.write(tree)
    plan = living.plan()
    assert plan.steps
    assert plan.forbidden == ()


def test_a_plan_that_sends_nothing_is_not_warned_about(tmp_path: Path, living: Org) -> None:
    living.write(small())
    assert living.plan(token=LINUS).forbidden == ()
