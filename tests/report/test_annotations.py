"""JUnit, SARIF and Code Quality, read by programs that others wrote."""

from __future__ import annotations

from typing import Any, Final

import junitparser
import sarif_pydantic

from reconciler.model import Finding, Severity, Source
from reconciler.report.annotations.code_quality import code_quality
from reconciler.report.annotations.junit import junit
from reconciler.report.annotations.sarif import sarif
from reconciler.text.pages import pages

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
