"""Colours, masks, and what the streams get."""

from __future__ import annotations

import io
from collections.abc import Mapping

import pytest
from click.testing import CliRunner

from reconciler.cli.terminal.screen import COLOURS, Screen
from reconciler.report.layout import Span, Style
from reconciler.text.redact import MASK


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
