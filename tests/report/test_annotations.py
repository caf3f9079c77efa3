"""JUnit, SARIF and Code Quality, read by programs that others wrote; commands of GitHub, and no other command in them."""

from __future__ import annotations

import re
from typing import Any, Final

import junitparser
import sarif_pydantic

from reconciler.errors import Problem
from reconciler.model import Action, Blocked, Finding, Severity, Source, StepStatus
from reconciler.report.annotations import code_quality, github, github_findings, junit, sarif
from reconciler.report.findings import of_problem
from reconciler.report.outcome import outcome_sheet
from reconciler.report.plan import plan_sheet
from reconciler.text.pages import pages
from tests.report.made import at, change, outcome, plan, result

FINDINGS: Final = (
    Finding("RC-waits", Severity.ERROR, "it waits", "acme/space/a", Source("a b.yaml", 3, 5), "remove it"),
    Finding("RC-more-readers", Severity.WARNING, "<b>\x1b[31m &amp; ]]> \u202e", "acme/space/b", Source("b.yaml", 0, 0)),
    Finding("RC-more-readers", Severity.WARNING, "<b>\x1b[31m &amp; ]]> \u202e", "acme/space/b", Source("b.yaml", 9, 0)),
    Finding("RC-policy-violated", Severity.ERROR, "no place", rule="policy/two-admins"),
)


def test_junit_has_a_case_for_each_and_errors_fail() -> None:
    read = junitparser.JUnitXml.fromstring(junit(FINDINGS, title="Plan for docs", summary="Plan: 2 to do.", folder="docs").encode())
    (suite,) = read
    assert (suite.tests, suite.failures, suite.errors) == (5, 2, 0)
    cases = list(suite)
    assert [case.is_passed for case in cases] == [True, False, True, True, False]
    assert cases[1].result[0].text == "docs/a b.yaml:3\nit waits\nremove it"


def test_junit_without_findings_has_a_test_that_passed() -> None:
    (suite,) = junitparser.JUnitXml.fromstring(junit((), title="t", summary="No changes.").encode())
    assert [case.is_passed for case in suite] == [True]


def test_sarif_is_read_with_rules_places_and_fingerprints_of_its_own() -> None:
    log = sarif_pydantic.Sarif.model_validate(sarif(FINDINGS, folder="docs"))
    (run,) = log.runs
    rules = run.tool.driver.rules or []
    assert {rule.id for rule in rules} == {"RC-waits", "RC-more-readers", "policy/two-admins"}
    assert [rules[result.rule_index or 0].id for result in run.results or []] == [finding.name for finding in FINDINGS]
    data: Any = sarif(FINDINGS, folder="docs")["runs"][0]["results"]
    place = data[0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "docs/a%20b.yaml"}, "region": {"startLine": 3, "startColumn": 5}}
    assert "region" not in data[1]["locations"][0]["physicalLocation"]
    assert len({result["partialFingerprints"]["reconciler/v1"] for result in data}) == len(FINDINGS)


def test_a_rule_of_sarif_is_the_page_of_its_cause() -> None:
    (rule, *_) = sarif(FINDINGS[:1], repository="https://git.example/acme/blob/v1")["runs"][0]["tool"]["driver"]["rules"]
    assert rule["shortDescription"]["text"] == pages()["RC-waits"].summary
    assert "**What to do**: Unblock the other one first" in rule["help"]["markdown"]
    assert rule["helpUri"] == "https://git.example/acme/blob/v1/reconciler/problems/plans.md#rc-waits"
    assert "helpUri" not in sarif(FINDINGS[:1])["runs"][0]["tool"]["driver"]["rules"][0]


def test_code_quality_has_what_gitlab_demands_of_each_entry() -> None:
    issues = code_quality(FINDINGS, folder="docs")
    for issue in issues:
        assert {"description", "check_name", "fingerprint", "severity", "location"} <= issue.keys()
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert isinstance(issue["location"]["lines"]["begin"], int)
        assert not issue["location"]["path"].startswith(("/", "./"))
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)


def test_a_fingerprint_stays_while_lines_above_move() -> None:
    moved = [
        Finding(one.id, one.severity, one.message, one.address, one.source and one.source._replace(line=77), rule=one.rule)
        for one in FINDINGS
    ]
    assert [one["fingerprint"] for one in code_quality(moved)] == [one["fingerprint"] for one in code_quality(FINDINGS)]


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
