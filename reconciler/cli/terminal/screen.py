"""The output of a command: results on stdout, narration on stderr; colours, masks, and broken streams.

Secrets (the token, variables from the environment) are masked in all output.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar

import click

from reconciler import __version__
from reconciler.cli.terminal import tracing
from reconciler.cli.terminal.bar import Bar
from reconciler.cli.terminal.log import EventLog
from reconciler.errors import ConfigError, UsageError, os_reason
from reconciler.run.operation import VARIABLES
from reconciler.run.supervision import Supervision
from reconciler.text.escape import UNLIMITED, as_json, log as escaped, terminal
from reconciler.text.masks import Masks

# At run time this would import the client and the apply, which `--help` does not need.
if TYPE_CHECKING:
    from reconciler.cli.terminal.traces import Traces  # needs the extra otel

T = TypeVar("T")


class UnknownCommand(click.UsageError):
    """A command that does not exist. `hint`: what a command of another tool is called here."""

    def __init__(self, message: str, ctx: click.Context, *, hint: str | None = None) -> None:
        super().__init__(message, ctx)
        self.hint = hint


OWN: Final = "reconciler."  # what the names of attributes begin with that no other program has
LOG_FORMATS: Final = ("text", "json")
WIDTH: Final = 100  # columns of a terminal that does not say how wide it is
COLOURS: Final[Mapping[str, Mapping[str, Any]]] = {
    "head": {"bold": True},
    "dim": {"dim": True},
    "create": {"fg": "green"},
    "update": {"fg": "yellow"},
    "move": {"fg": "cyan"},
    "delete": {"fg": "red"},
    "drift": {"fg": "magenta"},
    "blocked": {"fg": "red", "bold": True},
}


class Screen:
    """The two streams of one run. `lost`: why results could not be written; `acted`: something was applied.

    `command`: the command without its options.
    `directories`: those of `-C`. `began`: the time of the start, in nanoseconds since 1970.
    `about`: the attributes of the run and of requests in traces. `supervision`: who watches over the runs of this program.
    """

    def __init__(self, supervision: Supervision | None = None) -> None:
        self.supervision = supervision or Supervision()
        self.color, self.quiet, self.verbose = "auto", False, False
        self.masks = Masks()
        self.log = EventLog(self.masks)
        self.command, self.began = "", time.time_ns()
        self.directories: tuple[str, ...] = ()
        self.about: dict[str, str | int] = {}
        self.bar: Bar | None = None  # while a terminal shows how far something is
        self._traces: Traces | None = None
        self._traced = False
        self.lost: str | None = None
        self.acted = False
        # Titles come from the service, in any script. The encoding of a terminal must not decide whether an apply ends well.
        for stream in (sys.stdout, sys.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(errors="backslashreplace")  # a terminal without UTF-8 gets \u2191 rather than a traceback

    # -- what is known of the reader ---------------------------------------------------------------------------------------------------

    @property
    def live(self) -> bool:
        """Whether stderr is a terminal that can show a live line."""
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and self.log.form == "text"

    @property
    def can_ask(self) -> bool:
        """Whether the user can be asked: stdin and stderr are terminals."""
        # Not stdout: results may go to a file while questions are asked.
        return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()

    @property
    def width(self) -> int:
        """The columns for results."""
        return _columns(sys.stdout)

    @property
    def narration_width(self) -> int:
        """The columns for narration."""
        return _columns(sys.stderr)

    def colored(self, stream: IO[str]) -> bool:
        # The order of https://no-color.org and https://force-color.org: the option, then NO_COLOR, then FORCE_COLOR, then the stream.
        if self.color != "auto":
            return self.color == "always"
        if os.environ.get("NO_COLOR"):
            return False
        if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
            return True
        return stream.isatty() and os.environ.get("TERM") != "dumb"

    # -- secrets -----------------------------------------------------------------------------------------------------------------------

    def hide(self, values: Iterable[str]) -> None:
        """Mask these values from now on, in any form in which they are written."""
        self.masks.hide(values)

    @property
    def hidden(self) -> frozenset[str]:
        """The masked values."""
        return self.masks.values

    def masked(self, text: str) -> str:
        """The text with secrets masked."""
        return self.masks.text(text)

    def masked_data(self, value: T) -> T:
        """The same data with its texts masked; see `Masks.data`."""
        return self.masks.data(value)

    # -- writing -----------------------------------------------------------------------------------------------------------------------

    def out(self, text: str) -> None:
        """Print a result, as text for people."""
        self._write(escaped(self.masked(text)))

    def reveal(self, text: str, *, instead: str) -> None:
        """Print a result with a secret that its reader needs: whole on a terminal, and masked in a file or a pipe, which keep it, with what
        to do `instead`. Never logged."""
        if sys.stdout is not None and sys.stdout.isatty():
            self._write(escaped(text))
        else:
            self.out(text)
            if self.masked(text) != text:
                self.note(instead)

    def raw(self, text: str) -> None:
        """Print a result in a format of its own, without escaping it: UTF-8, whatever the encoding of the stream."""
        self._write(self.masked(text), utf8=True)

    def spans(self, spans: Iterable[tuple[str, str]]) -> None:
        """Print a report, in colours if the stream has them."""
        self.out(self._painted(spans, sys.stdout))

    def narrate_spans(self, spans: Iterable[tuple[str, str]]) -> None:
        """Print a report that is not the result, on stderr."""
        # Read twice below: once as an event, once in colours.
        spans = tuple(spans)
        if self.event("info", "report", "".join(text for _, text in spans)):
            self._tell(self._painted(spans, sys.stderr))

    def _painted(self, spans: Iterable[tuple[str, str]], stream: IO[str]) -> str:
        if not self.colored(stream):
            return "".join(text for _, text in spans)
        return "".join(click.style(text, **COLOURS[style]) if style in COLOURS else text for style, text in spans)

    def document(self, document: Any) -> None:
        """Print a result as JSON."""
        self._write(as_json(self.masked_data(document)) + "\n", utf8=True)

    def say(self, text: str, *, event: str = "message", **facts: Any) -> None:
        """Narrate, unless `--quiet` is set. `event` and `facts`: its name and its data in a log."""
        if self.event("info", event, text, **facts) and not self.quiet:
            self.line(text)

    def note(self, text: str) -> None:
        """A part of the result that is printed beside it; also where they asked for no narration."""
        if self.event("info", "message", text):
            self.line(text)

    def warn(self, text: str, *, id: str) -> None:
        """Print a warning with the id of its cause, also with `--quiet`."""
        if not self.event("warning", "warning", text, id=id):
            return
        head = click.style("warning:", fg="yellow", bold=True) if self.colored(sys.stderr) else "warning:"
        self._tell(head + " " + "\n         ".join(self._lines(_with_id(text, id))) + "\n")

    def error(self, message: str, *, id: str = "", hint: str | None = None) -> None:
        """Print an error in one sentence, with the id of its cause and what to do."""
        if not self.event("error", "error", message, id=id or None, hint=hint):
            return
        head = click.style("error:", fg="red", bold=True) if self.colored(sys.stderr) else "error:"
        self._tell(head + " " + "\n       ".join(self._lines(_with_id(message, id))) + "\n")
        if hint:
            self._tell("       " + "\n       ".join(self._lines(hint)) + "\n")

    def usage(self, error: click.ClickException, *, hint: str | None = None) -> None:
        """Print an error of click about the command line. `hint`: what to type instead, if that is known."""
        context = getattr(error, "ctx", None)
        instead = hint or getattr(error, "hint", None)
        if context is not None and self.log.form == "text":
            self._tell(context.get_usage() + "\n")
        help = f"{context.command_path} --help explains it." if context is not None else None
        self.error(error.format_message(), id=_usage_id(error), hint=instead or help)

    def problems(self, error: ConfigError) -> None:
        """Print every problem of a project, one a line."""
        for problem in error.problems:
            place = {"file": problem.file, "line": problem.line or None, "column": problem.column or None}
            if self.event("error", "problem", problem.message, id=problem.id, **place):
                self.line(_with_id(str(replace(problem, file=terminal(problem.file))), problem.id))
        number = len(error.problems)
        rest = ", and the rest was not checked" if error.more else ""
        self.error(f"{number:,} problem{'s' if number != 1 else ''} in {error.where}{rest}; nothing was {error.undone}")

    def defect(self, error: Exception) -> None:
        """Print an unexpected exception; its traceback only with `-v`, with all variables from the environment masked."""
        # Which variables are secrets may be exactly what could not be found out, and a traceback shows values.
        self.hide(value for name, value in os.environ.items() if name.startswith(VARIABLES))
        hint = None if self.verbose else "-v shows where."
        self.error(f"this is a defect of Reconciler: {type(error).__name__}: {error}", id="RC-defect", hint=hint)

        trace = "".join(traceback.format_exception(error))
        if self.event("debug", "traceback", trace) and self.verbose:
            for line in trace.splitlines():
                self.line(line)

    # -- the log -----------------------------------------------------------------------------------------------------------------------

    def log_to(self, path: str) -> None:
        """Write every event to this file from now on. Raises `UsageError`."""
        # In many programs this is standard output; a file called `-` is hard to delete.
        if path == "-":  # which would become a file of that name
            hint = "Pass -v to show every request there, --log-format json for JSON lines, or --log-file FILE to keep them in a file."
            wrong = "--log-file: '-' is not the name of a file, and messages are on stderr already"
            raise UsageError(wrong, id="RC-option-value", hint=hint)
        try:
            self.log.open(path)
        except OSError as error:
            reason = os_reason(error)
            raise UsageError(
                f"the log file {path} cannot be written: {reason}", id="RC-file-not-written", hint="Pass --log-file FILE with another file."
            ) from None
        self.event("debug", "start", f"{self.command}, version {__version__}", command=self.command, version=__version__)

    def ended(self, code: int) -> None:
        """Log the end of the program, and end its traces."""
        about = {name: value for name, value in self.about.items() if name.startswith(OWN)}
        if self._traces is not None and (lost := self._traces.end(code, about)) is not None:
            self.say(f"Not all traces were delivered: {lost}.", event="traces")
        self.event("debug", "end", f"{self.command} ends with exit code {code}", command=self.command, exitCode=code)

    @property
    def traces(self) -> Traces | None:
        """The traces of this program, begun at the first use; None if no collector is configured."""
        if not self._traced:
            self._traced = True
            if tracing.is_wanted():
                self._traces = tracing.begin(self.command, self.began, self.masks, self.warn)
        return self._traces

    def event(self, level: str, name: str, message: str, **facts: Any) -> bool:
        """Log an event: to the log file, and to stderr if that is JSON. Returns whether it must still be printed on stderr."""
        if not self.log.active:
            return True
        line = self.log.add(level, name, message, facts)
        if self.log.form == "text":
            return True
        if (self.verbose or level != "debug") and not (self.quiet and level == "info"):
            self._put(line, utf8=True)
        return False

    def _lines(self, text: str) -> list[str]:

        return [terminal(line) for line in self.masked(text).splitlines()] or [""]

    def line(self, text: str) -> None:
        """Print a line on stderr, without logging it."""
        self._tell("\n".join(self._lines(text)) + "\n")

    def _tell(self, text: str) -> None:

        self._put(escaped(self.masked(text)))

    def _put(self, text: str, *, utf8: bool = False) -> None:
        if self.bar is not None:
            self.bar.above(text)
            return
        try:
            _send(sys.stderr, text, utf8=utf8)
        except OSError:
            return  # nobody listens; the work goes on

    def _write(self, text: str, *, utf8: bool = False) -> None:
        if self.lost is not None:
            return
        if self.bar is not None:
            self.bar.erase()
        try:
            _send(sys.stdout, text, utf8=utf8)
        except BrokenPipeError:
            self.broken()
        except OSError as error:
            self.broken()
            self.lost = error.strerror or type(error).__name__
            self.error(f"the result cannot be written: {self.lost.lower()}", id="RC-output-lost")

    def broken(self) -> None:
        """Redirect stdout to the null device, because its reader has gone; so the interpreter ends without an error."""
        try:
            # `reconciler plan | head` closes the pipe. Python would print an error at exit, when it flushes what nobody reads.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
        except (OSError, ValueError):
            return

    def close(self) -> None:
        """Flush stdout, and end the log."""
        try:
            sys.stdout.flush()
        except OSError:
            self.broken()
        closed = self.log.close()
        if closed is not None and closed.lost:
            self.warn(f"the log file {closed.path} is not complete: {closed.lost}", id="RC-log-incomplete")


def _send(stream: IO[str], text: str, *, utf8: bool) -> None:
    """Write to a stream: `utf8` as UTF-8 bytes, which documents require, otherwise in the encoding of the stream."""
    stream.flush()
    binary = getattr(stream, "buffer", None) if utf8 else None
    if binary is None:
        stream.write(text)
    else:
        binary.write(text.encode("utf-8", "backslashreplace"))
    stream.flush()


def _with_id(text: str, id: str) -> str:
    """A sentence and the id of its cause: `there is no token [RC-no-token]`. Lines of details below the sentence come after both."""
    sentence, line_break, details = text.partition("\n")
    return f"{sentence} [{id}]{line_break}{details}" if id else text


def _usage_id(error: click.ClickException) -> str:
    """The id of the cause of an error of click."""
    match error:
        case click.NoSuchOption():
            return "RC-unknown-option"
        case click.MissingParameter():
            return "RC-missing-argument"
        case click.BadOptionUsage():
            return "RC-option-without-value"
        case click.BadParameter():
            return "RC-option-value"
        case UnknownCommand():
            return "RC-unknown-command"
        case _:
            return "RC-unexpected-argument"


def _columns(stream: IO[str]) -> int:
    """The columns of a stream: those of the variable COLUMNS, else of the terminal. Without a terminal, nothing wraps."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and int(given) > 0:
        return int(given)
    if not stream.isatty():
        return UNLIMITED
    try:
        return os.get_terminal_size(stream.fileno()).columns or WIDTH
    except (OSError, ValueError):
        return WIDTH
