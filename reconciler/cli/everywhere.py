"""Options of every command and of the program itself: verbosity, format, log.

They can be written before the command or after it. Forbidden: slow imports; only click and the light part of this package.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import click
from click.core import ParameterSource

from reconciler.cli.declare import SharedOption
from reconciler.cli.terminal.screen import LOG_FORMATS, Screen
from reconciler.errors import os_reason
from reconciler.run.operation import VARIABLES

LOG_FORMAT: Final = "--log-format"

Callback = Callable[[click.Context, click.Parameter, Any], None]


def options() -> list[click.Parameter]:
    """The options of the program and every command. Their values are set on the screen as soon as they are parsed."""

    def option(*names: str, set_on: Callable[[Screen, Any], None], **settings: Any) -> click.Option:
        return SharedOption(names, group="output", expose_value=False, is_eager=True, callback=_callback(set_on), **settings)

    return [
        option("-q", "--quiet", is_flag=True, set_on=_quiet, help="Suppress progress messages."),
        option("-v", "--verbose", is_flag=True, set_on=_verbose, help="Show every request, without secrets."),
        option(
            LOG_FORMAT,
            type=click.Choice(LOG_FORMATS),
            set_on=_format,
            help="The format of messages on stderr, and in the log file: text, or one JSON object a line. Default: text.",
        ),
        option(
            "--log-file",
            type=click.Path(dir_okay=False),
            metavar="FILE",
            set_on=Screen.log_to,
            help="Append everything that can be logged to a file that only you can read, without secrets.",
        ),
    ]


def directory() -> click.Option:
    """`-C DIR`, which is allowed only before the command."""
    return click.Option(
        ["-C", "directory"],
        metavar="DIR",
        multiple=True,
        expose_value=False,
        is_eager=True,
        callback=_change,
        help="Run in this directory: other paths are relative to it. Repeatable.",
    )


def _callback(set_on: Callable[[Screen, Any], None]) -> Callback:
    def callback(ctx: click.Context, param: click.Parameter, value: Any) -> None:
        screen = ctx.find_object(Screen)
        if screen is None or ctx.resilient_parsing:
            return
        screen.command = ctx.command_path
        if not value:
            return
        # `reconciler -q plan` and `reconciler plan -q` are the same. The default of the inner one must not undo the outer one.
        if ctx.parent is None or ctx.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE:
            set_on(screen, value)  # the program itself read the variables already

    return callback


@contextmanager
def variables_kept() -> Iterator[None]:
    """In this block `--env-file` may set variables of the project; they are unset after it."""
    # Tests and a fleet run several command lines in one process; the variables of one must not reach the next.
    before = {name: value for name, value in os.environ.items() if name.startswith(VARIABLES)}
    try:
        yield
    finally:
        for name in [name for name in os.environ if name.startswith(VARIABLES) and name not in before]:
            del os.environ[name]


def _quiet(screen: Screen, value: bool) -> None:
    screen.quiet = value


def _verbose(screen: Screen, value: bool) -> None:
    screen.verbose = value


def _format(screen: Screen, value: str) -> None:
    screen.log.form = value


def _change(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> None:
    for value in values:
        try:
            os.chdir(value)
        except OSError as error:
            if ctx.resilient_parsing:
                return

            raise click.BadParameter(f"{value!r} cannot be entered: {os_reason(error)}", ctx=ctx, param=param) from None
    screen = ctx.find_object(Screen)
    if screen is not None:
        screen.directories = values
