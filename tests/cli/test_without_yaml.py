"""`state list` and `history`: of the YAML only the settings, and the same as what the store says."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime

import pytest

from reconciler.state import StateScope, Store
from reconciler.state.tables.direct import VERSION, read_runs, read_tracking, tracking_of
from reconciler.state.tables.migrations import MIGRATIONS
from tests.cli.conftest import Cli, retitled


@pytest.fixture
def applied(cli: Cli) -> Cli:
    """A project of two runs."""
    return retitled(cli)


def scope_of(cli: Cli) -> StateScope:
    with closing(sqlite3.connect(cli.root / "p/.reconciler/state.db")) as database:
        project, environment, service = database.execute("SELECT project, environment, service FROM states").fetchone()
    return StateScope(project, environment or None, service)


def test_the_statements_are_of_the_tables_of_today() -> None:
    assert 1 + len(MIGRATIONS) == VERSION


def test_what_is_read_directly_is_what_the_store_reads(applied: Cli) -> None:
    path, scope = applied.root / "p/.reconciler/state.db", scope_of(applied)
    words = (scope.project, scope.environment or "", scope.service)
    with Store.open(f"sqlite:///{path}", scope, clock=lambda: datetime.now(UTC), create=False) as store:
        tracking, runs = read_tracking(path, words), read_runs(path, words)
        assert tracking == tracking_of(store.read())
        assert tracking is not None
        assert len(tracking.objects) > 5
        assert runs == store.runs()
        assert len(store.runs()) == 2


def unended(database: sqlite3.Connection) -> None:
    database.execute("UPDATE runs SET ended = NULL, exit_code = NULL")


def older(database: sqlite3.Connection) -> None:
    database.execute("UPDATE reconciler_schema SET version = version - 1")


def empty(database: sqlite3.Connection) -> None:
    for table in ("fields", "bindings", "outcomes", "journal", "turns"):
        database.execute(f"DELETE FROM {table}")


@pytest.mark.parametrize(("edit", "tracks"), [(unended, True), (older, False), (empty, False)])
def test_what_is_out_of_the_ordinary_is_left_to_the_store(applied: Cli, edit: Callable[[sqlite3.Connection], None], tracks: bool) -> None:
    path, scope = applied.root / "p/.reconciler/state.db", scope_of(applied)
    words = (scope.project, scope.environment or "", scope.service)
    with closing(sqlite3.connect(path)) as database, database:
        edit(database)
    assert (read_tracking(path, words) is not None) == tracks
    assert read_runs(path, words) is None
    assert read_tracking(path, ("another", "", scope.service)) is None
    assert read_tracking(path.with_name("none.db"), words) is None


def test_a_state_that_is_being_written_is_left_to_the_store(applied: Cli) -> None:
    path, scope = applied.root / "p/.reconciler/state.db", scope_of(applied)
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE more (id INTEGER)")
        assert read_tracking(path, (scope.project, "", scope.service)) is None


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
