"""A project of several organizations with the same people: the service knows a person by one id in all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.harness import ORGANIZATION, SEED, Org

BETA = "org_beta"
ADA, LINUS = "ada@acme.example", "linus@acme.example"


@pytest.fixture
def both(tmp_path: Path) -> Org:
    """Ada administrates both; Linus reads in acme, and may do everything in beta."""
    beta = [{**member, "organization": BETA, "role": "admin"} for member in SEED["members"]]
    organizations = [*SEED["organizations"], {"id": BETA, "title": "Beta"}]
    return Org(tmp_path, seed={**SEED, "organizations": organizations, "members": [*SEED["members"], *beta]})


def declare(org: Org, acme: dict[str, Any], beta: dict[str, Any], **top: Any) -> None:
    organizations = {"acme": {"id": ORGANIZATION, **acme}, "beta": {"id": BETA, **beta}}
    org.write(yaml.safe_dump({"version": 1, "project": "test", **top, "organizations": organizations}, sort_keys=False))


def roles(org: Org, organization: str) -> dict[str, str]:
    return {entry["user"]["email"]: entry["role"] for entry in org.items(f"/orgs/{organization}/members")}


def test_each_organization_gives_its_own_role_to_the_same_person(both: Org) -> None:
    declare(both, {"members": {LINUS: "edit"}}, {"members": {LINUS: "review"}})
    assert sorted(str(result.step.address) for result in both.apply().results) == [f"acme/member/{LINUS}", f"beta/member/{LINUS}"]
    assert roles(both, ORGANIZATION) == {ADA: "admin", LINUS: "edit"}
    assert roles(both, BETA) == {ADA: "admin", LINUS: "review"}
    assert both.plan().empty


def test_a_role_that_changed_in_one_organization_is_unchanged_in_the_other(both: Org) -> None:
    declare(both, {"members": {LINUS: "read"}}, {"members": {LINUS: "admin"}})
    both.apply()
    both.call("PATCH", f"/orgs/{BETA}/members/usr_linus", {"role": "read"})
    assert [str(step.address) for step in both.plan().steps] == [f"beta/member/{LINUS}"]


def test_who_left_one_organization_is_not_found_in_the_other(both: Org) -> None:
    declare(both, {"members": {LINUS: "read"}}, {"members": {LINUS: "admin"}})
    both.apply()
    both.call("DELETE", f"/orgs/{BETA}/members/usr_linus")
    plan = both.plan()
    assert plan.steps == ()
    assert [str(blocked.address) for blocked in plan.blocked] == [f"beta/member/{LINUS}"]


def test_prune_takes_a_person_out_of_one_organization_alone(both: Org) -> None:
    declare(both, {"members": {ADA: "admin"}}, {"members": {ADA: "admin", LINUS: "admin"}}, prune={"member": "all"}, protect=[])
    (result,) = both.apply().results
    assert (result.step.verb, result.step.path[1:]) == ("delete", (ORGANIZATION, "members", "usr_linus"))
    assert (set(roles(both, ORGANIZATION)), set(roles(both, BETA))) == ({ADA}, {ADA, LINUS})
    assert both.plan().empty


def test_reviewers_are_sent_as_the_service_knows_them(both: Org) -> None:
    declare(both, {"mergeRules": {"reviewers": [LINUS]}}, {"mergeRules": {"reviewers": [ADA]}})
    both.apply()
    rules = [both.call("GET", f"/orgs/{entry}")["mergeRules"]["rules"][0]["users"] for entry in (ORGANIZATION, BETA)]
    assert rules == [["usr_linus"], ["usr_ada"]]
    assert both.plan().empty


def test_an_id_of_a_member_is_written_as_the_service_knows_it(both: Org) -> None:
    declare(both, {"members": {LINUS: {"role": "edit", "id": "usr_linus"}}}, {"members": {LINUS: {"role": "admin", "id": "usr_linus"}}})
    assert [str(result.step.address) for result in both.apply().results] == [f"acme/member/{LINUS}"]
    assert both.plan().empty


def test_an_admin_elsewhere_does_not_count_for_the_last_one_of_an_organization(both: Org) -> None:
    declare(both, {"members": {ADA: "read"}}, {"members": {ADA: "admin", LINUS: "read"}})
    plan = both.plan()
    assert [(str(blocked.address), "in acme;" in blocked.reason) for blocked in plan.blocked] == [(f"acme/member/{ADA}", True)]
    assert [str(step.address) for step in plan.steps] == [f"beta/member/{LINUS}"]
