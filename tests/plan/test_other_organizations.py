"""Nothing is created, changed or moved that belongs to another organization than the one declared.

A project of several organizations with the same people: the service knows a person by one id in all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.model import Plan
from tests.harness import ORGANIZATION, SEED, Org
from tests.meddling import Meddled
from tests.small import applied, node, small

BETA = "org_beta"
THEIRS = "spc_theirs"


@pytest.fixture
def org(tmp_path: Path) -> Org:
    """A second organization, which ada administrates too: the token may write there."""
    seed = {
        **SEED,
        "organizations": [*SEED["organizations"], {"id": BETA, "title": "Beta"}],
        "members": [
            *SEED["members"],
            {**SEED["members"][0], "organization": BETA},
            {"organization": BETA, "id": "usr_bea", "email": "bea@beta.example", "displayName": "Bea", "role": "admin"},
        ],
        "spaces": [*SEED["spaces"], {"organization": BETA, "id": THEIRS, "title": "Theirs", "parent": None}],
        "teams": [{"organization": BETA, "id": "team_theirs", "title": "Theirs"}],
        "sites": [{"organization": BETA, "id": "site_theirs", "title": "Theirs"}],
    }
    return Org(tmp_path, seed=seed)


@pytest.fixture
def acme(org: Org) -> Org:
    applied(org, small())
    return org


def reasons(plan: Plan) -> dict[str, str]:
    return {str(blocked.address): blocked.reason for blocked in plan.blocked}


def beta(org: Org) -> Any:
    """Everything of the other organization."""
    spaces = org.items(f"/orgs/{BETA}/members/usr_ada/spaces")
    return spaces, *(org.items(f"/orgs/{BETA}/{name}") for name in ("collections", "teams", "sites", "members"))


def check(org: Org, tree: dict[str, Any], address: str, reason: str) -> None:
    """The plan blocks the address and says why, and applying the rest leaves the other organization as it is."""
    before = beta(org)
    org.write(tree)
    assert reason in reasons(org.plan())[address]
    org.apply()
    assert beta(org) == before
    assert reason in reasons(org.plan())[address]


def test_a_copy_of_another_organizations_space_is_never_made(acme: Org) -> None:
    tree = small()
    tree["content"].append({"space": "new", "title": "New", "duplicateOf": {"id": THEIRS}})
    check(acme, tree, "acme/space/new", f"duplicateOf names space {THEIRS}, which is not in acme")
    assert not [path for method, path in acme.requests if method == "POST" and path == f"/spaces/{THEIRS}/duplicate"]


def test_a_default_that_names_another_organizations_space_blocks_every_new_space_by_one_reading(acme: Org) -> None:
    tree = small()
    node(tree, "product")["content"] += [{"space": "new", "title": "New"}, {"space": "newer", "title": "Newer"}]
    acme.write(tree, defaults={"space": {"duplicateOf": {"id": THEIRS}}})
    acme.requests.clear()
    assert {"acme/space/new", "acme/space/newer"} <= set(reasons(acme.plan()))
    assert acme.requests.count(("GET", f"/spaces/{THEIRS}")) == 1


def test_a_space_of_another_organization_is_shown_in_no_site(acme: Org) -> None:
    tree = small()
    node(tree, "guides")["spaces"].append({"key": "far", "space": {"id": THEIRS}})
    check(acme, tree, "acme/site/docs/site-space/far", f"space names space {THEIRS}, which is not in acme")


def test_no_section_is_made_that_shows_one(acme: Org) -> None:
    tree = small()
    tree["sites"]["docs"]["structure"].append({"section": "far", "title": "Far", "spaces": [{"key": "far-one", "space": {"id": THEIRS}}]})
    check(acme, tree, "acme/site/docs/section/far", f"spaceId names space {THEIRS}, which is not in acme")


def test_a_team_of_another_organization_is_not_the_default(acme: Org) -> None:
    tree = small()
    tree["saml"]["okta"] |= {"defaultTeam": {"id": "team_theirs"}, "label": "Okta 2"}
    check(acme, tree, "acme/saml/okta", "defaultTeam names team team_theirs, which is not in acme")
    (provider,) = acme.items(f"/orgs/{ORGANIZATION}/saml")
    assert provider["label"] == "Okta 2"  # what is not wrong is done


def test_a_site_of_another_organization_is_not_where_members_land(acme: Org) -> None:
    check(
        acme,
        {**small(), "defaultContent": {"site": {"id": "site_theirs"}}},
        "acme",
        "defaultContent names site site_theirs, which is not in acme",
    )


def test_nobody_of_another_organization_reviews(acme: Org) -> None:
    tree = {**small(), "mergeRules": {"reviewers": [{"id": "usr_bea"}, "ada@acme.example"]}}
    check(acme, tree, "acme", "mergeRules names member usr_bea, which is not in acme")


def test_an_id_of_another_organizations_object_is_refused(org: Org) -> None:
    tree = {"content": [{"space": "blank", "id": "spc_blank", "title": "Blank"}, {"space": "far", "id": THEIRS, "title": "Mine now"}]}
    check(org, tree, "acme/space/far", f"no space has the id {THEIRS} in acme")


def test_what_cannot_be_read_is_not_known_to_be_ours(acme: Org) -> None:
    tree = small()
    tree["content"].append({"space": "new", "title": "New", "duplicateOf": {"id": THEIRS}})
    acme.write(tree)
    assert "it is unknown whether that is in acme" in reasons(acme.plan(failing=(THEIRS,)))["acme/space/new"]


def test_a_reference_by_id_to_what_is_ours_is_sent(acme: Org) -> None:
    outside = acme.call("POST", "/spaces/spc_blank/duplicate")["id"]
    tree = small()
    node(tree, "product")["content"].append({"space": "new", "title": "New", "duplicateOf": {"id": outside}})
    node(tree, "guides")["spaces"].append({"key": "beside", "space": {"id": outside}})
    acme.write(tree)
    assert acme.plan().blocked == ()
    acme.apply()
    assert acme.plan().empty


def test_where_nothing_is_pending_no_reference_is_looked_at(acme: Org) -> None:
    outside = acme.call("POST", "/spaces/spc_blank/duplicate")["id"]
    tree = small()
    node(tree, "product")["content"].append({"space": "new", "title": "New", "duplicateOf": {"id": outside}})
    acme.write(tree)
    acme.apply()
    acme.requests.clear()
    assert acme.plan().empty
    assert ("GET", f"/spaces/{outside}") not in acme.requests


def test_a_tracked_space_that_was_transferred_is_left_alone_and_the_plan_says_where_it_is(acme: Org) -> None:
    two = next(binding.id for at, binding in acme.remembered().bindings.items() if str(at) == "acme/space/two")
    acme.call("POST", f"/spaces/{two}/transfer", {"organization": BETA})
    tree = small()
    node(tree, "two")["title"] = "Changed"
    check(acme, tree, "acme/space/two", f"{two} belongs to another organization now ({BETA})")
    assert acme.call("GET", f"/spaces/{two}")["title"] == "Two"


def test_a_tracked_space_that_was_transferred_is_not_deleted_when_its_line_goes(acme: Org) -> None:
    tree = small()
    tree["content"].append({"space": "spare", "title": "Spare"})
    acme.write(tree)
    acme.apply()
    spare = next(binding.id for at, binding in acme.remembered().bindings.items() if str(at) == "acme/space/spare")
    acme.call("POST", f"/spaces/{spare}/transfer", {"organization": BETA})
    acme.write(small())
    assert [step for step in acme.plan().steps if step.target == spare] == []
    acme.apply()
    assert "deletedAt" not in acme.call("GET", f"/spaces/{spare}")


def test_what_was_transferred_within_a_project_of_both_is_not_written_under_its_old_address(acme: Org) -> None:
    two = next(binding.id for at, binding in acme.remembered().bindings.items() if str(at) == "acme/space/two")
    acme.call("POST", f"/spaces/{two}/transfer", {"organization": BETA})
    tree = small()
    node(tree, "two")["title"] = "Changed"
    acme.write(tree)
    text = (acme.project / "reconciler.yaml").read_text(encoding="utf-8")
    beta = f"  beta:\n    id: {BETA}\n    content:\n    - {{space: two, id: {two}, title: Two}}\n"
    (acme.project / "reconciler.yaml").write_text(text + beta, encoding="utf-8")
    plan = acme.plan()
    assert f"{two} belongs to another organization now ({BETA})" in reasons(plan)["acme/space/two"]
    assert "which is tracked as acme/space/two" in reasons(plan)["beta/space/two"]  # until it is let go of there
    assert [step for step in plan.steps if step.target == two] == []


def test_a_copy_that_lands_in_another_organization_is_a_failure_that_says_where_it_is(tmp_path: Path) -> None:
    org = Meddled(tmp_path)
    applied(org, small())
    tree = small()
    tree["content"].append({"space": "new", "title": "New"})
    org.write(tree)
    org.answered = {"space": {"organization": BETA}}
    (error,) = [result.error for result in org.apply().results if result.step.verb == "create"]
    assert error is not None
    assert f"was created in organization {BETA} instead of {ORGANIZATION}" in error
    assert "acme/space/new" not in {str(address) for address in org.remembered().bindings}


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
