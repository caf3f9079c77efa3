"""Options whose value is a secret: the value itself, which other users of the machine can read, or the name of a file that contains it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from reconciler.cli.declare import Decorator, SharedOption, together
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import os_reason
from reconciler.links import open_named

SECRET_MAX: Final = 4_096  # bytes of a file


def secret(name: str, *, metavar: str, help: str, variable: bool = True, group: str = "") -> Decorator:
    """The option `--NAME`, and `--NAME-file` for a file that contains its value. `variable`: whether the environment may give them.
    `group`: of `SharedOption`, "" where one command alone has them."""
    file = f"{name}-file"
    return together(
        click.option(name, cls=SharedOption, group=group, metavar=metavar, callback=_given, allow_from_autoenv=variable, help=help),
        click.option(
            file,
            cls=SharedOption,
            group=group,
            metavar="FILE",
            callback=_read,
            is_eager=True,
            expose_value=False,
            allow_from_autoenv=False,
            help=f"A file that contains the value of {name}, which nobody else can then see in the list of processes.",
        ),
    )


def warn_if_visible(screen: Screen, name: str, instead: str = "") -> None:
    """Warn if a secret was written on the command line. `instead`: the variable that gives it too."""
    context = click.get_current_context(silent=True)
    if context is None or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE or _file(context, name) is not None:
        return
    option = "--" + name.replace("_", "-")
    way = f"pass {option}-file FILE" + (f", or set {instead}" if instead else "")
    screen.warn(f"every user of this machine can read {option} in the list of processes; {way}", id="RC-secret-visible")


def _file(context: click.Context, name: str) -> str | None:
    """The secret that was read from a file."""
    content: str | None = context.meta.get(f"{__name__}.{name}")
    return content


def _given(context: click.Context, param: click.Parameter, value: str | None) -> str | None:
    read = _file(context, str(param.name))
    if read is None:
        return value
    if value is not None and context.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE:
        raise click.UsageError(f"{param.opts[0]} and {param.opts[0]}-file cannot be combined: pass the file alone", ctx=context)
    return read


def _read(context: click.Context, param: click.Parameter, value: str | None) -> Any:
    """Keep the content of the file for the option that it belongs to."""
    if value is None:
        return
    try:
        with open_named(Path(value)) as file:
            content = file.read(SECRET_MAX + 1)
        text = content.decode("utf-8").strip()
    except OSError as error:
        raise click.BadParameter(f"{value!r} cannot be read: {os_reason(error)}", ctx=context, param=param) from None
    except UnicodeDecodeError:
        raise click.BadParameter(f"{value!r} is not UTF-8", ctx=context, param=param) from None
    if not text or len(content) > SECRET_MAX:
        wrong = "is empty" if not text else f"is larger than {SECRET_MAX:,} bytes"
        raise click.BadParameter(f"{value!r} {wrong}; write the secret into it, and nothing else", ctx=context, param=param)
    context.meta[f"{__name__}.{str(param.name).removesuffix('_file')}"] = text
