"""What a run says while it lasts, without a terminal and on one: processes of their own against a slow sandbox."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import termios
from collections.abc import Iterator

import pytest

from reconciler.cli.terminal.progress import duration
from tests import processes
from tests.cli.conftest import Cli, initialised, prepared

PROGRAM = """
import sys
from reconciler.cli import main
from reconciler.cli.terminal import progress
progress.HEARTBEAT = 0.1
main(sys.argv[1:])
"""
SLOW = '{"fault": "latency", "seconds": 0.25}'


@pytest.fixture
def slow(cli: Cli) -> Cli:
    return on_a_slow_sandbox(cli)


@prepared
def on_a_slow_sandbox(cli: Cli) -> Cli:
    assert initialised(cli)("plan", "p").exit_code == 0
    assert cli("sandbox", "faults", "set", "--db", "p/.reconciler/sandbox.db", "--rule", SLOW).exit_code == 0
    return cli


def narrated(cli: Cli, *words: str) -> list[str]:
    """The lines on stderr of a command without a terminal, whose lines come every 0.1 s in place of 10."""
    done = processes.run(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=cli.root, env={**os.environ, "HOME": str(cli.root)}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


def test_an_apply_says_each_phase_and_meanwhile_counts_the_address_under_way_and_the_time_left(slow: Cli) -> None:
    lines = narrated(slow, "apply", "p", "--yes", "--max-concurrency", "2")
    phases = [line.split(" from ")[0].removesuffix(" …") for line in lines if line.endswith("…")]
    assert phases == ["Reading p", "Applying 11 requests", "Reading again what was written"]
    told = [line for line in lines if line.startswith("Applying 11 requests: ")]
    whole = re.compile(r"Applying 11 requests: \d+ of 11 done; under way: acme/\S+( and \d more)?; about \d+ s left")
    assert [line for line in told if whole.fullmatch(line)]
    done = [int(line.split(": ")[1].split()[0]) for line in told]
    assert done == sorted(done)
    assert len(told) >= 3


@pytest.mark.parametrize(
    ("words", "phase"),
    [
        (("plan", "p"), "Reading p from the sandbox p/.reconciler/sandbox.db"),
        (("drift", "p", "--coverage"), "Reading p from the sandbox p/.reconciler/sandbox.db"),
        (("import", "taken", "--org", "org_acme", "--sandbox", "p/.reconciler/sandbox.db", "--dry-run"), "Reading org_acme"),
    ],
)
def test_a_reading_says_how_many_requests_it_sent_and_which_is_the_last(slow: Cli, words: tuple[str, ...], phase: str) -> None:
    if words[0] == "drift":
        slow("sandbox", "faults", "clear", "--db", "p/.reconciler/sandbox.db")
        slow("apply", "p", "--yes")
        slow("sandbox", "faults", "set", "--db", "p/.reconciler/sandbox.db", "--rule", SLOW)
    lines = [line for line in narrated(slow, *words) if line.startswith(phase)]
    assert lines[0].endswith(" …")
    assert [line for line in lines[1:] if re.search(r": \d+ requests?; now GET /\S+; \d+ s so far$", line)]


def test_quiet_says_nothing(slow: Cli) -> None:
    assert narrated(slow, "plan", "p", "-q") == []


def test_no_line_is_wrapped(slow: Cli) -> None:
    slow.edit("p/reconciler.yaml", "  acme:\n", f"  {'a' * 90}:\n")
    lines = narrated(slow, "apply", "p", "--yes", "--max-concurrency", "1")
    assert max(map(len, lines)) > 120
    assert not [line for line in lines if line.startswith(" ")]


def test_the_bar_of_a_terminal_shows_the_address_under_way_and_fits_into_a_line(slow: Cli) -> None:
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (40, 100))
    env = {**os.environ, "HOME": str(slow.root), "TERM": "xterm", "COLUMNS": "100"}
    words = [sys.executable, "-m", "reconciler", "apply", "p", "--yes", "--max-concurrency", "2"]
    with subprocess.Popen(words, cwd=slow.root, env=env, stdin=follower, stdout=subprocess.DEVNULL, stderr=follower) as running:
        os.close(follower)
        shown = "".join(_read(leader))
    os.close(leader)
    assert running.returncode == 0, shown
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).rstrip() for line in re.split(r"[\r\n]+", shown)]
    bars = [line for line in lines if re.search(r"\d+ of 11 done", line)]
    assert [line for line in bars if re.search(r"of 11 done .* acme/\S+( and \d more)?$", line)], bars[:5]
    assert max(map(len, bars)) <= 100


def _read(leader: int) -> Iterator[str]:
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # the other end is closed
            return
        if not part:
            return
        yield part.decode("utf-8", "replace")


def test_a_time_is_said_in_the_largest_units_that_matter() -> None:
    assert [duration(seconds) for seconds in (0.1, 40.4, 61, 480, 3599, 4800)] == [
        "1 s",
        "40 s",
        "1 min",
        "8 min",
        "1 h",
        "1 h 20 min",
    ]
