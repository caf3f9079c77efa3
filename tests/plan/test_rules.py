"""A looser rule of the project is an exposure; the state remembers the rules of the last run that went through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.model import Exposure
from reconciler.report.layout import plain
from tests.cli.conftest import Cli
from tests.harness import Org
from tests.report.made import plan_text
from tests.small import applied, small

TIGHT: dict[str, Any] = {
    "guards": {"maxDelete": {"percent": 12.5, "atLeast": 3}, "minAdmins": 2, "maxExposed": 5},
    "prune": {"team": "none", "openapi": "owned"},
    "protect": ["site", "space"],
}
MEMBERS = {"ada@acme.example": "admin", "linus@acme.example": {"role": "admin"}}


def tree() -> dict[str, Any]:
    return {**small(), "members": MEMBERS}


def told(exposures: tuple[Exposure, ...]) -> list[str]:
    return [f"{entry.address} {entry.field} {entry.before} -> {entry.after}" for entry in exposures if entry.kind == "project"]


@pytest.fixture(scope="module")
def tight(tmp_path_factory: pytest.TempPathFactory) -> Org:
    """Applied once under tight rules; the tests only plan."""
    org = Org(tmp_path_factory.mktemp("tight"))
    applied(org, tree(), **TIGHT)
    return org


def with_(**changes: Any) -> dict[str, Any]:
    return {**TIGHT, **changes}


LOOSER: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "percent",
        with_(guards={"maxDelete": {"percent": 50, "atLeast": 3}, "minAdmins": 2, "maxExposed": 5}),
        "guards maxDelete.percent 12.5 -> 50",
        "percent",
    ),
    (
        "at least",
        with_(guards={"maxDelete": {"percent": 10, "atLeast": 9}, "minAdmins": 2, "maxExposed": 5}),
        "guards maxDelete.atLeast 3 -> 9",
        "atLeast",
    ),
    ("admins", with_(guards={"maxDelete": {"percent": 10, "atLeast": 3}, "maxExposed": 5}), "guards minAdmins 2 -> 1", "guards"),
    (
        "exposed",
        with_(guards={"maxDelete": {"percent": 10, "atLeast": 3}, "minAdmins": 2, "maxExposed": 6}),
        "guards maxExposed 5 -> 6",
        "maxExposed",
    ),
    (
        "exposed, no limit",
        with_(guards={"maxDelete": {"percent": 10, "atLeast": 3}, "minAdmins": 2}),
        "guards maxExposed 5 -> _Unset.UNSET",
        "guards",
    ),
    ("owned", with_(prune={"team": "owned", "openapi": "owned"}), "prune team none -> owned", "team"),
    ("a line less", with_(prune={"openapi": "none"}), "prune team none -> owned", "prune"),
    ("all", with_(prune={"team": "none", "openapi": "all"}), "prune openapi owned -> all", "openapi"),
    ("protect", with_(protect=["site"]), "protect space True -> False", "protect"),
]


@pytest.mark.parametrize(("rules", "line", "rule"), [row[1:] for row in LOOSER], ids=[row[0] for row in LOOSER])
def test_each_looser_rule_is_an_exposure_at_its_line(tight: Org, rules: dict[str, Any], line: str, rule: str) -> None:
    tight.write(tree(), **rules)
    plan = tight.plan()
    exposures = [exposure for exposure in plan.exposures if exposure.kind == "project"]
    assert told(plan.exposures) == [line]
    assert (plan.steps, plan.empty, plan.pending) == ((), False, True)
    assert exposures[0].source is not None
    text = (tight.project / "reconciler.yaml").read_text().splitlines()[exposures[0].source.line - 1]
    assert text.strip().startswith(f"{rule}:")
    assert "! exposure" in plain(plan_text(plan))


def test_a_rule_without_a_line_has_the_first_line(tight: Org) -> None:
    tight.write(tree(), **{name: value for name, value in TIGHT.items() if name != "prune"})
    (exposures,) = tight.plan().exposures
    assert (exposures.source.file, exposures.source.line) == ("reconciler.yaml", 1)  # type: ignore[union-attr]


TIGHTER = [
    with_(guards={"maxDelete": {"percent": 0, "atLeast": 0}, "minAdmins": 2, "maxExposed": 0}),
    with_(prune={"team": "none", "openapi": "none"}),
    with_(protect=["site", "space", "collection"]),
    TIGHT,
]


@pytest.mark.parametrize("rules", TIGHTER)
def test_a_tighter_rule_is_silent(tight: Org, rules: dict[str, Any]) -> None:
    tight.write(tree(), **rules)
    assert tight.plan().exposures == ()


def test_a_first_apply_and_a_state_of_before_have_nothing_to_compare(tmp_path: Path) -> None:
    org = Org(tmp_path)
    org.write(tree(), **TIGHT)
    assert told(org.plan().exposures) == []
    applied(org, tree(), **TIGHT)
    (tmp_path / "state.db").unlink()
    org.write(tree(), **with_(prune={"team": "all"}))
    plan = org.plan()
    assert told(plan.exposures) == []
    assert plan.state_update.rules is not None


def test_a_run_that_did_not_go_through_remembers_no_rules(tmp_path: Path) -> None:
    org = Org(tmp_path)
    applied(org, tree(), **TIGHT)
    loose = with_(prune={"team": "all"})
    org.write({**tree(), "teams": {**tree()["teams"], "more": {"title": "More"}}}, **loose)
    org.call("PATCH", "/orgs/org_acme/members/usr_ada", {"role": "read"})  # who may not make teams
    assert any(result.error for result in org.apply().results)
    assert told(org.plan().exposures) == ["prune team none -> all"]


# -- on the command line ------------------------------------------------------------------------------------------------------------


def write(cli: Cli, **top: Any) -> None:
    document = {
        "version": 1,
        "project": "rules",
        "service": {"member": "ada@acme.example", "sandbox": ".reconciler/sandbox.db"},
        **top,
        "organizations": {"acme": {"id": "org_acme", "teams": {"writers": {"title": "Writers"}}}},
    }
    cli.write("p/reconciler.yaml", yaml.safe_dump(document, sort_keys=False))


@pytest.fixture
def project(tmp_path: Path) -> Cli:
    cli = Cli(tmp_path)
    write(cli)
    assert cli("apply", "p", "--yes").exit_code == 0
    return cli


def test_a_looser_rule_alone_is_a_plan_that_is_agreed_to_and_remembered(project: Cli) -> None:
    write(project, prune={"team": "all"})
    plan = project("plan", "p", "--detailed-exitcode")
    assert plan.exit_code == 2
    assert "! exposure    team owned -> all: unmanaged objects are deleted too" in plan.stdout
    assert plan.stdout.endswith("Plan: a looser rule to record; 1 exposure. 0 requests.\nApply it with: reconciler apply p\n")
    assert project("plan", "p").exit_code == 0
    refused = project("apply", "p", "--yes")
    assert (refused.exit_code, "if this is intended: --allow-exposure prune" in refused.stderr) == (4, True)
    assert project("plan", "p", "--detailed-exitcode").exit_code == 2
    done = project("apply", "p", "--yes", "--allow-exposure", "prune")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.endswith("Applied without any requests. The plan is now empty.\n")
    assert project("plan", "p", "--detailed-exitcode").exit_code == 0


def test_a_tighter_rule_alone_is_an_empty_plan_and_remembered_all_the_same(project: Cli) -> None:
    write(project, guards={"minAdmins": 3})
    assert project("plan", "p", "--detailed-exitcode").exit_code == 0
    assert project("apply", "p", "--yes").exit_code == 0
    write(project)
    assert "minAdmins 3 -> 1" in project("plan", "p").stdout


def test_a_looser_rule_is_shown_again_until_it_was_applied_and_undo_is_not_about_it(project: Cli) -> None:
    write(project, guards={"maxDelete": {"atLeast": 30}})
    undone = project("undo", "last", "p", "--yes")
    assert undone.exit_code == 0, undone.stderr
    assert "exposure" not in undone.stdout
    assert "maxDelete.atLeast 3 -> 30" in project("plan", "p").stdout
