"""`state list` and `history`: of the YAML only the settings."""

from __future__ import annotations

import os

import pytest

from tests.cli.conftest import Cli, retitled


@pytest.fixture
def applied(cli: Cli) -> Cli:
    """A project of two runs."""
    return retitled(cli)


def test_another_project_name_is_noticed_at_once(applied: Cli) -> None:
    applied("state", "list", "p")
    text = (applied.root / "p/reconciler.yaml").read_text(encoding="utf-8")
    name = next(line for line in text.splitlines() if line.startswith("project:"))
    applied.edit("p/reconciler.yaml", name, "project: renamed")
    assert "has never seen project renamed" in applied("state", "list", "p").stderr


@pytest.mark.parametrize("words", [("state", "list"), ("history",)], ids=" ".join)
def test_what_the_project_declares_is_neither_read_nor_warned_about(applied: Cli, words: tuple[str, ...]) -> None:
    first = applied(*words, "p")
    applied.edit("p/reconciler.yaml", "version: 1\n", "version: 1\ninclude: [more.yaml]\nvars: {idle: {default: x}}\n")
    applied.write("p/more.yaml", "- nothing that: [could be\n")
    applied("validate", "p")
    result = applied(*words, "p")
    assert (result.exit_code, result.stdout, result.stderr) == (0, first.stdout, "")


SETTINGS_WRONG = (
    ("version: 1", "version: 2", "this program knows version 1"),
    ("project: p", "project: [p]", "project must be one value"),
    ("project: p", "project: p\nstat: sqlite:///other.db", 'unknown key "stat"; did you mean "state"?'),
    ("project: p", "project: p\nstate: sqlite:///${{ vars.place }}.db", 'variable "place" is not declared'),
    ("project: p", "project: p\nstate: sqlite:///${{ secrets.place }}.db\nsecrets: a.enc.yaml", "no such file"),
    ("project: p", "project: p\nstate: \"${{ file('.reconciler/state.db') }}\"", "begins with a dot"),
    ("project: p", "project: p\nvars: {place: {type: string}}", "it has no value"),
    ("member: ada", "membr: ada", 'unknown key "membr" in service'),
)


@pytest.mark.parametrize(("old", "new", "wrong"), SETTINGS_WRONG, ids=[wrong for _, _, wrong in SETTINGS_WRONG])
def test_settings_that_are_wrong_are_reported_in_the_words_of_validate(applied: Cli, old: str, new: str, wrong: str) -> None:
    applied.edit("p/reconciler.yaml", old, new)
    listed, validated = applied("state", "list", "p"), applied("validate", "p")
    assert listed.exit_code == validated.exit_code == 3
    assert wrong in listed.stderr
    assert set(listed.stderr.splitlines()[:-1]) <= set(validated.stderr.splitlines())


def test_settings_are_those_of_the_environment_and_its_variables(applied: Cli) -> None:
    (applied.root / "p/.reconciler/state.db").rename(applied.root / "p/.reconciler/staging.db")
    applied.edit("p/reconciler.yaml", "version: 1\n", "version: 1\nvars: {name: {default: none}}\n")
    applied.write("p/environments/staging.yaml", "vars: {name: staging}\nstate: sqlite:///.reconciler/${{ vars.name }}.db\n")
    for words in (("state", "list"), ("history",)):
        shown = applied(*words, "p", "--env", "staging").stderr
        assert "staging.db tracks nothing of project p in staging" in shown or "has never seen project p in staging" in shown


def test_a_project_file_that_is_a_pipe_is_not_waited_for(applied: Cli) -> None:
    (applied.root / "p/reconciler.yaml").unlink()
    os.mkfifo(applied.root / "p/reconciler.yaml")
    for words in (("state", "list"), ("history",), ("plan",)):
        assert applied(*words, "p").exit_code == 3
