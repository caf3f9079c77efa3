"""`-v`, `-q`, `--log-format` and `--log-file`: before or after the command, masked like everything else.

Colours, masks, and what the streams get.
Documents are UTF-8, whatever the encoding of the terminal or of the pipeline.
Every report in the formats that other programs read, from the command line."""

from __future__ import annotations

import io
import json
import os
import stat
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import junitparser
import pytest
import sarif_pydantic
from click.testing import CliRunner

from reconciler.cli.terminal.screen import COLOURS, Screen
from reconciler.report.layout import Span, Style
from reconciler.sandbox.server import embedded
from reconciler.text.redact import MASK
from tests.command_line import Cli, applied_project, initialised
from tests.contains import assert_contains
from tests.interpreter import Interpreter
from tests.proofs import costly

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
        done = cli(*before, "plan", "p", *after, env={f"RECONCILER_{name}": "1"} if place == "environment" else {}, code=0)
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
    assert {event["level"] for event in events(cli("--log-format=json", "plan", "p").stderr)} == {"info"}
    assert events(cli("plan", "p", "-q", env={"RECONCILER_LOG_FORMAT": "json"}).stderr) == []


def test_errors_and_problems_are_objects_too(cli: Cli) -> None:
    initialised(cli)
    (usage,) = events(cli("plan", "p", "--bogus", "--log-format", "json").stderr)
    assert (usage["level"], usage["event"]) == ("error", "error")
    assert usage["hint"] == "reconciler plan --help explains it."
    cli.edit("p/reconciler.yaml", "title: Product", "titel: Product")
    (problem,) = named(events(cli("validate", "p", "--log-format", "json").stderr), "problem")
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
    assert_contains(
        text,
        "start: reconciler apply, version",
        " debug   step: update acme/team/writers done",
        'address="acme/team/writers"',
        " error   error: ",
    )
    assert token not in text
    assert running.token not in text


def test_a_log_file_called_dash_is_refused_because_messages_are_on_stderr_already(cli: Cli) -> None:
    before, after = ["--log-file", "-", "plan", "p"], ["plan", "p", "--log-file", "-"]
    for words, env in ((before, {}), (after, {}), (["plan", "p"], {"RECONCILER_LOG_FILE": "-"})):
        refused = initialised(cli)(*words, env=env, code=3)
        assert "'-' is not the name of a file, and messages are on stderr already" in refused.stderr
        assert "Pass -v to show every request there" in refused.stderr
    assert not (cli.root / "-").exists()


def test_a_log_file_that_cannot_be_written_is_refused_before_anything_is_done(cli: Cli) -> None:
    refused = initialised(cli)("apply", "p", "-y", "--log-file", "nowhere/run.log", code=3)
    assert "the log file nowhere/run.log cannot be written: no such file or directory" in refused.stderr
    assert "the log file /dev/full is not complete: no space left on device" in cli("plan", "p", "--log-file", "/dev/full", code=0).stderr


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("option", "environ", "terminal", "expected"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "0"}, False, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colour_follows_the_option_then_the_environment_then_the_terminal(
    option: str, environ: Mapping[str, str], terminal: bool, expected: bool
) -> None:
    clean: dict[str, str | None] = {"NO_COLOR": None, "FORCE_COLOR": None, "TERM": None}
    with CliRunner().isolation(env={**clean, **environ}):
        screen = Screen()
        screen.color = option
        assert screen.colored(Terminal() if terminal else io.StringIO()) is expected


def test_every_style_of_a_report_has_a_colour() -> None:
    assert {style.value for style in Style} - {"plain"} == set(COLOURS)


def test_a_report_without_colour_is_its_plain_text() -> None:
    with CliRunner().isolation(env={"NO_COLOR": "1"}) as streams:
        Screen().spans([Span(Style.CREATE, "  + title"), Span(Style.PLAIN, " A\n")])
        assert streams[0].getvalue() == b"  + title A\n"


def test_a_report_in_colour_reads_the_same() -> None:
    with CliRunner().isolation(env={"FORCE_COLOR": "1"}, color=True) as streams:
        Screen().spans([Span(Style.CREATE, "  + title"), Span(Style.PLAIN, " A\n")])
        assert streams[0].getvalue() == b"\x1b[32m  + title\x1b[0m A\n"


def test_a_hidden_value_leaves_in_no_form() -> None:
    secret = 'pä"ss\nword\x07'
    with CliRunner().isolation() as streams:
        screen = Screen()
        screen.hide([secret, "s3cret"])
        screen.out(f"a {secret} b\n")
        screen.say(f"say {secret}")
        screen.error(f"error {secret}", hint="s3cret hint")
        screen.document({"value": [secret], "other": "xs3crety"})
        written = streams[0].getvalue() + streams[1].getvalue()
    assert "pä".encode() not in written
    assert b"s3cret" not in written
    assert written.count(MASK.encode()) == 6


def test_short_values_are_not_hidden_because_they_are_in_ordinary_words() -> None:
    with CliRunner().isolation() as streams:
        screen = Screen()
        screen.hide(["a"])
        screen.out("plan\n")
        assert streams[0].getvalue() == b"plan\n"


def test_narration_is_silent_where_that_was_asked_for_and_errors_are_not() -> None:
    with CliRunner().isolation() as streams:
        screen = Screen()
        screen.quiet = True
        screen.say("reading")
        screen.error("wrong\x1b", hint="first\nsecond")
        assert streams[1].getvalue() == b"error: wrong\\x1b\n       first\n       second\n"
        assert streams[0].getvalue() == b""


