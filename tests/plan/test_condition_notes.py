"""Conditions that may hide nothing, in plans: what is written is said, what goes is an exposure, and what stays is silent."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from reconciler.report.layout import plain
from tests.harness import SEED, Org
from tests.report.made import plan_text
from tests.small import applied, node, small

Tree = dict[str, Any]
HIDDEN = "acme/site/docs/section/hidden"
SCHEMA = {
    "type": "object",
    "properties": {"partner": {"type": "boolean"}, "plan": {"type": "string", "enum": ["free", "pro"]}},
    "additionalProperties": False,
}


def tree(condition: str | None = "visitor.claims.partner", **fields: Any) -> Tree:
    """A public site with a section that everybody sees and one that a condition hides."""
    return {
        "members": {"ada@acme.example": "admin"},
        "content": [
            {"space": "blank", "id": "spc_blank", "title": "Blank"},
            {"space": "secret", "title": "Secret", "duplicateOf": "blank"},
        ],
        "sites": {
            "docs": {
                "title": "Docs",
                "visibility": "public",
                "published": True,
                "adaptiveContent": {"enabled": True},
                "structure": [
                    {"section": "open", "title": "Open", "default": True, "spaces": ["blank"]},
                    {"section": "hidden", "title": "Hidden", "condition": condition, "spaces": ["secret"]},
                ],
                **fields,
            }
        },
    }


@pytest.fixture
def org(tmp_path: Path) -> Org:
    return Org(tmp_path)


def lines(org: Org, condition: str | None) -> tuple[list[str], list[str]]:
    """The exposures and the notes of a plan with another condition."""
    org.write(tree(condition))
    plan = org.plan()
    return [f"{exposure.address} {', '.join(exposure.readers)}" for exposure in plan.exposures], [*plan.notes]


def test_a_condition_without_meaning_is_said_when_it_is_written_and_its_removal_is_an_exposure(org: Org) -> None:
    applied(org, tree())
    exposures, notes = lines(org, "vistor.claims.partner")
    assert exposures == [f"{HIDDEN} anyone"]
    assert any(note.startswith(f"{HIDDEN}: condition cannot be understood (vistor is not known") for note in notes)
    org.apply()
    exposures, notes = lines(org, "vistor.claims.partner")
    assert (exposures, notes) == ([], []), "it stays as it was"
    exposures, _ = lines(org, None)
    assert exposures == [f"{HIDDEN} anyone"], "the service hid it from everybody"
    exposures, _ = lines(org, "visitor.claims.partner ==")
    assert exposures == [f"{HIDDEN} anyone"], "another one may hide less"
    exposures, _ = lines(org, "visitor.claims.partner")
    assert exposures == [f"{HIDDEN} anyone for whom visitor.claims.partner holds"]


def test_a_signed_part_of_a_condition_keeps_people_out_until_it_goes(org: Org) -> None:
    applied(org, tree("visitor.claims.partner && visitor.claims.unsigned.beta"))
    exposures, _ = lines(org, None)
    assert exposures == [f"{HIDDEN} anyone"]


def test_a_claim_that_the_schema_on_the_service_lacks_is_a_note_where_the_schema_is_not_managed(org: Org) -> None:
    applied(org, tree())
    site = org.id("acme/site/docs")
    org.call("PUT", f"/orgs/org_acme/sites/{site}/adaptive-schema", {"jsonSchema": SCHEMA})
    _, notes = lines(org, "!visitor.claims.partnr")
    assert notes == [
        f'{HIDDEN}: condition may hide nothing: the schema of claims has no visitor.claims.partnr; did you mean "partner"?'
        " (acme/site/docs, not managed)"
    ]
    _, notes = lines(org, 'visitor.claims.plan != "prro"')
    assert len(notes) == 1
    assert '"prro"' in notes[0]
    assert lines(org, 'visitor.claims.plan == "pro"')[1] == []
    assert lines(org, "visitor.claims.partner") == ([], [])


def test_without_a_schema_on_the_service_nothing_is_said(org: Org) -> None:
    applied(org, tree())
    assert lines(org, "visitor.claims.anything")[1] == []


def test_a_schema_that_cannot_be_read_prevents_nothing(org: Org) -> None:
    applied(org, tree())
    org.write(tree("!visitor.claims.partnr"))
    plan = org.plan(failing=("adaptive-schema",))
    assert [step.verb for step in plan.steps] == ["update"]
    assert [note for note in plan.notes if note.startswith(f"{HIDDEN}: its claims could not be checked: ")] == list(plan.notes) != []
    assert plan.unknown == ()


# -- requests that the token may not send ------------------------------------------------------------------------------------------


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
