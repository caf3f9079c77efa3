"""`--lock-timeout`: a run waits for another process that holds the state, names it once, and gives up when the time is over."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import Cli, applied_project
from tests.proofs import costly

HOLD = """
import fcntl, json, os, sys
handle = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(handle, fcntl.LOCK_EX)
holder = {"run": "r", "who": "ada@desk", "command": "apply", "since": "2026-11-18T14:02:11+00:00", "pid": os.getpid()}
os.pwrite(handle, json.dumps(holder).encode(), 0)
print("held", flush=True)
sys.stdin.readline()
"""
"""A process that holds the lock of a state as a run does, until a line arrives."""


@pytest.fixture
def changed(cli: Cli) -> Cli:
    applied_project(cli).edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    return cli


def holder(cli: Cli) -> subprocess.Popen[str]:
    lock = cli.root / "p" / ".reconciler" / "state.db.lock"
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def apply(cli: Cli, *words: str) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "reconciler", "apply", "p", "--yes", *words]
    return subprocess.Popen(line, cwd=cli.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@costly
def test_a_run_waits_for_the_run_that_holds_the_state_and_names_it_once(changed: Cli) -> None:
    other = holder(changed)
    waiting = apply(changed, "--lock-timeout", "5m")
    assert waiting.stderr is not None
    line = waiting.stderr.readline()
    assert line.startswith("Another run holds the state: ada@desk has been running `apply` (process ")
    assert line.endswith(". Waiting for it up to 5 min.\n")
    other.communicate("now\n")
    out, rest = waiting.communicate()
    assert waiting.returncode == 0, rest
    assert "Waiting for it" not in rest
    assert "Applied 1 request." in out


@costly
def test_a_run_gives_up_when_the_time_is_over_with_the_usual_error(changed: Cli) -> None:
    other = holder(changed)
    waiting = apply(changed, "--lock-timeout", "1s")
    _, errors = waiting.communicate()
    assert waiting.returncode == 6
    assert "error: another run holds the state: ada@desk" in errors
    at_once = apply(changed)
    _, errors = at_once.communicate()
    assert at_once.returncode == 6
    assert "Waiting for it" not in errors
    other.communicate("now\n")


@pytest.mark.parametrize("text", ["soon", "5 minutes", "-1", "1.5h", "1d", "9999999999"])
def test_a_duration_that_cannot_be_read_shows_the_form(changed: Cli, text: str) -> None:
    result = changed("apply", "p", "--yes", f"--lock-timeout={text}")
    assert result.exit_code == 3
    assert "is not a duration: write seconds, or 90s, 10m, 1h" in result.stderr


def test_the_duration_is_also_a_variable(changed: Cli) -> None:
    result = changed("apply", "p", "--yes", env={"RECONCILER_LOCK_TIMEOUT": "soon"})
    assert result.exit_code == 3
    assert "RECONCILER_LOCK_TIMEOUT" in result.stderr


def test_every_command_that_takes_the_lease_has_the_option(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    for words in ("apply", "undo", "adopt", "import", "state mv", "state forget", "state push"):
        assert "--lock-timeout" in cli(*words.split(), "--help").stdout, words
