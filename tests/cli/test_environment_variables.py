"""Options from the environment: every option that is not consent, under one name on every command; and what is said of other names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import pytest

from reconciler.assembled import main
from reconciler.cli import env_file, environment
from reconciler.cli.program import LazyGroup
from tests.cli.test_program import ALL
from tests.command_line import Cli, applied_project, initialised

CONSENT = ("--yes", "--accept-gone", "--public-var", "--create-state", "--allow-")
UNSET = ("--help", "--version")


def options() -> Iterator[tuple[str, click.Option]]:
    """The options of every command and of the program, with the name of each."""
    for line, command in [("reconciler", main), *((line, command) for line, command, _ in ALL)]:
        for param in command.params:
            name = environment.long_name(param)
            if (
                isinstance(param, click.Option)
                and name is not None
                and name not in UNSET
                and (command is main or not isinstance(command, LazyGroup))
            ):
                yield f"{line} {name}", param


def test_every_option_has_a_variable_on_every_command_but_for_those_that_must_be_typed() -> None:
    named = {environment.variable(param) for _, param in options()} - {None}
    assert {f"{environment.PREFIX}{word}" for word in environment.KNOWN} == named | {"RECONCILER_TOKEN", "RECONCILER_PROJECT"}
    typed = {
        str(environment.long_name(param))[2:].replace("-", "_").upper() for _, param in options() if environment.variable(param) is None
    }
    assert typed - environment.KNOWN - {"VAR"} == environment.TYPED
    for line, param in options():
        if environment.long_name(param) not in environment.READ_LATER:
            assert param.envvar == environment.variable(param), line


def test_no_option_that_gives_consent_has_a_variable() -> None:
    consent = [(line, param) for line, param in options() if str(environment.long_name(param)).startswith(CONSENT)]
    assert len(consent) > 50
    assert [line for line, param in consent if param.envvar or environment.variable(param)] == []


def test_consent_in_the_environment_is_ignored_and_said(cli: Cli) -> None:
    consents = {f"RECONCILER_{word}": "1" for word in environment.TYPED}
    done = initialised(cli)("apply", "p", env=consents, code=3)
    assert "there is no terminal to ask for confirmation" in done.stderr
    for name in consents:
        assert f"{name} is ignored: --" in done.stderr
    cli.edit("p/reconciler.yaml", "    title:", "    titel:")
    assert "unknown field" in cli("apply", "p").stderr  # what is wrong with the project comes before the question whether to apply it


def test_a_variable_says_the_same_as_its_option_and_the_option_wins(cli: Cli) -> None:
    initialised(cli)
    assert cli("plan", "p", env={"RECONCILER_FORMAT": "json"}).stdout.startswith('{\n  "format": "reconciler.plan/1"')
    assert cli("plan", "p", "--format", "text", env={"RECONCILER_FORMAT": "json"}).stdout.startswith("No existing content ")
    narrowed = cli("plan", "p", env={"RECONCILER_TARGET": "acme/team/* acme/member/*", "RECONCILER_QUIET": "1"})
    assert "acme/site" not in narrowed.stdout.partition("Plan:")[0]
    assert "acme/team/writers" in narrowed.stdout
    assert cli("validate", env={"RECONCILER_PROJECT": "p"}).stdout.startswith("p is valid")
    assert cli("plan", "p", env={"RECONCILER_DETAILED_EXITCODE": "yes"}).exit_code == 2
    assert cli("plan", "p", env={"RECONCILER_DETAILED_EXITCODE": ""}).exit_code == 0


def test_a_bad_value_names_the_variable(cli: Cli) -> None:
    initialised(cli)
    for name, value, option in (("MAX_RPS", "fast", "--max-rps"), ("FORMAT", "pdf", "--format"), ("FULL", "maybe", "--full")):
        refused = cli("plan", "p", env={f"RECONCILER_{name}": value}, code=3)
        assert f"Invalid value for RECONCILER_{name} ({option})" in refused.stderr
    assert "--sandbox comes from RECONCILER_SANDBOX." in cli("plan", "p", env={"RECONCILER_SANDBOX": "p"}, code=3).stderr
    assert "comes from" not in cli("plan", "p", "--sandbox", "p", env={"RECONCILER_SANDBOX": "p"}).stderr


@pytest.mark.parametrize(
    ("name", "meant"),
    [("RECONCILER_MAX_RSP", "RECONCILER_MAX_RPS"), ("RECONCILER_TOKN", "RECONCILER_TOKEN"), ("RECONCILER_PLAN_KY", "RECONCILER_PLAN_KEY")],
)
def test_a_name_that_looks_like_a_typing_error_is_a_warning(cli: Cli, name: str, meant: str) -> None:
    done = initialised(cli)("validate", "p", env={name: "5"}, code=0)
    assert f"warning: {name} is ignored: no option has that name. Did you mean {meant}?" in done.stderr


def test_other_names_are_nobodys_business(cli: Cli) -> None:
    others = {"RECONCILER_VAR_MAX_RSP": "1", "RECONCILER_TEST_RANDOM": "", "RECONCILER_HOME_OF_CATS": "1"}
    assert "warning" not in initialised(cli)("validate", "p", env=others).stderr


# -- files of variables ------------------------------------------------------------


def test_an_env_file_gives_values_to_variables_as_secret_as_those_of_the_environment(cli: Cli) -> None:
    initialised(cli).edit(
        "p/reconciler.yaml", "version: 1", "version: 1\nvars: {team: {env: RECONCILER_VAR_TEAM}, other: {env: RECONCILER_VAR_OTHER}}"
    )
    cli.edit("p/reconciler.yaml", "title: Writers", "title: '${{ vars.team }} ${{ vars.other }}'")
    cli.write(
        "ci.env", '# of the pipeline\n\nexport RECONCILER_VAR_TEAM="hush-hush team" # why\nRECONCILER_VAR_OTHER=plain words # a remark\n'
    )
    render = ("config", "render", "p", "--env-file", "ci.env")
    assert "hush-hush" not in cli(*render).stdout
    assert "title: hush-hush team plain words" in cli(*render, "--public-var", "team", "--public-var", "other").stdout
    wins = cli(*render, "--public-var", "team", "--public-var", "other", env={"RECONCILER_VAR_OTHER": "environment"})
    assert "environment" in wins.stdout
    assert "plain words" not in wins.stdout
    public = ("--public-var", "team", "--public-var", "other")
    assert cli("validate", "p", *public, env={"RECONCILER_ENV_FILE": "ci.env"}).exit_code == 0
    assert "it has no value" in cli("validate", "p", *public).stderr, "the values end with the command"


def test_a_file_named_env_is_not_read_unless_it_is_passed(cli: Cli) -> None:
    initialised(cli)
    cli.edit("p/reconciler.yaml", "version: 1\n", "version: 1\nvars: {team: {env: RECONCILER_VAR_TEAM}}\n")
    cli.edit("p/reconciler.yaml", "title: Writers", "title: '${{ vars.team }}'")
    for name in (".env", "p/.env"):
        cli.write(name, "RECONCILER_VAR_TEAM=Authors\nRECONCILER_STATE=sqlite:///other.db\n")
    assert "it has no value" in cli("validate", "p", "--public-var", "team").stderr
    cli.write("team.env", "RECONCILER_VAR_TEAM=Authors\n")
    assert cli("validate", "p", "--public-var", "team", "--env-file", "team.env").exit_code == 0


@pytest.mark.parametrize("name", ["HOME", "RECONCILER_TOKEN", "AWS_SECRET_ACCESS_KEY", "reconciler_var_x"])
def test_the_yaml_reads_no_other_variable_of_the_environment(cli: Cli, name: str) -> None:
    initialised(cli)
    cli.edit("p/reconciler.yaml", "version: 1\n", f"version: 1\nvars: {{team: {{env: {name}}}}}\n")
    cli.edit("p/reconciler.yaml", "title: Writers", "title: '${{ vars.team }}'")
    refused = cli("validate", "p", "--public-var", "team", env={name: "s3cr3t-of-the-runner"})
    assert (refused.exit_code, "RECONCILER_VAR_" in refused.stderr, "s3cr3t" in refused.stdout + refused.stderr) == (3, True, False)


def test_an_env_file_sets_nothing_but_variables_of_the_project(cli: Cli) -> None:
    initialised(cli)
    cli.write(
        "ci.env", 'RECONCILER_VAR_A=1\nRECONCILER_TOKEN=stolen\n  PATH=/tmp\nnothing\nRECONCILER_VAR_B=\'open\nRECONCILER_VAR_C="x" y\n'
    )
    refused = cli("plan", "p", "--env-file", "ci.env", code=3)
    only = "cannot be set in a file of variables, only names that begin with RECONCILER_VAR_; set it in the environment"
    assert [line.removesuffix(" [RC-env-file]") for line in refused.stderr.splitlines()[:5]] == [
        f"ci.env:2:1  RECONCILER_TOKEN {only}",
        f"ci.env:3:3  PATH {only}",
        "ci.env:4:1  it is not NAME=VALUE; write RECONCILER_VAR_NAME=VALUE",
        "ci.env:5:18  the quote is not closed",
        "ci.env:6:18  there is text after the closing quote",
    ]
    assert "stolen" not in refused.stderr


# -- where it runs ------------------------------------------------------------


def test_with_a_directory_it_runs_there_and_paths_are_relative_to_it(cli: Cli) -> None:
    initialised(cli)
    (cli.root / "p" / "deep").mkdir()
    assert cli("-C", "p", "validate", "--log-file", "x.log").stdout.startswith("p is valid")
    assert (cli.root / "p" / "x.log").is_file()
    assert cli("-C", "p", "-C", "deep", "validate", "..").stdout.startswith("p is valid")
    assert "\nApply it with: reconciler -C p apply\n" in cli("-C", "p", "plan").stdout
    assert "'nowhere' cannot be entered: no such file or directory" in cli("-C", "nowhere", "validate", code=3).stderr


def test_the_project_is_found_from_a_subfolder_and_named(cli: Cli) -> None:
    applied_project(cli)
    deep = cli.root / "p" / "notes" / "old"
    deep.mkdir(parents=True)
    for words in (("validate",), ("plan",), ("state", "list"), ("config", "render"), ("fmt", "--check"), ("api", "GET", "/orgs/org_acme")):
        done = cli("-C", str(deep), *words, code=0)
        assert f"Using the project in {cli.root / 'p'}.\n" in done.stderr
    assert "acme/team/authors now tracks" in cli("-C", str(deep), "state", "mv", "acme/team/writers", "acme/team/authors").stdout
    assert cli("-C", str(deep), "validate", "-q").stderr == ""
    assert "Using" not in cli("-C", "p", "validate").stderr
    cli("-C", str(deep), "validate", ".", code=3)


def test_the_search_for_a_project_ends_where_a_repository_or_the_home_directory_ends(cli: Cli) -> None:
    initialised(cli)
    border = cli.root / "p" / "other"
    (border / "docs").mkdir(parents=True)
    (border / ".git").mkdir()
    assert "reconciler.yaml does not exist here" in cli("-C", str(border / "docs"), "validate", code=3).stderr
    (border / ".git").rmdir()
    assert cli("-C", str(border / "docs"), "validate").exit_code == 0
    assert cli("-C", str(border / "docs"), "validate", env={"HOME": str(border)}).exit_code == 3


def test_the_lines_of_an_env_file_are_counted_once_and_not_again_for_each_line() -> None:
    looked: list[int] = []

    class Text(str):
        def count(self, text: str, begin: Any = 0, end: Any = None) -> int:
            looked.append((len(self) if end is None else end) - begin)
            return super().count(text, begin, end)

    class Content(bytes):
        def decode(self, *_: Any) -> str:
            return Text(super().decode())

    content = Content(b"\n" * 100 + b"RECONCILER_VAR_A='\n'\nB\n")
    values, problems = env_file.read("ci.env", content)
    assert (values, [problem.line for problem in problems]) == ({"RECONCILER_VAR_A": "\n"}, [103])
    assert 0 < sum(looked) <= len(content)
