"""How tests are found, selected, run beside each other and reported; and that the same tests give the same results."""

from __future__ import annotations

import json
import sys
from xml.etree import ElementTree

from reconciler import exits
from tests import processes
from tests.command_line import Cli
from tests.features.testing.projects import small
from tests.proofs import costly

MANY = """\
tests:
  - {name: partners see guides, expect: [{as: {link: partners}, sees: [acme/space/guides]}]}
  - name: nobody edits
    steps:
      [apply, {edit: {address: acme/space/guides, set: {title: X}}}, {api: {method: PUT, path: "/orgs/{acme}/teams", body: {title: Z}}}]
    expect: [{plan: empty}, {field: acme/space/guides.title, is: Acme guides}]
  - {name: partners see no salaries, expect: [{as: {link: partners}, mustNotSee: [acme/space/salaries]}]}
"""
EXAMPLES = """\
policies: [{id: calm, on: [space], assert: '${{ after.title != "!" }}', message: no}]
examples:
  - {name: a loud title, resources: [{address: acme/space/x, after: {title: "!"}}], violations: [calm]}
  - {name: a calm title, resources: [{address: acme/space/x, after: {title: x}}], violations: [calm]}
"""
ACCESS = "access: [{as: anyone, sees: [acme/space/guides]}, {as: agent, mustNotSee: [acme/space/guides]}]\norganizations:"


def whole(cli: Cli) -> Cli:
    """A project with tests in two places, examples of a policy, and access."""
    small(cli).edit("reconciler.yaml", "organizations:", ACCESS)
    cli.write("tests/many.yaml", MANY)
    cli.write("policies.test.yaml", EXAMPLES)
    cli.write("tests/seeds/living.yaml", "organizations: []")
    return cli


def names(cli: Cli, *words: str) -> list[tuple[str, bool]]:
    result = json.loads(cli("test", *words, "--parallel", "1", "--format", "json").stdout)
    return [(test["name"], test["passed"]) for test in result["tests"]]


EVERYTHING = [
    ("a loud title", True), ("a calm title", False), ("access", True),
    ("partners see guides", True), ("nobody edits", False), ("partners see no salaries", True),
]  # fmt: skip


@costly
def test_tests_examples_of_policies_and_access_are_run(cli: Cli) -> None:
    assert names(whole(cli), ".") == EVERYTHING


@costly
def test_tests_are_selected_by_file_folder_and_name(cli: Cli) -> None:
    whole(cli)
    assert names(cli, "tests/many.yaml") == EVERYTHING[3:]
    assert names(cli, ".", "tests") == EVERYTHING[3:]
    assert names(cli, "policies.test.yaml") == EVERYTHING[:2]
    assert names(cli, ".", "--name", "partners *") == [EVERYTHING[3], EVERYTHING[5]]
    assert names(cli, ".", "--name", "access", "--name", "*edits") == [EVERYTHING[2], EVERYTHING[4]]


def test_what_runs_nothing_is_an_error(cli: Cli) -> None:
    small(cli)
    assert "there are no tests in ." in cli("test", ".", code=exits.WRONG).stderr
    assert "Write tests/NAME.yaml" in cli("test", ".", code=exits.WRONG).stderr
    whole(cli)
    assert 'no test is called "partner"' in cli("test", ".", "--name", "partner", code=exits.WRONG).stderr
    cli.write("tests/other.yaml", "organizations: []")
    assert "tests/other.yaml:1:1  this file has no tests" in cli("test", ".", code=exits.WRONG).stderr


def test_an_access_that_does_not_hold_on_a_twin_fails(cli: Cli) -> None:
    whole(cli).edit("reconciler.yaml", "sees: [acme/space/guides]}, {as: agent", "sees: [acme/space/salaries]}, {as: agent")
    document = json.loads(cli("test", ".", "--name", "access", "--parallel", "1", "--format", "json", code=exits.FAILED).stdout)
    messages = [item["message"] for item in document["tests"][0]["mismatches"]]
    assert messages[0].startswith("apply was refused: the plan violates 1 rule: access anyone")


@costly
def test_the_same_tests_give_the_same_result_in_any_order_and_number(cli: Cli) -> None:
    whole(cli)

    def run(*words: str) -> str:
        command = [sys.executable, "-m", "reconciler", "test", ".", "--format", "json", *words]
        return processes.run(command, cwd=cli.root, env={"HOME": str(cli.root)}, capture_output=True, text=True, timeout=200).stdout

    alone = run("--parallel", "1")
    assert json.loads(alone)["summary"] == {"passed": 4, "failed": 2}
    assert run("--parallel", "1") == alone
    assert run("--parallel", "8") == alone
    cli.write(
        "tests/many.yaml", "tests:\n" + "  - " + "  - ".join(reversed(MANY.removeprefix("tests:\n").removeprefix("  - ").split("  - ")))
    )
    by_name = {test["name"]: (test["passed"], [item["message"] for item in test["mismatches"]]) for test in json.loads(alone)["tests"]}
    again = {
        test["name"]: (test["passed"], [item["message"] for item in test["mismatches"]])
        for test in json.loads(run("--parallel", "8"))["tests"]
    }
    assert again == by_name


@costly
def test_junit_has_a_case_for_each_test_and_a_failure_for_each_mismatch(cli: Cli) -> None:
    whole(cli)("test", ".", "--parallel", "1", "--report", "junit=out.xml", "--report", "sarif=out.sarif", "--report", "json=out.json")
    suites = ElementTree.parse(cli.root / "out.xml").getroot()
    assert (suites.get("tests"), suites.get("failures")) == ("6", "2")
    assert [suite.get("name") for suite in suites] == ["policies.test.yaml", "reconciler.yaml", "tests/many.yaml"]
    case = next(case for case in suites.iter("testcase") if case.get("name") == "nobody edits")
    assert (case.get("file"), case.get("line")) == ("tests/many.yaml", "3")
    failures = case.findall("failure")
    assert [failure.get("message") for failure in failures] == [
        "the plan is not empty",
        "acme/space/guides.title is X, and must be Acme guides",
    ]
    assert failures[1].text == "tests/many.yaml:6\n- expected: Acme guides\n+ actual:   X"
    results = json.loads((cli.root / "out.sarif").read_text())["runs"][0]["results"]
    place = results[1]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "tests/many.yaml"}, "region": {"startLine": 6, "startColumn": 21}}
    assert results[1]["message"]["text"].startswith("nobody edits: the plan is not empty (expected: empty; actual: update: 1)")


def test_environments_are_named_by_tests_or_by_the_command_line(cli: Cli) -> None:
    small(cli).write("environments/staging.yaml", "vars: {brand: Stage}")
    cli.write("environments/production.yaml", "vars: {brand: Prod}")
    cli.write("tests/it.yaml", "tests: [{name: title, expect: [{field: acme.title, is: Stage}]}]")
    wrong = cli("test", ".", code=exits.WRONG).stderr
    assert (
        "tests/it.yaml:1:16  this project has environments; write with: {env: production} or with: {env: staging}, or pass --env" in wrong
    )
    assert names(cli, ".", "--env", "staging") == [("title", True)]
    assert names(cli, ".", "--env", "production") == [("title", False)]
