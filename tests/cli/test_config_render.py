"""`config render`: what the project says once every expression has its value."""

from __future__ import annotations

from pathlib import Path

from reconciler.config import load
from reconciler.kinds import load as kinds
from tests.command_line import Cli

ACME = Path(__file__).parents[2] / "examples" / "acme"
PROJECT = """\
version: 1
project: docs
vars:
  brand: {default: Acme}
  number: {default: "007"}
  secret: {env: RECONCILER_VAR_SECRET, default: none}
x-home: &on true
organizations:
  acme:
    id: org_acme
    title: ${{ vars.brand }} docs
    ai: *on
    emailDomains: ${{ [vars.brand, "no"] }}
    teams: {seven: {title: "${{ vars.number }}"}, no: {title: no}}
"""


def test_every_expression_is_shown_beside_its_value(cli: Cli) -> None:
    cli.write("reconciler.yaml", PROJECT)
    done = cli("config", "render", "--var", "brand=Beta", code=0)
    assert '# vars.brand = "Beta", from --var\n' in done.stdout
    assert '# vars.number = "007", from its default\n' in done.stdout
    assert "    title: Beta docs  # ${{ vars.brand }} docs\n" in done.stdout
    assert '    emailDomains:  # ${{ [vars.brand, "no"] }}\n' in done.stdout
    assert "    ai: true\n" in done.stdout
    assert "x-home" not in done.stdout


def test_what_is_printed_is_a_project_that_says_the_same(cli: Cli) -> None:
    cli.write("reconciler.yaml", PROJECT)
    before = load(cli.root, kinds()).digest
    cli.write("reconciler.yaml", cli("config", "render").stdout)
    assert load(cli.root, kinds()).digest == before


def test_values_from_the_environment_are_hidden_unless_they_are_public(cli: Cli) -> None:
    cli.write("reconciler.yaml", PROJECT)
    env = {"RECONCILER_VAR_SECRET": "hunter2-hunter2"}
    done = cli("config", "render", env=env)
    assert "hunter2" not in done.stdout + done.stderr
    assert "# vars.secret = (hidden), from RECONCILER_VAR_SECRET\n" in done.stdout
    assert "hunter2-hunter2" in cli("config", "render", "--public-var", "secret", env=env).stdout


def test_every_file_of_a_project_is_printed(cli: Cli) -> None:
    done = cli("config", "render", str(ACME), code=0)
    names = [
        str(path.relative_to(ACME)) for path in ACME.rglob("*.yaml") if path.name != "sandbox.seed.yaml" and path.parent.name != "tests"
    ]
    assert sorted(line[2:] for line in done.stdout.splitlines() if line.endswith(".yaml")) == sorted(names)
    assert not any("${{" in line.partition("#")[0] for line in done.stdout.splitlines())


def test_an_invalid_project_lists_all_its_problems(cli: Cli) -> None:
    cli.write("reconciler.yaml", PROJECT.replace("vars.brand }} docs", "vars.brnad }} docs"))
    assert "reconciler.yaml:11" in cli("config", "render", code=3).stderr
