"""The commands that read, write and name people, where two organizations have the same ones."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Cli

PROJECT = """\
version: 1
project: two
service:
  sandbox: s.db
  member: ada@acme.example
organizations:
  acme:
    id: org_acme
    mergeRules: {reviewers: [linus@acme.example]}
    members: {ada@acme.example: admin, linus@acme.example: edit}
  beta:
    id: org_beta
    mergeRules: {reviewers: [ada@acme.example]}
    members: {ada@acme.example: admin, linus@acme.example: review}
"""
LINUS_REVIEWS = '{"mergeRules": {"type": "rules", "rules": [{"rule": "require_specific_reviewers", "users": ["usr_linus"]}]}}'


@pytest.fixture
def two(cli: Cli) -> Cli:
    """Both applied to a sandbox, in which a person has one id."""
    cli.write("reconciler.yaml", PROJECT)
    assert cli("apply", "--yes", "--allow-exposure", "**").exit_code == 0
    return cli


def test_the_state_calls_people_as_the_service_does(two: Cli) -> None:
    people = [one for one in two.json("state", "list")["bindings"] if one["kind"] == "member"]
    assert [(one["address"].split("/")[0], one["id"]) for one in people] == [
        ("acme", "usr_ada"), ("acme", "usr_linus"), ("beta", "usr_ada"), ("beta", "usr_linus"),
    ]  # fmt: skip


def test_reviewers_are_taken_over_by_their_address_in_the_same_organization(two: Cli) -> None:
    two.write("body.json", LINUS_REVIEWS)
    assert two("api", "PATCH", "/orgs/org_beta", "--input", "body.json").exit_code == 0
    assert "beta/member/linus@acme.example" in two("drift").stdout
    assert two("drift", "--accept", "beta", "--allow-exposure", "beta").exit_code == 0
    assert two.root.joinpath("reconciler.yaml").read_text() == PROJECT.replace("[ada@acme.example]", "[linus@acme.example]")


def test_one_of_the_two_is_imported_by_itself(two: Cli) -> None:
    assert two("import", "new", "--org", "org_beta", "--sandbox", "s.db").stdout == "Wrote 1 file to new and tracked 3 objects.\n"
    written = two.root.joinpath("new", "reconciler.yaml").read_text()
    assert "mergeRules: {reviewers: [ada@acme.example]}" in written
    assert "linus@acme.example: review" in written
    assert two("plan", "new", "--detailed-exitcode").exit_code == 0


def test_a_person_is_adopted_by_the_services_id(two: Cli) -> None:
    linus = "beta/member/linus@acme.example"
    assert two("state", "forget", linus).exit_code == 0
    assert two("adopt", linus, "usr_linus").stdout == f"{linus} now tracks usr_linus.\n"
    assert two("adopt", linus, "usr_ada").stderr.splitlines()[0] == f"error: {linus} already tracks usr_linus [RC-already-tracked]"
    assert two("plan", "--detailed-exitcode").exit_code == 0


def test_a_run_is_undone_in_each_organization(two: Cli) -> None:
    assert two("undo", "last", "--yes", "--allow-exposure", "**").exit_code == 0
    roles = {
        organization: two("api", "GET", f"/orgs/{organization}/members/usr_linus", "--jq", ".role").stdout.strip()
        for organization in ("org_acme", "org_beta")
    }
    assert roles == {"org_acme": "read", "org_beta": "read"}
