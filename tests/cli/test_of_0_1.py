"""What a user of version 0.1 has still works: the project, its state in the middle of things, a saved plan, and every command line.

The folder `of_0_1` was written by version 0.1: a project that was applied three times, with a request in doubt, a change made outside, and
a plan that was saved and not applied. The databases are dumps. Nothing in it is ever written again.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest

from reconciler.assembled import main
from tests.command_line import Cli
from tests.documents import valid

FOLDER = Path(__file__).parent / "of_0_1"
DOUBTFUL = "acme/team/translators"
RENAMED = "6a9df3e2"  # the run that renamed a team


@pytest.fixture
def handbook(cli: Cli) -> Cli:
    """The project as version 0.1 left it."""
    (cli.root / ".reconciler").mkdir()
    for name in ("reconciler.yaml", "okta.pem", "plan.json"):
        shutil.copy(FOLDER / name, cli.root / name)
    for name in ("state", "sandbox"):
        with closing(sqlite3.connect(cli.root / ".reconciler" / f"{name}.db")) as connection:
            connection.executescript((FOLDER / f"{name}.sql").read_text(encoding="utf-8"))
    return cli


def test_its_project_is_valid_and_its_state_tracks_what_it_tracked(handbook: Cli) -> None:
    assert handbook("validate").stdout == "handbook is valid: 20 resources in 1 file.\n"
    tracked = {one["address"] for one in handbook.json("state", "list")["bindings"]}
    assert len(tracked) == 19
    assert {"acme/agent-instructions", "acme/site/docs/adaptive-schema", "acme/team/authors"} <= tracked
    assert [run["exit"] for run in valid(handbook.json("history"), "history")["runs"]] == [5, 0, 0, 0]


def test_its_plan_is_the_one_that_version_0_1_made(handbook: Cli) -> None:
    saved, today = json.loads((FOLDER / "plan.json").read_text(encoding="utf-8")), handbook.json("plan")
    assert [(one["address"], one["actions"], one["fields"]) for one in today["changes"] if one["actions"] != ["blocked"]] == [
        (one["address"], one["actions"], one["fields"]) for one in saved["changes"]
    ]
    assert [blocked["address"] for blocked in today["blocked"]] == [DOUBTFUL]
    drift = handbook("drift")
    assert (drift.exit_code, "Blank -> Do not touch" in drift.stdout) == (2, True)


def test_its_saved_plan_is_applied_after_its_request_in_doubt_is_resolved_and_only_once(handbook: Cli) -> None:
    applied = handbook("apply", "--plan", "plan.json")
    assert (applied.exit_code, applied.stdout.splitlines()[-1]) == (0, "Applied 3 requests. The plan file was applied."), applied.stderr
    assert f"{DOUBTFUL}: was created by an earlier run" in applied.stderr
    assert handbook("plan").stdout == "No changes. 20 objects managed, 0 unmanaged.\n"
    teams = json.loads(handbook("api", "GET", "/orgs/org_acme/teams", "--sandbox", ".reconciler/sandbox.db").stdout)
    assert sorted(team["title"] for team in teams["items"]) == ["Authors", "Reviewers", "Translators"]
    again = handbook("apply", "--plan", "plan.json")
    assert (again.exit_code, "applied already" in again.stdout + again.stderr) == (0, True)
    assert json.loads(handbook("api", "GET", "/orgs/org_acme/teams", "--sandbox", ".reconciler/sandbox.db").stdout) == teams


def test_its_project_is_applied_and_a_run_of_it_is_undone(handbook: Cli) -> None:
    assert handbook("apply", "--yes").exit_code == 0
    undone = handbook("undo", RENAMED, "--yes")
    assert (undone.exit_code, "Authors -> Writers" in undone.stdout) == (0, True), undone.stderr
    assert "rename acme/team/authors to acme/team/writers" in undone.stderr


def test_its_state_can_be_moved_and_the_next_plan_is_empty(handbook: Cli) -> None:
    assert handbook("apply", "--yes").exit_code == 0
    assert handbook("state", "pull", "--out", "state.json").exit_code == 0
    for file in (handbook.root / ".reconciler").glob("state.db*"):
        file.unlink()
    assert handbook("state", "push", "state.json").exit_code == 0
    plan = handbook("plan")
    assert (plan.exit_code, plan.stdout) == (0, "No changes. 20 objects managed, 0 unmanaged.\n")


def command(words: list[str]) -> click.Command:
    """The command of today with these names."""
    found: click.Command = main
    for word in words:
        assert isinstance(found, click.Group), words
        inner = found.get_command(click.Context(found), word)
        assert inner is not None, f"{' '.join(words)} is no command any more"
        found = inner
    return found


def accepted(found: click.Command) -> Iterator[tuple[str, frozenset[str] | None]]:
    """The options of a command, each with its choices; None for any value, no choices for a flag."""
    for option in found.get_params(click.Context(found)):
        if isinstance(option, click.Option):
            choices = frozenset(map(str, option.type.choices)) if isinstance(option.type, click.Choice) else None
            for name in (*option.opts, *option.secondary_opts):
                yield name, frozenset() if option.is_flag or option.count else choices


@pytest.mark.parametrize(
    "line", (FOLDER / "command_line.txt").read_text(encoding="utf-8").splitlines(), ids=lambda line: line.partition(":")[0]
)
def test_every_option_and_choice_of_version_0_1_is_still_accepted(line: str) -> None:
    """A pipeline that somebody wrote then runs the same commands."""
    words, _, given = line.partition(":")
    options = dict(accepted(command(words.split())))
    for option in given.split():
        name, takes, values = option.partition("=")
        assert name in options, f"{words} has no {name} any more"
        choices = options[name]
        assert (choices == frozenset()) == (not takes), f"{words} {name} takes a value or none, as it did"
        if values not in ("", "VALUE") and choices is not None:
            assert set(values.split("|")) <= choices, f"{words} {name} accepts what it accepted"
