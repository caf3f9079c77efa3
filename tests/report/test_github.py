"""Annotations: a command a line, at its place, and no other command in it."""

from __future__ import annotations

import re

from reconciler.errors import Problem
from reconciler.model import Action, Blocked, Source, StepStatus
from reconciler.report.annotations.github import github, github_findings
from reconciler.report.findings import of_problem
from reconciler.report.outcome import outcome_sheet
from reconciler.report.plan import plan_sheet
from tests.report.made import at, change, outcome, plan, result

COMMAND = re.compile(r"::(error|warning|notice) (?:(?:file|line|col|title)=[^,:\n]+,?)+::[^\n]*\n")


def test_deletes_and_blocked_resources_are_reported_at_their_lines() -> None:
    blocked = Blocked(at("acme/space/b"), "not now", "later", Source("content.yaml", 7), id="RC-waits")
    shown = github(plan_sheet(plan(change("acme/space/a", Action.DELETE), blocked=(blocked,))), folder="docs")
    assert re.search(r"^::warning title=acme/space/a::delete", shown, re.MULTILINE)
    assert re.search(r"^::error file=docs/content.yaml,line=7,title=acme/space/b::", shown, re.MULTILINE)
    assert shown.splitlines()[-1].startswith("::notice ")


def test_a_failed_step_is_an_error_and_starts_no_command() -> None:
    shown = github(outcome_sheet(outcome(result(1, "acme/team/a", StepStatus.FAILED, "no\n::error::x %0A::set-env name=a::b"))))
    assert all(COMMAND.fullmatch(f"{line}\n") for line in shown.splitlines())
    assert "::set-env" not in shown
    assert "%0A" not in shown


def test_every_problem_of_a_project_is_an_error_at_its_column() -> None:
    shown = github_findings([of_problem(Problem("a,b:c.yaml", 3, 9, "unknown field::x\r\n::error::y", id="RC-unknown-field"))])
    assert shown == "::error file=a%2Cb%3Ac.yaml,line=3,col=9,title=RC-unknown-field::unknown field: :x\\r\\n: :error: :y\n"
