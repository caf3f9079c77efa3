"""What a run says while it lasts, without a terminal and on one: processes of their own against a slow sandbox."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from reconciler.cli.terminal.bar import Bar
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.run import narration
from reconciler.run.narration import Tally
from reconciler.text.names import duration
from tests import processes
from tests.command_line import Cli, initialised, prepared

PROGRAM = """
import sys
from reconciler.assembled import main
from reconciler.run import narration
narration.HEARTBEAT = 0.1
narration.STEADY = 0.2
main(sys.argv[1:])
"""
AT_ONCE = PROGRAM.replace("main(", "narration.LASTING = 0.0\nmain(")
SLOW = '{"fault": "latency", "seconds": 0.25}'


@pytest.fixture
def slow(cli: Cli) -> Cli:
    return on_a_slow_sandbox(cli)


@prepared
def on_a_slow_sandbox(cli: Cli) -> Cli:
    assert initialised(cli)("plan", "p").exit_code == 0
    assert cli("sandbox", "faults", "set", "--db", "p/.reconciler/sandbox.db", "--rule", SLOW).exit_code == 0
    return cli


def narrated(cli: Cli, *words: str, program: str = PROGRAM) -> list[str]:
    """The lines on stderr of a command without a terminal, whose lines come every 0.1 s in place of 10."""
    done = processes.run(
        [sys.executable, "-c", program, *words],
        cwd=cli.root, env={**os.environ, "HOME": str(cli.root)}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


def test_an_apply_says_each_phase_and_meanwhile_counts_the_address_under_way_and_the_time_left(slow: Cli) -> None:
    lines = narrated(slow, "apply", "p", "--yes", "--max-concurrency", "2")
    phases = [line.split(" from ")[0].removesuffix(" …") for line in lines if line.endswith("…")]
    phases = [phase for phase in phases if "objects" not in phase]  # planning and comparing are named only where they last
    assert phases == ["Reading p", "Applying 11 requests", "Reading again what was written"]
    told = [line for line in lines if line.startswith("Applying 11 requests: ")]
    speed, objects = r"[\d.]+ requests a second", r"\d+ of 7 objects"
    whole = re.compile(rf"Applying 11 requests: \d+ of 11 done, {speed}; {objects}; under way: acme/\S+( and \d more)?; about \d+ s left")
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
def test_a_reading_says_how_many_requests_and_objects_it_read_how_fast_and_which_came_last(
    slow: Cli, words: tuple[str, ...], phase: str
) -> None:
    if words[0] == "drift":
        slow("sandbox", "faults", "clear", "--db", "p/.reconciler/sandbox.db")
        slow("apply", "p", "--yes")
        slow("sandbox", "faults", "set", "--db", "p/.reconciler/sandbox.db", "--rule", SLOW)
    lines = [line for line in narrated(slow, *words) if line.startswith(phase)]
    assert lines[0].endswith(" …")
    facts = r": \d+( of \d+)? requests?, [\d.]+ a second; \d+ objects?; now GET /\S+; (\d+ s so far|about \d+ s left)$"
    assert [line for line in lines[1:] if re.search(facts, line)], lines


def test_what_sends_no_requests_is_named_where_it_lasts(slow: Cli) -> None:
    lines = narrated(slow, "plan", "p", program=AT_ONCE)
    assert [line for line in lines if line.endswith("…")][:2] == ["Loading the project …", "Reading the state …"]
    assert narrated(slow, "validate", "p") == []


def test_an_import_says_what_it_does_with_what_it_read(slow: Cli) -> None:
    words = ("import", "taken", "--org", "org_acme", "--sandbox", "p/.reconciler/sandbox.db")
    lines = narrated(slow, *words, program=AT_ONCE)
    phases = [line.removesuffix(" …") for line in lines if line.endswith("…")]
    assert [re.sub(r"\d+", "N", phase).split(" from ")[0] for phase in phases] == [
        "Reading org_acme",
        "Describing N objects in YAML",
        "Checking N written file",
        "Tracking N objects",
    ]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[], list[str]]:
    """The lines on stderr so far, where a part of a run lasts from a tenth of a second on."""
    monkeypatch.setattr(narration, "LASTING", 0.1)
    monkeypatch.setattr(narration, "LOOKED", 0.01)
    return lambda: capsys.readouterr().err.splitlines()


def test_where_there_is_no_terminal_each_part_that_lasts_is_named_once(said: Callable[[], list[str]]) -> None:
    voice = TerminalVoice(Screen())
    with voice.phase("Reading p", where="https://api.example.com"):
        time.sleep(0.3)
        voice.stage("Planning 12 objects")
        time.sleep(0.3)
        voice.stage("Checking the plan for 12 objects")
    with voice.lasting("Loading the project"):
        time.sleep(0.3)
    with voice.lasting("Reading the state"):
        pass
    assert said() == ["Reading p from https://api.example.com …", "Planning 12 objects …", "Loading the project …"]


def test_a_part_that_is_named_late_is_named_before_it_says_how_far_it_is(said: Callable[[], list[str]]) -> None:
    voice = TerminalVoice(Screen(), every=0.05)
    with voice.phase("Reading p"):
        voice.stage("Planning 12 objects")
        time.sleep(0.3)
    assert said()[:3] == ["Reading p …", "Planning 12 objects …", "Planning 12 objects: 1 s so far"]


def test_quiet_says_nothing(slow: Cli) -> None:
    assert narrated(slow, "plan", "p", "-q") == []


def test_no_line_is_wrapped(slow: Cli) -> None:
    slow.edit("p/reconciler.yaml", "  acme:\n", f"  {'a' * 90}:\n")
    lines = narrated(slow, "apply", "p", "--yes", "--max-concurrency", "1")
    assert max(map(len, lines)) > 120
    assert not [line for line in lines if line.startswith(" ")]


def test_the_bar_of_a_terminal_shows_the_address_under_way_and_fits_into_a_line(slow: Cli) -> None:
    lines = on_a_terminal(slow, [sys.executable, "-m", "reconciler", "apply", "p", "--yes", "--max-concurrency", "2"])
    bars = [line for line in lines if re.search(r"\d+ of 11 done", line)]
    assert [line for line in bars if re.search(r"of 11 done\b.* acme/\S+( and \d more)?$", line)], bars[:5]
    assert max(map(len, bars)) <= 100


def test_a_terminal_shows_what_lasts_without_requests_too(slow: Cli) -> None:
    program = AT_ONCE
    lines = on_a_terminal(slow, [sys.executable, "-c", program, "plan", "p"])
    assert [line for line in lines if re.search("Loading the project: 1 s so far", line)]
    assert not [line for line in lines if line.endswith("…")]


def test_nothing_is_left_of_the_live_line_and_what_is_said_meanwhile_is_a_line_of_its_own() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    bar = Bar(stream, lambda: "Applying 4 requests: 1 of 4 done", lambda: (1, 4), lambda: 80, colored=False)
    bar.draw()
    bar.above("Waiting 5 s\n")
    bar.erase()
    bar.above("Applied.\n")
    written = stream.buffer.getvalue().decode()  # type: ignore[attr-defined]
    assert screenful(written) == ["Waiting 5 s", "Applied."]
    assert "━━━───────── Applying 4 requests: 1 of 4 done" in written


@pytest.mark.parametrize(("text", "shown"), [("x" * 90, "x" * 36 + "…"), ("東" * 50, "東" * 18 + "…"), ("short", "short")])
def test_the_live_line_ends_before_the_last_column(text: str, shown: str) -> None:
    stream = io.StringIO()
    Bar(stream, lambda: text, lambda: (0, 0), lambda: 40, colored=False).draw()
    assert stream.getvalue().endswith(f" {shown}")


def test_a_terminal_without_unicode_gets_a_line_of_ascii() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Bar(stream, lambda: "Reading p", lambda: (1, 2), lambda: 80, colored=False).draw()
    assert stream.buffer.getvalue().endswith(b"/ ======------ Reading p")  # type: ignore[attr-defined]


def screenful(written: str) -> list[str]:
    """The lines that a terminal shows after all of it."""
    return [line.split("\x1b[K")[-1] for line in written.split("\n") if line.split("\x1b[K")[-1]]


def on_a_terminal(cli: Cli, words: Sequence[str]) -> list[str]:
    """Every line that a command shows on a terminal of 100 columns, the changes of the live line included."""
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (40, 100))
    env = {**os.environ, "HOME": str(cli.root), "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(words, cwd=cli.root, env=env, stdin=follower, stdout=subprocess.DEVNULL, stderr=follower) as running:
        os.close(follower)
        shown = "".join(_read(leader))
    os.close(leader)
    assert running.returncode == 0, shown
    return [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).rstrip() for line in re.split(r"[\r\n]+", shown)]


def _read(leader: int) -> Iterator[str]:
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # the other end is closed
            return
        if not part:
            return
        yield part.decode("utf-8", "replace")


def reading(tally: Tally, *, answered: int, seconds: float, objects: int = 10, queued: int = 0) -> float:
    """Answer so many requests, evenly spread over so many seconds; when the last of them came."""
    tally.queued += queued or answered
    start = now = 100.0
    for number in range(1, answered + 1):
        tally.answered += 1
        tally.objects += objects
        now = start + seconds * number / answered
        tally.sample(now)
    return now


def test_the_time_left_is_that_of_the_requests_that_are_known_at_the_rate_of_late() -> None:
    tally = Tally(100.0)
    now = reading(tally, answered=400, seconds=4.0, queued=1200)
    assert tally.facts(now) == "400 of 1,200 requests, 100 a second; 4,000 objects; about 8 s left"


def test_a_service_that_becomes_slow_is_said_to_be_slow_within_ten_seconds() -> None:
    tally = Tally(100.0)
    tally.queued = 10_000
    now = 100.0
    for number in range(3000):
        now += 0.01 if number < 2000 else 0.1
        tally.answered += 1
        tally.sample(now)
    assert tally.facts(now) == "3,000 of 10,000 requests, 10 a second; about 12 min left"


def test_no_rate_is_said_before_two_seconds_have_passed() -> None:
    tally = Tally(100.0)
    assert tally.facts(reading(tally, answered=10, seconds=1.0, queued=20)) == "10 of 20 requests; 100 objects; 1 s so far"


def test_the_line_of_a_terminal_begins_with_what_matters_most() -> None:
    tally = Tally(100.0)
    now = reading(tally, answered=400, seconds=4.0, queued=1200)
    assert tally.short(now, last="acme/space/guides") == "400 of 1,200 requests; about 8 s left; 100/s; 4,000 objects; acme/space/guides"


def test_what_computes_says_the_time_so_far() -> None:
    assert Tally(100.0).facts(104.0) == Tally(100.0).short(104.0) == "4 s so far"


def test_an_apply_counts_an_object_when_all_its_steps_have_ended() -> None:
    tally = Tally(100.0, ["a", "a", "b", "c"])
    tally.steps = 4
    for seconds, target in ((101.0, "a"), (102.0, "b"), (104.0, "a")):
        tally.queued += 1
        tally.answered += 1
        tally.ended(target, failed=target == "b")
        tally.sample(seconds)
    expected = "3 of 4 done, 1 failed, 0.8 requests a second; 2 of 3 objects; under way: c; about 1 s left"
    assert tally.facts(104.0, between="under way: c") == expected


def test_a_time_is_said_in_the_largest_units_that_matter() -> None:
    assert [duration(seconds) for seconds in (0.1, 40.4, 119, 125, 480, 3599, 4800)] == [
        "1 s",
        "40 s",
        "119 s",
        "2 min",
        "8 min",
        "1 h",
        "1 h 20 min",
    ]
