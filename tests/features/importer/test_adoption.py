"""Adoption: a lost state is found again, several candidates are listed, and what another project has stays with it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Cli
from tests.contains import assert_contains
from tests.harness import ORGANIZATION, Org
from tests.proofs import costly
from tests.small import applied, small

ACME = Path(__file__).parents[3] / "examples" / "acme"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture
def org(tmp_path: Path) -> Org:
    return Org(tmp_path)


def summary(plan: dict[str, Any]) -> dict[str, int]:
    return {name: number for name, number in plan["summary"].items() if number}


@costly
def test_a_lost_state_can_be_recovered(cli: Cli) -> None:
    shutil.copytree(ACME, cli.root / "acme")
    assert cli("apply", "acme", "--sandbox", "s.db", "--yes").exit_code == 0
    for file in (cli.root / "acme" / ".reconciler").glob("state.db*"):
        file.unlink()
    plan = cli.json("plan", "acme", "--sandbox", "s.db")
    assert {action for change in plan["changes"] for action in change["actions"]} == {"adopt"}
    assert plan["steps"] == []
    assert cli("apply", "acme", "--sandbox", "s.db", "--yes").exit_code == 0
    cli("plan", "acme", "--sandbox", "s.db", "--detailed-exitcode", code=0)


def test_several_candidates_are_listed_and_one_is_chosen_by_id(org: Org) -> None:
    one, two = (org.call("PUT", f"/orgs/{ORGANIZATION}/teams", {"title": "Writers"})["id"] for _ in range(2))
    org.write({"teams": {"writers": {"title": "Writers"}}})
    (blocked,) = org.plan().blocked
    assert_contains(
        blocked.reason,
        "2 objects match",
        one,
        two,
    )
    assert blocked.remedy == "choose one: reconciler adopt acme/team/writers ID"
    org.write({"teams": {"writers": {"title": "Writers", "id": two}}})
    assert org.apply().leftover == ()
    assert org.id("acme/team/writers") == two


class TestAnotherProjectInTheSameDatabase:
    """Its objects are not adopted, not pruned, and not called unmanaged."""

    @pytest.fixture
    def other(self, org: Org) -> Org:
        applied(org, small())
        org.write({"teams": {"writers": {"title": "Writers"}}})
        text = (org.project / "reconciler.yaml").read_text()
        (org.project / "reconciler.yaml").write_text(text.replace("project: test", "project: other"))
        org.scope_project = "other"
        return org

    def test_its_object_is_refused_by_natural_key(self, other: Org) -> None:
        (blocked,) = other.plan().blocked
        assert str(blocked.address) == "acme/team/writers"
        assert "is tracked under the project name 'test'" in blocked.reason
        assert "state mv --project test" in blocked.remedy

    def test_its_object_is_refused_by_id(self, other: Org) -> None:
        team = other.items(f"/orgs/{ORGANIZATION}/teams")[0]["id"]
        other.write({"teams": {"mine": {"title": "Mine", "id": team}}}, project="other")
        (blocked,) = other.plan().blocked
        assert str(blocked.address) == "acme/team/mine"
        assert "is tracked under the project name 'test'" in blocked.reason

    def test_its_objects_are_neither_unmanaged_nor_pruned(self, other: Org) -> None:
        other.write({"teams": {}, "members": {}}, project="other", prune={"team": "all", "member": "all"})
        plan = other.plan()
        assert [change for change in plan.changes if "delete" in change.actions] == []
        assert plan.unmanaged == ()

    def test_another_one_is_made_where_the_yaml_says_so(self, other: Org) -> None:
        other.write({"teams": {"writers": {"title": "Writers", "adopt": "never"}}}, project="other")
        assert other.apply().leftover == ()
        assert len(other.items(f"/orgs/{ORGANIZATION}/teams")) == 2

    def test_its_address_with_another_title_waits_until_the_yaml_says_it_is_another_team(self, other: Org) -> None:
        team = {"title": "Writers of the other project"}
        other.write({"teams": {"writers": team}}, project="other")
        (blocked,) = other.plan().blocked
        assert "tracked under the project name 'test'" in blocked.reason
        assert "adopt: never" in blocked.remedy
        other.write({"teams": {"writers": {**team, "adopt": "never"}}}, project="other")
        assert other.apply().leftover == ()
        other.write({"teams": {"writers": team}}, project="other")
        assert (other.plan().blocked, other.plan().steps) == ((), ())  # the line has had its effect

    def test_its_address_in_another_organization_is_free(self, other: Org) -> None:
        other.write({"id": "org_beta", "teams": {"writers": {"title": "Writers"}}}, project="other", service={})
        assert [blocked.reason for blocked in other.plan().blocked if "project name" in blocked.reason] == []

    def test_its_members_may_be_referenced(self, other: Org) -> None:
        other.write({"mergeRules": {"reviewers": ["linus@acme.example"]}}, project="other")
        assert other.plan().blocked == ()
