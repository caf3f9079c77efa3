"""`validate --lint`: findings as text, JSON and annotations; exit codes; `--fix`; the state is read and not written."""

from __future__ import annotations

import json

from tests.cli.conftest import Cli, applied_project
from tests.documents import valid

PROJECT = """\
version: 1
project: test
service: {sandbox: sandbox.db}
vars:
  rest: {default: 1}  # for later
organizations:
  acme:
    id: org_acme
    teams: {a: {title: Writers}, b: {title: Writers}}
"""


def test_findings_are_printed_with_place_rule_and_remedy_and_warnings_exit_with_0(cli: Cli) -> None:
    cli.write("p/reconciler.yaml", PROJECT)
    result = cli("validate", "p", "--lint")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "reconciler.yaml:5:3  warning RC-unused-variable  vars.rest: no expression uses it\n"
        "  -> remove it (validate --fix does it)\n"
        "reconciler.yaml:9:45  warning RC-duplicate-title  acme/team/b: title 'Writers' is also the title of acme/team/a, next to it\n"
        "  -> give one of them another title\n"
        "test is valid: 3 resources in 1 file.\n"
        "2 warnings. validate --fix corrects 1 of them.\n"
    )
    assert cli("validate", "p", "--strict").exit_code == 3
    cli.edit("p/reconciler.yaml", "b: {title: Writers}", "b: {title: Authors}")
    assert cli("validate", "p", "--strict", "--fix").exit_code == 0
    assert "rest" not in (cli.root / "p" / "reconciler.yaml").read_text("utf-8")
    assert cli("validate", "p", "--strict").stdout.endswith("No findings.\n")


def test_json_is_one_list_of_findings_also_for_a_project_that_cannot_be_loaded(cli: Cli) -> None:
    cli.write("p/reconciler.yaml", PROJECT)
    document = valid(cli.json("validate", "p", "--lint"), "findings")
    assert document["summary"] == {"error": 0, "warning": 2, "fixable": 1}
    assert [finding["id"] for finding in document["findings"]] == ["RC-unused-variable", "RC-duplicate-title"]
    assert document["findings"][0]["source"] == {"file": "reconciler.yaml", "line": 5, "column": 3}
    assert valid(cli.json("validate", "p"), "findings")["findings"] == []
    cli.edit("p/reconciler.yaml", "title: Writers", "titel: Writers")
    result = cli("validate", "p", "--format", "json")
    assert result.exit_code == 3
    document = valid(json.loads(result.stdout), "findings")
    assert {finding["id"] for finding in document["findings"]} == {"RC-unknown-field"}
    assert 'unknown field "titel"' in document["findings"][0]["message"]


def test_annotations_have_the_level_of_the_finding(cli: Cli) -> None:
    cli.write("p/reconciler.yaml", PROJECT)
    result = cli("validate", "p", "--lint", "--format", "github")
    assert "::warning file=p/reconciler.yaml,line=5,col=3,title=RC-unused-variable::vars.rest: no expression uses it\n" in result.stdout


def test_a_fix_removes_the_values_that_environments_give_to_an_unused_variable(cli: Cli) -> None:
    cli.write("p/reconciler.yaml", PROJECT)
    cli.write("p/environments/staging.yaml", "vars: {rest: 2}\n")
    cli.write("p/environments/production.yaml", "# production\nstate: sqlite:///production.db\nvars:\n  rest: 3\n")
    assert cli("validate", "p", "--env", "staging", "--fix").exit_code == 0
    for environment in ("staging", "production"):
        assert cli("validate", "p", "--env", environment).exit_code == 0
    assert (cli.root / "p/environments/production.yaml").read_text("utf-8") == "# production\nstate: sqlite:///production.db\n"


def test_a_rename_that_was_applied_is_found_by_the_state_and_removed(cli: Cli) -> None:
    applied_project(cli)
    text = (cli.root / "p/reconciler.yaml").read_text("utf-8")
    assert "writers: {" in text
    cli.edit("p/reconciler.yaml", "writers: {", "authors: {previously: [writers], ")
    assert "previously-done" not in cli("validate", "p", "--lint").stdout
    assert cli("apply", "p", "--yes").exit_code == 0
    before = cli.json("state", "list", "p")
    assert "previously-done  " in cli("validate", "p", "--lint").stdout
    assert cli("validate", "p", "--fix").exit_code == 0
    assert "previously" not in (cli.root / "p/reconciler.yaml").read_text("utf-8")
    assert cli.json("state", "list", "p") == before
    assert "nothing to change" in cli("plan", "p").stdout.lower() or cli("plan", "p", "--detailed-exitcode").exit_code == 0
