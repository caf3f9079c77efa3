"""A rehearsal that is ended from outside, at any moment: a real process. The living service, its state and the disk are as before."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reconciler import exits
from tests import processes
from tests.command_line import Cli, prepared
from tests.features.rehearsal.test_handbook import HANDBOOK, SANDBOX
from tests.proofs import costly, spread

COMMAND = [sys.executable, "-m", "reconciler", "rehearse", "handbook/reorganized.yaml", *SANDBOX]
# parts of the time that a rehearsal takes
_seconds: list[float] = []  # that a rehearsal took in this process
MOMENTS = spread([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], 3)


@prepared
def handbook(cli: Cli) -> Cli:
    """The handbook, applied."""
    shutil.copytree(HANDBOOK, cli.root / "handbook")
    cli("apply", "handbook", *SANDBOX, "--yes", "--allow-exposure", "**", code=exits.DONE)
    return cli


@pytest.fixture
def living(cli: Cli) -> Cli:
    handbook(cli)
    (cli.root / "tmp").mkdir()
    return cli


def _holds(cli: Cli) -> tuple[str, str]:
    """The living service and its state."""
    export = json.loads(cli("sandbox", "export", "--db", "handbook.db").stdout)
    return json.dumps([export["objects"], export["tokens"]]), cli("state", "pull", "handbook", *SANDBOX).stdout


def _started(cli: Cli) -> processes.Popen:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RECONCILER_")}
    environ |= {"HOME": str(cli.root), "TMPDIR": str(cli.root / "tmp")}
    return processes.Popen(COMMAND, cwd=cli.root, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def _ended(cli: Cli, number: signal.Signals, part: float) -> tuple[int, str]:
    """The exit code and the messages of a rehearsal that gets this signal after a part of its time."""
    if not _seconds:
        began = time.monotonic()
        with _started(cli) as calm:
            assert calm.wait() == exits.DONE
        _seconds.append(time.monotonic() - began)
        assert _left(cli) == []
    with _started(cli) as running:
        time.sleep(part * _seconds[0])
        running.send_signal(number)
        return running.wait(), running.stderr.read()


def _left(cli: Cli) -> list[Path]:
    return list((cli.root / "tmp").iterdir())


@costly
@pytest.mark.parametrize("part", MOMENTS)
def test_a_killed_rehearsal_leaves_the_service_and_the_state_as_they_were(living: Cli, part: float) -> None:
    before = _holds(living)
    _ended(living, signal.SIGKILL, part)
    assert _holds(living) == before
    # nobody could remove what a killed process had; nobody else can read it
    assert [folder for folder in _left(living) if stat.S_IMODE(folder.stat().st_mode) != 0o700] == []


@costly
@pytest.mark.parametrize("part", MOMENTS)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_rehearsal_that_is_asked_to_end_removes_its_copy(living: Cli, number: signal.Signals, code: int, part: float) -> None:
    before = _holds(living)
    ended, messages = _ended(living, number, part)
    assert ended in (code, exits.DONE), messages  # done, where the signal came too late
    assert "Traceback" not in messages
    assert _left(living) == []
    assert _holds(living) == before


@costly
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_rehearsal_that_is_ended_amid_its_apply_reports_nothing(living: Cli, number: signal.Signals, code: int) -> None:
    with _started(living) as running:
        for line in running.stderr:
            if line.startswith("Applying"):
                running.send_signal(number)
                break
        assert running.wait() == code
    assert _left(living) == []
