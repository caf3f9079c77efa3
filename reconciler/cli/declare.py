"""Helpers to declare options: combined decorators, and click callbacks that convert texts."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from reconciler.address import Address, Glob
from reconciler.cli import env_file
from reconciler.errors import PROBLEMS_MAX, ConfigError, os_reason
from reconciler.links import open_named
from reconciler.run.operation import STDIN
from reconciler.text.patterns import MANY
from reconciler.text.urls import pattern_problem

UNITS: Final = {"s": 1, "m": 60, "h": 3600}
DIGITS_MAX: Final = 9
VARIABLES_MAX: Final = 16 * 2**20  # bytes of a file of variables

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


class OutputFile(click.Path):
    """An output file. `-` is refused, because in many programs it means standard output, and here it would create a file with that name."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if str(value) == STDIN:
            self.fail("'-' is not the name of a file, and this option does not print: pass the name of a file", param, ctx)
        return super().convert(value, param, ctx)


class SharedOption(click.Option):
    """An option of several commands. `group`: the options that it belongs to, a key of `option_table.HEADINGS`."""

    def __init__(self, *names: Any, group: str, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.group = group


def together(*decorators: Decorator) -> Decorator:
    """One decorator for several; the first is the first in the help."""

    def decorate(function: Command) -> Command:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def globs(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[Glob, ...]:
    """Patterns over addresses."""
    try:
        return tuple(Glob.parse(value) for value in values)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx=ctx, param=param) from None


def url_patterns(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Patterns over published URLs; `**` alone stands for every URL of every site."""
    for value in values:
        if value != MANY and (wrong := pattern_problem(value)) is not None:
            raise click.BadParameter(f"{value!r} matches no URL: {wrong}", ctx=ctx, param=param)
    return values


def address(ctx: click.Context, param: click.Parameter, value: str | None) -> Any:
    """An address; None for an option that is not given."""
    try:
        return None if value is None else Address.parse(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx=ctx, param=param) from None


def pairs(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Values by name."""
    given: dict[str, str] = {}
    for value in values:
        name, equals, rest = value.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{value!r} is not NAME=VALUE", ctx=ctx, param=param)
        given[name] = rest
    return given


def seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """A duration, in seconds: `90`, `90s`, `10m`, `1h`."""
    if value is None:
        return None
    number, unit = (value[:-1], UNITS[value[-1]]) if value[-1:] in UNITS else (value, 1)
    if not number.isascii() or not number.isdigit() or len(number) > DIGITS_MAX:
        raise click.BadParameter(f"{value!r} is not a duration: write seconds, or 90s, 10m, 1h", ctx=ctx, param=param)
    return float(number) * unit


def named_content(name: str, most: int) -> bytes:
    """At most `most` + 1 bytes of the file that an option names, or of standard input for `-`. Raises `LinkRefused` and OSError."""
    if name == STDIN:
        return sys.stdin.buffer.read(most + 1) if sys.stdin is not None else b""
    with open_named(Path(name)) as file:
        return file.read(most + 1)


def files(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, bytes], ...]:
    """The name and the bytes of each file of variables. Standard input can be read once."""
    given: list[tuple[str, bytes]] = []
    # A second read of standard input would wait, or give nothing, and the variables would silently be missing.
    for value in values:
        if value == STDIN and any(name == STDIN for name, _ in given):
            raise click.BadParameter("standard input can be read only once: pass - once", ctx=ctx, param=param)
        try:
            text = named_content(value, VARIABLES_MAX)
        except OSError as error:
            raise click.BadParameter(f"{value!r} cannot be read: {os_reason(error)}", ctx=ctx, param=param) from None
        if len(text) > VARIABLES_MAX:
            raise click.BadParameter(f"{value!r} is larger than {VARIABLES_MAX // 2**20} MiB", ctx=ctx, param=param)
        given.append((value, text))
    return tuple(given)


def env_files(ctx: click.Context, param: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    """Set the variables in the files, as if the environment contained them; existing variables are kept. Raises `ConfigError`."""
    if ctx.resilient_parsing or not names:
        return names

    values: dict[str, str] = {}
    problems = []
    for name, text in files(ctx, param, names):
        given, wrong = env_file.read("standard input" if name == STDIN else name, text)
        values |= given
        problems += wrong
    if problems:
        raise ConfigError(problems, more=len(problems) >= PROBLEMS_MAX, sensitive=frozenset(values.values()))
    for name, value in values.items():
        os.environ.setdefault(name, value)
    return names
