"""What commands say to people who are wrong, or who cannot know: each answer says what is so, and what to do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime

import pytest

from reconciler.model import RecordedRun
from reconciler.report.history import history_text
from reconciler.text.install import installing
from reconciler.text.names import clock_time
from tests import processes
from tests.cli.conftest import Cli, applied_project
from tests.documents import valid

NOW = datetime(2026, 11, 18, tzinfo=UTC)
LATE = '{"fault": "latency", "seconds": 60, "operation": "PATCH *"}'


@pytest.fixture
def applied(cli: Cli) -> Cli:
    return applied_project(cli)


def process(cli: Cli, *words: str) -> subprocess.Popen[str]:
    """A command in a process of its own, without a terminal."""
    environ = {name: value for name, value in os.environ.items() if name != "COLUMNS" and not name.startswith("RECONCILER_")}
    return processes.Popen(
        [sys.executable, "-m", "reconciler", *words],
        cwd=cli.root, env=environ | {"HOME": str(cli.root)},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


# -- documents ------------------------------------------------------------------------------------------------------------------------


def test_what_the_state_tracks_is_a_document_with_a_format(applied: Cli) -> None:
    listed = valid(applied.json("state", "list", "p"), "state-list")
    shown = valid(applied.json("state", "show", "acme/space/guides", "p"), "state-show")
    assert (listed["format"], shown["format"]) == ("reconciler.state-list/1", "reconciler.state-show/1")
    assert {key: shown[key] for key in listed["bindings"][0]} in listed["bindings"]


def test_a_state_that_does_not_exist_yet_is_a_document_too(cli: Cli) -> None:
    cli("init", "p", "--sandbox")
    assert valid(cli.json("state", "list", "p"), "state-list")["bindings"] == []


# -- what is not installed --------------------------------------------------------------------------------------------------------------


def test_init_of_a_sandbox_says_at_once_what_to_install(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    refused = cli("init", "p", "--sandbox")
    assert refused.exit_code == 1
    assert refused.stderr.startswith("error: the sandbox requires packages that are not installed: uvicorn [RC-package-missing]\n")
    assert installing("fastapi", "uvicorn") in refused.stderr
    assert not (cli.root / "p").exists()
    assert cli("init", "p").exit_code == 0


# -- runs ------------------------------------------------------------------------------------------------------------------------------


def test_undo_of_an_unknown_run_lists_the_known_ones(applied: Cli) -> None:
    known = applied.json("history", "p")["runs"][0]["id"][:8]
    refused = applied("undo", "zzz", "p")
    assert refused.exit_code == 3
    assert refused.stderr.startswith("error: run zzz does not exist [RC-no-such-run]\n       These runs did something, newest first:\n")
    assert f"{known}  " in refused.stderr
    assert "terminal" not in refused.stderr


def test_undo_without_a_terminal_shows_what_it_would_do_and_changes_nothing(applied: Cli) -> None:
    applied.edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    assert applied("apply", "p", "--yes").exit_code == 0
    refused = applied("undo", "last", "p")
    assert refused.exit_code == 3
    assert "~ title       Authors -> Writers" in refused.stdout
    assert refused.stderr.endswith("[RC-no-terminal]\n       Pass --yes to undo without confirmation.\n")
    assert applied("plan", "p").exit_code == 0
    assert applied("plan", "p").stdout.startswith("No changes.")
    undone = applied("undo", "last", "p", "--yes")
    assert undone.exit_code == 0
    assert "is undone" in undone.stdout


def test_undo_before_anything_ran_says_so(cli: Cli) -> None:
    cli("init", "p", "--sandbox")
    refused = cli("undo", "zzz", "p", "--yes")
    assert (refused.exit_code, "Nothing has run yet." in refused.stderr) == (3, True)


def test_a_killed_run_is_killed_in_the_history_and_stays_so_after_it_was_recovered(applied: Cli) -> None:
    applied("sandbox", "faults", "set", "--db", "p/.reconciler/sandbox.db", "--rule", LATE)
    applied.edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    with process(applied, "apply", "p", "--yes") as running:
        try:
            while not (run := applied.json("history", "p")["runs"][0])["undone"]:
                assert running.poll() is None
                time.sleep(0.05)  # until its request is under way
            assert (run["status"], run["exit"]) == ("running", None)
            assert "  running  " in applied("history", "p").stdout
        finally:
            running.send_signal(signal.SIGKILL)
    killed = valid(applied.json("history", "p"), "history")["runs"][0]
    assert (killed["status"], killed["undone"]) == ("killed", {"in-doubt": 1})
    applied("sandbox", "faults", "clear", "--db", "p/.reconciler/sandbox.db")
    assert applied("apply", "p", "--yes").exit_code == 0
    runs = valid(applied.json("history", "p"), "history")["runs"]
    assert [(run["id"] == killed["id"], run["status"]) for run in runs] == [(False, "ended"), (True, "killed"), (False, "ended")]
    assert "under way" not in applied("history", "p").stdout


# -- times and widths -------------------------------------------------------------------------------------------------------------------


def test_times_are_the_readers_and_documents_keep_utc(applied: Cli) -> None:
    said = {}
    for zone in ("Asia/Tokyo", "America/New_York"):
        shown = processes.run(
            [sys.executable, "-m", "reconciler", "history", "p"],
            cwd=applied.root, env=os.environ | {"TZ": zone}, capture_output=True, text=True,
        ).stdout  # fmt: skip
        said[zone] = shown.splitlines()[1][10:].split("  ")[0]
    started = datetime.fromisoformat(applied.json("history", "p")["runs"][0]["started"])
    assert started.utcoffset() == UTC.utcoffset(None)
    assert said["Asia/Tokyo"].endswith(" JST")
    assert said["America/New_York"].split()[-1] in ("EST", "EDT")
    assert said["Asia/Tokyo"] != said["America/New_York"]


def test_a_moment_is_said_with_its_zone() -> None:
    assert clock_time(datetime(2026, 11, 18, 14, 2, 11, tzinfo=UTC), UTC) == "2026-11-18 14:02:11 UTC"


def test_the_last_column_of_the_history_is_wrapped_below_itself() -> None:
    run = RecordedRun(
        "0" * 36, "ada@host", "apply", datetime(2026, 11, 18, tzinfo=UTC), None, 0, {"create": 1, "update": 2, "move": 3, "delete": 4}
    )
    lines = history_text([run], width=92).splitlines()
    assert max(map(len, lines)) <= 92
    assert [line[lines[0].index("what") :] for line in lines[1:]] == ["1 create, 2 update, 3 move, 4", "delete"]


def test_nothing_is_wrapped_where_there_is_no_terminal(applied: Cli) -> None:
    long = "x" * 90
    applied.edit("p/reconciler.yaml", "writers:", f"{long}:")
    with process(applied, "plan", "p", "--color", "never") as planned:
        out, _ = planned.communicate()
    assert max(map(len, out.splitlines())) > 120
    assert max(map(len, applied("plan", "p", env={"COLUMNS": "60"}).stdout.splitlines()[:-1])) <= 60


# -- the state's lock -------------------------------------------------------------------------------------------------------------------


def test_unlock_without_force_says_that_it_only_shows(applied: Cli) -> None:
    applied("sandbox", "faults", "set", "--db", "p/.reconciler/sandbox.db", "--rule", LATE)
    applied.edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    with process(applied, "apply", "p", "--yes") as running:
        try:
            while applied.json("history", "p")["runs"][0]["status"] != "running":
                assert running.poll() is None
                time.sleep(0.05)  # until it has the state
            shown = applied("state", "unlock", "p")
        finally:
            running.kill()
    assert shown.exit_code == 0
    assert "holds the state with run" in shown.stdout
    assert "Nothing was unlocked: without --force this command only shows who holds the state." in shown.stderr


def test_the_help_of_unlock_says_the_same(cli: Cli) -> None:
    assert "With --force RUN, take the lease" in " ".join(cli("state", "unlock", "--help").stdout.split())
