"""What was edited outside can be kept: the YAML says it afterwards, and nothing else in it has changed."""

from __future__ import annotations

import difflib

import pytest

from reconciler.errors import UsageError
from reconciler.features.drift.accept import Acceptance, chosen
from reconciler.features.importer.matched import MatchedProject
from reconciler.kinds import load as kinds
from reconciler.plan.matching.match import identify
from reconciler.plan.planner import plan
from reconciler.yamltext.tree import parse
from tests.features.drift.outside import drifted, observed
from tests.harness import Org
from tests.outside import CASES, Case, edit, everything
from tests.proofs import costly, proof
from tests.small import applied


@pytest.fixture
def full(org: Org) -> Org:
    """A sandbox to which a project with every field was applied, and comments in its YAML."""
    applied(org, everything())
    path = org.project / "reconciler.yaml"
    lines = [f"{line}  # {number}" if line and number % 3 == 0 else line for number, line in enumerate(path.read_text().splitlines())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return org


def accept(org: Org, *words: str) -> None:
    """Write living values into the YAML."""
    desired = org.load().desired
    state, actual = observed(org)
    ids = identify(kinds(), desired, state, actual).ids
    made = plan(kinds(), desired, state, actual)
    before = {path.name: path.read_text("utf-8") for path in org.project.glob("*.yaml")}
    texts = Acceptance(MatchedProject(kinds(), desired, state, actual, ids), before)
    for file, text in texts.edited(chosen(drifted(org), words, desired.generated, kinds()), made.moved_outside).items():
        (org.project / file).write_text(text, encoding="utf-8")


@costly
def test_accepted_values_are_in_the_yaml_at_their_lines_and_the_plan_is_empty(full: Org) -> None:
    cases = [case for case in CASES if case.shown is None and case.accepts]
    path = full.project / "reconciler.yaml"
    before = path.read_text("utf-8").splitlines()
    for case in cases:
        edit(full, case)
    accept(full, *(f"{case.address}.{case.field}" for case in cases))
    made = full.plan()
    assert (made.changes, made.steps, made.blocked, made.differing) == ((), (), (), {})
    assert drifted(full).resources == ()
    assert len([line for line in difflib.ndiff(before, path.read_text("utf-8").splitlines()) if line.startswith("- ")]) <= 2 * len(cases)
    assert len(set(before)) - len(set(path.read_text("utf-8").splitlines())) <= 4


@proof
@pytest.mark.parametrize("case", [case for case in CASES if case.shown is None and case.accepts], ids=str)
def test_an_accepted_value_is_in_the_yaml_at_its_line_and_the_plan_is_empty(full: Org, case: Case) -> None:
    path = full.project / "reconciler.yaml"
    before = path.read_text("utf-8")
    edit(full, case)
    accept(full, f"{case.address}.{case.field}")
    made = full.plan()
    assert (made.changes, made.steps, made.blocked, made.differing) == ((), (), (), {})
    assert drifted(full).resources == ()
    gone = [line[2:] for line in difflib.ndiff(before.splitlines(), path.read_text("utf-8").splitlines()) if line.startswith("- ")]
    assert len(gone) <= 4
    assert len(set(before.splitlines())) - len(set(path.read_text("utf-8").splitlines())) <= 4


@costly
@pytest.mark.parametrize("case", [case for case in CASES if case.shown is None and not case.accepts], ids=str)
def test_lines_move_to_where_the_object_stands_and_the_plan_is_empty(full: Org, case: Case) -> None:
    path = full.project / "reconciler.yaml"
    before = path.read_text("utf-8")
    edit(full, case)
    accept(full, case.address)
    made = full.plan()
    assert (made.changes, made.steps, made.blocked, made.differing) == ((), (), (), {})
    assert drifted(full).resources == ()
    assert sorted(parse(before).comments) == sorted(parse(path.read_text("utf-8")).comments)


def test_what_has_not_drifted_cannot_be_accepted(full: Org) -> None:
    for word in ("acme/space/one.title", "acme/space/one", "acme/space/nowhere", "acme"):
        with pytest.raises(UsageError):
            accept(full, word)


def test_an_object_that_nobody_declares_is_referenced_by_its_id(full: Org) -> None:
    case = next(case for case in CASES if (case.kind, case.field) == ("saml", "defaultTeam"))
    edit(full, case)
    accept(full, case.address)
    team = next(item["id"] for item in full.items("/orgs/org_acme/teams") if item["title"] == "Unmanaged")
    assert f"defaultTeam: {{id: {team}}}" in (full.project / "reconciler.yaml").read_text("utf-8")


@pytest.mark.parametrize("name", ["defaultSiteSection", "defaultSiteSpace"])
def test_a_default_that_moves_leaves_every_comment_behind(full: Org, name: str) -> None:
    path = full.project / "reconciler.yaml"
    lines = path.read_text("utf-8").splitlines()
    lines = [f"{line.partition('  #')[0]}  # why {at}" if "default: true" in line else line for at, line in enumerate(lines)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    before = path.read_text("utf-8")
    assert before.count("# why") == 3
    case = next(case for case in CASES if case.field == name)
    edit(full, case)
    accept(full, f"{case.address}.{case.field}")
    after = path.read_text("utf-8")
    assert (full.plan().changes, drifted(full).resources) == ((), ())
    assert sorted(parse(before).comments) == sorted(parse(after).comments)
