"""`--var-file`: variables from files and from the output of a command."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Cli

PROJECT = """\
version: 1
project: test
service: {sandbox: sandbox.db}
vars:
  brand: {type: string}
organizations:
  acme:
    id: org_acme
    title: ${{ vars.brand }}
"""


@pytest.fixture
def project(cli: Cli) -> Cli:
    cli.write("p/reconciler.yaml", PROJECT)
    return cli


def test_variables_come_from_files_and_from_standard_input(project: Cli) -> None:
    project.write("given.yaml", "brand: Beta  # why\n")
    assert "title: Beta" in project("config", "render", "p", "--var-file", "given.yaml").stdout
    made = project("config", "render", "p", "--var-file", "given.yaml", "--var-file", "-", input=json.dumps({"brand": "Gamma"}))
    assert "title: Gamma" in made.stdout
    assert '# vars.brand = "Gamma", from standard input:1' in made.stdout


@pytest.mark.parametrize(
    ("words", "input", "problem"),
    [
        (("--var-file", "-"), '{"brand":\n [1]}', "standard input:2:2  vars.brand: the value is a list, which is not of type string"),
        (("--var-file", "-"), "", "standard input  this file is empty"),
        (("--var-file", "p/given.yaml"), None, "given.yaml:1:1  variable \"brnd\" is not declared"),
        (("--var-file", "nowhere.yaml"), None, "'nowhere.yaml' cannot be read: no such file or directory"),
        (("--var-file", "p"), None, "'p' cannot be read: is a directory"),
        (("--var-file", "-", "--var-file", "-"), "{}", "standard input can be read only once"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_one_sentence_with_its_place(
    project: Cli, words: tuple[str, ...], input: str | None, problem: str
) -> None:
    project.write("p/given.yaml", "brnd: Acme\n")
    result = project("validate", "p", *words, input=input)
    assert result.exit_code == 3
    assert problem in result.stderr


def test_validate_remembers_a_project_with_the_values_of_its_files(project: Cli) -> None:
    for title, code in (("Beta", 0), ("B", 3), ("Beta", 0), ("Acme", 0)):
        project.write("given.yaml", f"brand: {title}\n")
        assert project("validate", "p", "--var-file", "given.yaml").exit_code == code


def test_a_saved_plan_names_the_files_it_was_made_with(project: Cli) -> None:
    project.write("given.yaml", "brand: Beta\n")
    made = project("plan", "p", "--var-file", "given.yaml", "--out", "saved.plan")
    assert made.exit_code == 0, made.stderr
    assert "--var-file=given.yaml" in made.stdout + made.stderr
    assert project("apply", "p", "--var-file", "given.yaml", "--plan", "saved.plan").exit_code == 0


def test_an_unused_variable_is_a_warning_of_every_command_that_loads_the_project(project: Cli) -> None:
    project.edit("p/reconciler.yaml", "  brand: {type: string}\n", "  brand: {type: string}\n  rest: {default: 1}\n")
    for words in (("validate", "p"), ("plan", "p"), ("validate", "p", "--quiet")):
        result = project(*words, "--var", "brand=Beta")
        assert result.exit_code == 0
        assert "warning: reconciler.yaml:6:3  vars.rest is not used; remove it, or use it" in result.stderr
