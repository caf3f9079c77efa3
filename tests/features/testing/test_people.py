"""Members and teams as readers of tests: they may do what the files say, and what no file says is never green by itself."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.command_line import Cli
from tests.features.testing.projects import mismatches, outcome

ORG: dict[str, Any] = {"organization": "org_acme"}
PROJECT: dict[str, Any] = {
    "version": 1,
    "project": "acme",
    "service": {"member": "ada@acme.example"},
    "organizations": {
        "acme": {
            "id": "org_acme",
            "members": {"ada@acme.example": "admin", "linus@acme.example": "edit", "gus@acme.example": "guest"},
            "teams": {
                "writers": {"id": "team_writers", "title": "Writers", "members": ["linus@acme.example"]},
                "everybody": {"title": "Everybody", "members": ["linus@acme.example", "gus@acme.example"]},
                "strangers": {"title": "Strangers", "members": ["eve@acme.example"]},
            },
            "content": [
                {"space": "open", "id": "spc_open", "title": "Open", "defaultLevel": "inherit"},
                {"space": "secret", "id": "spc_secret", "title": "Secret", "defaultLevel": "guest"},
            ],
        }
    },
}
GRANTED = {
    "spaces": [{**ORG, "id": "spc_secret", "title": "Secret", "defaultLevel": None, "grants": [{"member": "usr_gus", "role": "read"}]}]
}
UNKNOWN = "may do, so the test proves nothing; declare the role in members, or add it to the seed"


def project(cli: Cli, **top: Any) -> Cli:
    cli.write("reconciler.yaml", yaml.safe_dump({**PROJECT, **top}, sort_keys=False))
    return cli


def wrong(cli: Cli, reader: Any, **demands: Any) -> list[str]:
    """What one expectation about a reader does not meet."""
    test = {"name": "a reader", "expect": [{"as": reader, **demands}]}
    return [message for _, message, _, _ in mismatches(outcome(cli, yaml.safe_dump({"tests": [test]}), "--name", "a reader"))]


@pytest.mark.parametrize(
    ("reader", "sees", "must_not_see"),
    [
        ({"member": "linus@acme.example"}, ["open"], ["secret"]),
        ({"member": "gus@acme.example"}, [], ["open", "secret"]),
        ({"member": "ada@acme.example"}, ["open", "secret"], []),
        ({"team": "writers"}, ["open"], ["secret"]),
        ({"team": "everybody"}, [], ["secret"]),
    ],
)
def test_a_person_reads_by_role_and_a_team_what_its_declared_members_read(cli: Cli, reader: Any, sees: Any, must_not_see: Any) -> None:
    project(cli)
    demands = {"sees": [f"acme/space/{name}" for name in sees], "mustNotSee": [f"acme/space/{name}" for name in must_not_see]}
    demands = {word: addresses for word, addresses in demands.items() if addresses}
    assert wrong(cli, reader, **demands) == []
    swapped = {"sees": demands.get("mustNotSee"), "mustNotSee": demands.get("sees")}
    failed = wrong(cli, reader, **{word: addresses for word, addresses in swapped.items() if addresses})
    assert len(failed) == len(sees) + len(must_not_see)
    assert all(", by what the files say" in message for message in failed)


@pytest.mark.parametrize("word", ["sees", "mustNotSee"])
def test_what_only_a_part_of_a_team_reads_meets_neither_demand(cli: Cli, word: str) -> None:
    project(cli)
    (message,) = wrong(cli, {"team": "everybody"}, **{word: ["acme/space/open"]})
    assert "may be able to read acme/space/open" in message
    assert "not everybody in it can" in message


def test_what_somebody_was_given_one_by_one_is_in_the_seed_or_nowhere(cli: Cli) -> None:
    """`mustNotSee` is green where no file opens it, whatever the service says; the seed is a file."""
    project(cli)
    secret = ["acme/space/secret"]
    assert wrong(cli, {"member": "gus@acme.example"}, mustNotSee=secret) == []
    cli.write("sandbox.seed.yaml", yaml.safe_dump(GRANTED))
    assert wrong(cli, {"member": "gus@acme.example"}, sees=secret) == []
    (message,) = wrong(cli, {"member": "gus@acme.example"}, mustNotSee=secret)
    assert message.startswith("gus@acme.example can read acme/space/secret, and must not see it")


@pytest.mark.parametrize(
    ("reader", "who"), [({"member": "nobody@acme.example"}, "nobody@acme.example"), ({"team": "strangers"}, "eve@acme.example")]
)
def test_whoever_has_no_role_in_any_file_is_not_judged(cli: Cli, reader: Any, who: str) -> None:
    project(cli)
    assert wrong(cli, reader, mustNotSee=["acme/space/secret"]) == [f"no file says what {who} {UNKNOWN}"]


def access(cli: Cli, *tests: dict[str, Any]) -> tuple[bool, list[str], list[str]]:
    """Whether `access` of the project passes, what is wrong, and what is left to plan."""
    project(cli, access=list(tests))
    (test,) = outcome(cli, "tests: [{name: a, expect: [{plan: empty}]}]\n", "--name", "access")["tests"]
    return test["passed"], [item["message"] for item in test["mismatches"]], [item["message"] for item in test["left"]]


def test_access_of_a_project_leaves_to_plan_what_only_a_grant_could_decide(cli: Cli) -> None:
    """Before, its members were judged as anyone: `mustNotSee` was green for whoever could read by their role."""
    passed, wrong, left = access(cli, {"as": {"member": "linus@acme.example"}, "mustNotSee": ["acme/space/open"]})
    assert (passed, len(wrong), left) == (False, 1, [])
    seen = {"as": {"member": "linus@acme.example"}, "sees": ["acme/space/open"], "mustNotSee": ["acme/space/secret"]}
    assert access(cli, seen) == (True, [], [])
    passed, wrong, left = access(cli, {"as": {"member": "gus@acme.example"}, "sees": ["acme/space/secret"]})
    assert (passed, wrong) == (True, [])
    assert left == ["gus@acme.example cannot read acme/space/secret, and must see it, by what the files say"]
    assert "left to plan: gus@acme.example cannot read acme/space/secret" in cli("test", ".", "--name", "access", "--parallel", "1").stdout
    assert access(cli, {"as": {"team": "strangers"}, "mustNotSee": ["acme/space/open"]})[2] == [
        f"no file says what eve@acme.example {UNKNOWN}"
    ]
