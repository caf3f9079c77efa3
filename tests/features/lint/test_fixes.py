"""`--fix` removes exactly what a finding names; comments, order and quotes of the rest stay."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import pytest

from reconciler.config import load
from reconciler.features.edits.fixes import fixed, with_edits
from reconciler.features.lint.accepted import findings
from reconciler.features.lint.rules import LintFacts
from reconciler.kinds import load as kinds
from reconciler.model import Finding
from reconciler.report.formats.annotations import sarif
from tests.features.lint.test_rules import TODAY, state_of

HEAD = """\
# The documentation of Acme
version: 1
project: test  # its name
"""
REST = """
organizations:
  acme:
    id: org_acme  # adopted
    title: "${{ vars.brand }}"
"""


def lint(folder: Path) -> tuple[Finding, ...]:
    project = load(folder, kinds())
    return findings(LintFacts(kinds(), project.desired, TODAY, project.unused, project.ignores, state_of(project), project.variables))


def repaired(folder: Path, text: str) -> str:
    (folder / "reconciler.yaml").write_text(text, encoding="utf-8")
    changed, _, left = fixed({"reconciler.yaml": text}, lint(folder))
    assert left == {}
    created = changed.get("reconciler.yaml", text)
    (folder / "reconciler.yaml").write_text(created, encoding="utf-8")
    assert [finding for finding in lint(folder) if finding.fix is not None] == []
    return created


BRAND = "vars: {brand: {default: Acme}}\n"
CASES = {
    "a variable among others": (
        "vars:\n  # the name\n  brand: {default: Acme}\n  # not used\n  rest: {default: 1}  # one\n  more:\n    default: 2\n" + REST,
        "vars:\n  # the name\n  brand: {default: Acme}\n  # not used\n  # one\n" + REST,
    ),
    "variables in braces": (
        "vars: {a: {default: 1}, brand: {default: Acme}, b: {default: 1}, c: {default: 2}}\n" + REST,
        BRAND + REST,
    ),
    "the only variable": (
        "vars:\n  a: {default: 1}\n" + REST.replace("${{ vars.brand }}", "Acme"),
        REST.replace("${{ vars.brand }}", "Acme"),
    ),
    "a default, and the last of its kind": (
        BRAND + "defaults:\n  team: {title: Team}\n  section:\n    icon: gear\n    title: Section\n" + REST,
        BRAND + REST,
    ),
    "keys in previously": (
        BRAND + REST + "    teams:\n      a: {title: A, previously: [b]}  # why\n      c: {previously: [d], title: C}\n"
        "      e:\n        title: E\n        previously:\n          - f  # first\n          - g\n",
        BRAND + REST + "    teams:\n      a: {title: A}  # why\n      c: {title: C}\n      e:\n        title: E\n        # first\n",
    ),
    "entries of moved": (
        BRAND + REST + "    teams: {a: {title: A}, c: {title: C}}\n"
        "moved:\n  # first\n  - {from: acme/team/x, to: acme/team/a}\n  - from: acme/team/y\n    to: acme/team/c\n",
        BRAND + REST + "    teams: {a: {title: A}, c: {title: C}}\n",
    ),
    "an entry of ignore": (
        "vars: {brand: {default: Acme}, rest: {default: 1}}\n"
        "lint:\n  ignore:\n    - {id: unused-variable, address: vars.rest}\n    - id: vague-name  # no links\n      reason: none\n" + REST,
        "vars: {brand: {default: Acme}, rest: {default: 1}}\nlint:\n  ignore:\n    - {id: unused-variable, address: vars.rest}\n" + REST,
    ),
}


def replaced(text: str, replacement: dict[str, Any]) -> str:
    """A text after one replacement of SARIF."""
    region, lines = replacement["deletedRegion"], text.splitlines(keepends=True)
    begin, end = (sum(map(len, lines[: region[f"{side}Line"] - 1])) + region[f"{side}Column"] - 1 for side in ("start", "end"))
    return text[:begin] + replacement.get("insertedContent", {"text": ""})["text"] + text[end:]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("name", CASES)
def test_a_fix_of_sarif_gives_the_text_that_fix_gives(name: str, ending: str, tmp_path: Path) -> None:
    text = (HEAD + CASES[name][0]).replace("\n", ending)
    (tmp_path / "reconciler.yaml").write_bytes(text.encode())
    fixable = [finding for finding in with_edits({"reconciler.yaml": text}, lint(tmp_path)) if finding.fix is not None]
    assert fixable
    for finding in fixable:
        (result,) = sarif([finding])["runs"][0]["results"]
        (fix,) = result["fixes"]
        (change,) = fix["artifactChanges"]
        (replacement,) = change["replacements"]
        assert replaced(text, replacement) == fixed({"reconciler.yaml": text}, [finding])[0]["reconciler.yaml"]


def test_a_fix_of_sarif_removes_whole_lines_where_it_can(tmp_path: Path) -> None:
    text = HEAD + CASES["a variable among others"][0]
    (tmp_path / "reconciler.yaml").write_text(text, encoding="utf-8")
    (rest, more) = with_edits({"reconciler.yaml": text}, lint(tmp_path))
    assert rest.fix is not None
    assert more.fix is not None
    assert [(edit.start[1:], edit.end[1:], edit.text) for edit in more.fix.edits] == [((9, 1), (11, 1), "")]


@pytest.mark.parametrize("name", CASES)
def test_fixed_findings_disappear_and_no_others(name: str, tmp_path: Path) -> None:
    before, after = CASES[name]
    created = repaired(tmp_path, HEAD + before)
    assert created.splitlines() == (HEAD + after).splitlines(), "\n".join(difflib.ndiff(created.splitlines(), (HEAD + after).splitlines()))


def test_what_an_alias_repeats_is_left_and_the_rest_is_fixed(tmp_path: Path) -> None:
    text = HEAD + "vars:\n  a: &a {default: 1}\n  brand: {default: Acme}\n  b: *a\n" + REST
    (tmp_path / "reconciler.yaml").write_text(text, encoding="utf-8")
    _, done, left = fixed({"reconciler.yaml": text}, lint(tmp_path))
    assert [finding.address for finding in left] in ([], ["vars.a"])
    assert "vars.b" in {finding.address for finding in done}
