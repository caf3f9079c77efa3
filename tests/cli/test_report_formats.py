"""Every report in the formats that other programs read, from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import junitparser
import pytest
import sarif_pydantic

from tests.cli.conftest import Cli

PROJECT: Final = """\
version: 1
project: docs
vars: {unused: {default: x}}
organizations:
  acme:
    id: org_acme
    teams: {writers: {title: Writers}}
"""


@pytest.mark.parametrize("project", [PROJECT, PROJECT.replace("title:", "titel:")], ids=["warning", "wrong"])
def test_validate_writes_all_reports_at_once_and_they_agree(cli: Cli, project: str) -> None:
    cli.write("docs/reconciler.yaml", project)
    files = {name: cli.root / f"report.{name}" for name in ("junit", "sarif", "codequality", "json", "github")}
    words = [word for name, file in files.items() for word in ("--report", f"{name}={file}")]
    done = cli("validate", "docs", "--lint", *words)
    wrong = "titel" in project
    assert done.exit_code == (3 if wrong else 0)
    found = json.loads(files["json"].read_text())["findings"]
    assert found
    assert [result["ruleId"] for result in json.loads(files["sarif"].read_text())["runs"][0]["results"]] == [one["id"] for one in found]
    assert [issue["check_name"] for issue in json.loads(files["codequality"].read_text())] == [one["id"] for one in found]
    assert junitparser.JUnitXml.fromfile(str(files["junit"])).failures == (len(found) if wrong else 0)
    assert files["github"].read_text().count("\n") == len(found)
    assert all(one["source"]["line"] for one in found)


def test_a_plan_and_drift_write_them_too(cli: Cli) -> None:
    assert cli("init", "docs", "--sandbox").exit_code == 0
    for name in ("junit", "sarif", "codequality"):
        done = cli("plan", "docs", "--format", name)
        assert (done.exit_code, bool(done.stdout)) == (0, True)
    junitparser.JUnitXml.fromstring(cli("plan", "docs", "--format", "junit").stdout.encode())
    sarif_pydantic.Sarif.model_validate(json.loads(cli("plan", "docs", "--format", "sarif").stdout))
    assert cli("apply", "docs", "--yes", "--report", f"junit={cli.root}/out.xml").exit_code == 0
    assert junitparser.JUnitXml.fromfile(str(Path(cli.root, "out.xml"))).failures == 0
    assert cli("drift", "docs", "--format", "sarif").exit_code == 0


def test_two_reports_are_not_written_to_the_same_file(cli: Cli) -> None:
    cli.write("reconciler.yaml", PROJECT)
    done = cli("validate", "--report", "junit=a.xml", "--report", "sarif=./a.xml")
    assert (done.exit_code, "two reports cannot be written to the same file" in done.stderr) == (3, True), done.stderr
    assert not (cli.root / "a.xml").exists()


@pytest.mark.parametrize("words", ["validate --report github=-", "plan --out -", "state pull --out -"])
def test_no_file_is_called_a_dash(cli: Cli, words: str) -> None:
    cli.write("reconciler.yaml", PROJECT)
    done = cli(*words.split())
    assert (done.exit_code, "'-' is not the name of a file" in done.stderr) == (3, True), done.stderr
    assert not (cli.root / "-").exists()