PROJECT = """\
version: 1
project: case
service: {sandbox: sb.db}
vars: {title: {default: "Zürich → 東京 😀"}}
organizations:
  acme:
    id: org_acme
    title: Acme
    teams: {writers: {title: "${{ vars.title }}"}}
"""
TITLE = "Zürich → 東京 😀"
STREAMS = {
    "latin-1": {"PYTHONIOENCODING": "latin-1"},
    "ascii, strict": {"PYTHONIOENCODING": "ascii:strict"},
    "utf-16": {"PYTHONIOENCODING": "utf-16"},
    "LANG=C": {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "utf-8": {"PYTHONUTF8": "1"},
}


@pytest.fixture(params=STREAMS)
def run(request: pytest.FixtureRequest, cli: Cli) -> Iterator[Callable[..., tuple[bytes, bytes]]]:
    """Runs command lines in processes of an interpreter that was started with these streams."""
    cli.write("reconciler.yaml", PROJECT)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LC_", "LANG", "RECONCILER"))}
    with Interpreter(cli.root, {**environment, **cli.user, **STREAMS[request.param]}) as interpreter:

        def started(*words: str) -> tuple[bytes, bytes]:
            _, out, err = interpreter(*words)
            assert b"Traceback" not in err
            return out, err

        yield started


@costly
def test_every_document_is_utf_8_and_keeps_its_letters(run: Callable[..., tuple[bytes, bytes]]) -> None:
    document = json.loads(run("plan", "--format", "json")[0].decode("utf-8"))
    assert TITLE in json.dumps(document, ensure_ascii=False)
    assert json.loads(run("apply", "--yes", "--format", "json")[0].decode("utf-8"))["format"].startswith("reconciler.")
    assert TITLE in run("api", "GET", "/orgs/org_acme/teams", "--sandbox", "sb.db")[0].decode("utf-8")
    pulled = json.loads(run("state", "pull")[0].decode("utf-8"))
    assert TITLE in json.dumps(pulled, ensure_ascii=False)
    assert TITLE in run("config", "render")[0].decode("utf-8")
    for words in (("state", "list"), ("history",), ("show", "last"), ("drift",), ("validate",)):
        json.loads(run(*words, "--format", "json")[0].decode("utf-8"))
    for form in ("markdown", "html"):
        run("plan", "--format", form)[0].decode("utf-8")
    ElementTree.fromstring(run("validate", "--format", "junit")[0].decode("utf-8"))
    for line in run("plan", "--log-format", "json")[1].decode("utf-8").splitlines():
        json.loads(line)


REPORT_PROJECT: Final = """\
version: 1
project: docs
vars: {unused: {default: x}}
organizations:
  acme:
    id: org_acme
    teams: {writers: {title: Writers}}
"""


@pytest.mark.parametrize("project", [REPORT_PROJECT, REPORT_PROJECT.replace("title:", "titel:")], ids=["warning", "wrong"])
def test_validate_writes_all_reports_at_once_and_they_agree(cli: Cli, project: str) -> None:
    cli.write("docs/reconciler.yaml", project)
    files = {name: cli.root / f"report.{name}" for name in ("junit", "sarif", "codequality", "json", "github")}
    done = cli("validate", "docs", "--lint", *[word for name, file in files.items() for word in ("--report", f"{name}={file}")])
    wrong = "titel" in project
    assert done.exit_code == (3 if wrong else 0)
    found = json.loads(files["json"].read_text())["findings"]
    assert found
    assert [result["ruleId"] for result in json.loads(files["sarif"].read_text())["runs"][0]["results"]] == [one["id"] for one in found]
    assert [issue["check_name"] for issue in json.loads(files["codequality"].read_text())] == [one["id"] for one in found]
    assert junitparser.JUnitXml.fromfile(str(files["junit"])).failures == (len(found) if wrong else 0)
    assert files["github"].read_text().count("\n") == len(found)
    assert all(one["source"]["line"] for one in found)


def test_a_plan_and_drift_write_them_too(cli: Cli) -> None:
    assert cli("init", "docs", "--sandbox").exit_code == 0
    for name in ("junit", "sarif", "codequality"):
        done = cli("plan", "docs", "--format", name)
        assert (done.exit_code, bool(done.stdout)) == (0, True)
    junitparser.JUnitXml.fromstring(cli("plan", "docs", "--format", "junit").stdout.encode())
    sarif_pydantic.Sarif.model_validate(json.loads(cli("plan", "docs", "--format", "sarif").stdout))
    assert cli("apply", "docs", "--yes", "--report", f"junit={cli.root}/out.xml").exit_code == 0
    assert junitparser.JUnitXml.fromfile(str(Path(cli.root, "out.xml"))).failures == 0
    assert cli("drift", "docs", "--format", "sarif").exit_code == 0


def test_two_reports_are_not_written_to_the_same_file(cli: Cli) -> None:
    cli.write("reconciler.yaml", REPORT_PROJECT)
    done = cli("validate", "--report", "junit=a.xml", "--report", "sarif=./a.xml")
    assert (done.exit_code, "two reports cannot be written to the same file" in done.stderr) == (3, True), done.stderr
    assert not (cli.root / "a.xml").exists()


@pytest.mark.parametrize("words", ["validate --report github=-", "plan --out -", "state pull --out -"])
def test_no_file_is_called_a_dash(cli: Cli, words: str) -> None:
    cli.write("reconciler.yaml", REPORT_PROJECT)
    done = cli(*words.split())
    assert (done.exit_code, "'-' is not the name of a file" in done.stderr) == (3, True), done.stderr
    assert not (cli.root / "-").exists()
