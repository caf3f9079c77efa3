"""`state list` and `history`: no YAML is read where nothing changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, retitled

SLOW = {"yaml", "httpx", "aiohttp", "asyncio", "reconciler.kinds", "reconciler.config.project"}
SETTINGS = Path("p/.reconciler/settings.json")


@pytest.fixture
def applied(cli: Cli) -> Cli:
    """A project of two runs."""
    return retitled(cli)


@pytest.mark.parametrize("words", [("state", "list"), ("history",)], ids=" ".join)
@pytest.mark.parametrize("format", ["text", "json"])
def test_nothing_of_the_yaml_is_read_twice(applied: Cli, words: tuple[str, ...], format: str) -> None:
    first = applied(*words, "p", "--format", format)
    assert (applied.root / SETTINGS).stat().st_mode & 0o777 == 0o600
    assert applied(*words, "p", "--format", format).output == first.output
    (applied.root / SETTINGS).unlink()
    (applied.root / "p/.reconciler/state.db").rename(applied.root / "aside.db")
    other = applied(*words, "p", "--format", format, "--state", f"sqlite:///{applied.root}/aside.db")
    assert other.stdout == first.stdout


@pytest.mark.parametrize(
    "edit",
    [lambda text: text[:-9], lambda text: text.replace(b"mydocs", b"others"), lambda text: b"", lambda text: b"{}\n{}"],
    ids=["cut off", "edited", "empty", "foreign"],
)
def test_settings_that_somebody_else_wrote_are_ignored(applied: Cli, edit: Callable[[bytes], bytes]) -> None:
    first = applied("state", "list", "p")
    genuine = (applied.root / SETTINGS).read_bytes()
    (applied.root / SETTINGS).write_bytes(edit(genuine))
    assert applied("state", "list", "p").output == first.output
    assert (applied.root / SETTINGS).read_bytes() == genuine


def test_another_project_name_is_noticed_at_once(applied: Cli) -> None:
    applied("state", "list", "p")
    text = (applied.root / "p/reconciler.yaml").read_text(encoding="utf-8")
    name = next(line for line in text.splitlines() if line.startswith("project:"))
    applied.edit("p/reconciler.yaml", name, "project: renamed")
    assert "has never seen project renamed" in applied("state", "list", "p").stderr


def test_settings_that_come_from_expressions_are_not_remembered(applied: Cli) -> None:
    applied.edit("p/reconciler.yaml", "version: 1", "version: 1\nvars: {title: {default: x}}\nx-a: ${{ vars.title }}")
    applied("state", "list", "p")
    assert not (applied.root / SETTINGS).exists()


@pytest.mark.parametrize("words", [("state", "list"), ("history",)], ids=" ".join)
@pytest.mark.parametrize("remembers", [True, False])
def test_what_the_project_declares_is_neither_read_nor_warned_about(applied: Cli, words: tuple[str, ...], remembers: bool) -> None:
    first = applied(*words, "p")
    applied.edit("p/reconciler.yaml", "version: 1\n", "version: 1\ninclude: [more.yaml]\nvars: {idle: {default: x}}\n")
    applied.write("p/more.yaml", "- nothing that: [could be\n")
    applied("validate", "p")
    for _ in range(2):
        (applied.root / SETTINGS).unlink(missing_ok=not remembers)
        if remembers:
            applied(*words, "p")
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
    (applied.root / SETTINGS).unlink(missing_ok=True)


def test_settings_are_not_remembered_where_a_variable_is_a_secret(applied: Cli) -> None:
    """Or its value, which is masked in what is printed, would be printed from the next run on."""
    applied.edit("p/reconciler.yaml", "version: 1\n", "version: 1\nvars: {name: {default: none, env: RECONCILER_VAR_NAME}}\n")
    secret = {"RECONCILER_VAR_NAME": "guides"}
    first = applied("state", "list", "p", env=secret)
    assert "guides" not in first.stdout
    assert applied("state", "list", "p", env=secret).stdout == first.stdout
    assert "guides" in applied("state", "list", "p", "--public-var", "name", env=secret).stdout
