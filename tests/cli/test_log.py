"""`-v`, `-q`, `--log-format` and `--log-file`: before or after the command, masked like everything else."""

from __future__ import annotations

import json
import stat
from datetime import datetime
from typing import Any

import pytest

from reconciler.sandbox.server import embedded
from tests.cli.conftest import Cli, applied_project, initialised

FIELDS = {
    "sending": {"request", "method", "path", "attempt"},
    "request": {"request", "method", "path", "status", "milliseconds"},
    "step": {"address", "verb", "step", "status"},
    "start": {"command", "version"},
    "end": {"command", "exitCode"},
}


def events(text: str) -> list[dict[str, Any]]:
    """One object a line, each with the fields that every event has."""
    made = [json.loads(line) for line in text.splitlines()]
    for event in made:
        assert list(event)[:4] == ["time", "level", "event", "message"]
        assert event["level"] in ("debug", "info", "warning", "error")
        assert datetime.fromisoformat(event["time"]).utcoffset() is not None
        assert FIELDS.get(event["event"], set()) <= set(event), event
    return made


def named(made: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [event for event in made if event["event"] == name]


@pytest.mark.parametrize("place", ["before", "after", "environment"])
def test_how_much_is_said_can_be_written_before_or_after_the_command(cli: Cli, place: str) -> None:
    initialised(cli)
    for option, name, shown in (("-v", "VERBOSE", True), ("-q", "QUIET", False)):
        before = [option] if place == "before" else []
        after = [option] if place == "after" else []
        done = cli(*before, "plan", "p", *after, env={f"RECONCILER_{name}": "1"} if place == "environment" else {})
        assert done.exit_code == 0
        assert ("GET /v1/orgs/org_acme 200" in done.stderr) == shown
        assert ("Reading p from" in done.stderr) == shown
    nested = cli("state", "-q", "list", "p")
    assert (nested.exit_code, nested.stderr.count("Nothing is tracked yet")) == (0, 0)


def test_the_narration_of_a_run_is_one_json_object_a_line(cli: Cli) -> None:
    done = initialised(cli)("apply", "p", "-y", "--log-format", "json", "-v")
    assert done.stdout.endswith("Applied 11 requests. The plan is now empty.\n"), "the result stays what it was"
    made = events(done.stderr)
    assert {"phase", "sending", "request", "step", "end"} <= {event["event"] for event in made}
    sent = {event["request"]: event for event in named(made, "sending")}
    answered = {event["request"]: event for event in named(made, "request")}
    assert sorted(sent) == sorted(answered) == list(range(1, len(sent) + 1)), "each request has a number of its own"
    written = [event for event in answered.values() if event["method"] != "GET"]
    assert len(written) == 11
    assert {event["step"] for event in written} == {event["step"] for event in named(made, "step")}
    assert all(event["address"].startswith("acme/") and event["verb"] for event in written)
    assert {event["status"] for event in named(made, "step")} == {"done"}
    assert named(made, "end")[0]["exitCode"] == 0
    calm = events(cli("--log-format=json", "plan", "p").stderr)
    assert {event["level"] for event in calm} == {"info"}
    assert events(cli("plan", "p", "-q", env={"RECONCILER_LOG_FORMAT": "json"}).stderr) == []


def test_errors_and_problems_are_objects_too(cli: Cli) -> None:
    initialised(cli)
    (usage,) = events(cli("plan", "p", "--bogus", "--log-format", "json").stderr)
    assert (usage["level"], usage["event"]) == ("error", "error")
    assert usage["hint"] == "reconciler plan --help explains it."
    cli.edit("p/reconciler.yaml", "title: Product", "titel: Product")
    made = events(cli("validate", "p", "--log-format", "json").stderr)
    (problem,) = named(made, "problem")
    assert (problem["file"], problem["line"], problem["column"]) == ("reconciler.yaml", 19, 9)
    assert "did you mean" in problem["message"]


def test_a_log_file_has_everything_for_its_owner_alone_and_no_secret(cli: Cli) -> None:
    applied_project(cli)
    token = "t0ken-that-nobody-sees"
    cli.edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    log = cli.write("run.log", "kept\n")
    log.chmod(0o644)
    with embedded(cli.root / "p" / ".reconciler" / "sandbox.db") as running:
        cli("plan", "p", "--base-url", running.base_url, "--log-file", "run.log", env={"RECONCILER_TOKEN": token})
        cli("apply", "p", "-y", "-q", "--log-file", "run.log")
    text = log.read_text(encoding="utf-8")
    assert text.startswith("kept\n")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert "start: reconciler apply, version" in text
    assert " debug   step: update acme/team/writers done" in text
    assert 'address="acme/team/writers"' in text
    assert " error   error: " in text
    assert token not in text
    assert running.token not in text


def test_a_log_file_called_dash_is_refused_because_messages_are_on_stderr_already(cli: Cli) -> None:
    before, after = ["--log-file", "-", "plan", "p"], ["plan", "p", "--log-file", "-"]
    for words, env in ((before, {}), (after, {}), (["plan", "p"], {"RECONCILER_LOG_FILE": "-"})):
        refused = initialised(cli)(*words, env=env)
        assert refused.exit_code == 3
        assert "'-' is not the name of a file, and messages are on stderr already" in refused.stderr
        assert "Pass -v to show every request there" in refused.stderr
    assert not (cli.root / "-").exists()


def test_a_log_file_that_cannot_be_written_is_refused_before_anything_is_done(cli: Cli) -> None:
    refused = initialised(cli)("apply", "p", "-y", "--log-file", "nowhere/run.log")
    assert refused.exit_code == 3
    assert "the log file nowhere/run.log cannot be written: no such file or directory" in refused.stderr
    full = cli("plan", "p", "--log-file", "/dev/full")
    assert full.exit_code == 0
    assert "the log file /dev/full is not complete: no space left on device" in full.stderr
