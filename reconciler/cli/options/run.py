"""The options of the table, declared to click by their groups; and those of the commit and the output of a run."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Final

import click

from reconciler.cli import completion
from reconciler.cli.declare import Decorator, together
from reconciler.cli.option_table import ROWS, Row

PREFIX_MIN: Final = 7  # digits of a commit's id
HEXADECIMAL: Final = frozenset("0123456789abcdef")


COMPLETERS: Final = {"addresses": completion.addresses, "environments": completion.environments}


def _option(row: Row, *, help: str | None = None) -> Decorator:
    """The declaration of a row of the table. `help`: another sentence than the row's."""
    settings = {**row.settings, **({"help": help} if help is not None else {}), "shell_complete": COMPLETERS.get(row.complete)}
    return click.option(f"--{row.name}", allow_from_autoenv=not row.typed, **settings)


def declared(group: str, *, besides: Collection[str] = ()) -> Decorator:
    """The options of a group, in the order of the table. `besides`: names of those that are left out."""
    return together(*(_option(row) for row in ROWS if row.group == group and row.name not in besides))


def of_child() -> Decorator:
    """The options of the process of a fleet's run."""
    return together(*(_option(row) for row in ROWS if row.child))


service = partial(declared, "service")
"""The service, and the limits of requests to it."""

state = partial(declared, "state")
"""The location of the state."""

creating = partial(declared, "creating")
"""Whether a shared state, or one named on the command line, may be created."""

targets = partial(declared, "targets")
"""The addresses that the run includes."""

absences = partial(declared, "absences")
"""How many objects may be missing without being taken for an outage."""

guards = partial(declared, "guards")
"""Changes that this run may make although a guard would refuse them."""

rules = partial(declared, "rules")
"""Whose rules judge the project."""

reading = partial(declared, "reading")
"""The environment, and the variables."""


def selection() -> Decorator:
    """The addresses that the run includes, and those that it may recreate."""
    return together(targets(), declared("replacement"))


def exposures(help: str) -> Decorator:
    """The addresses that this run may expose."""
    return next(_option(row, help=help) for row in ROWS if row.field == "allow_exposure")


def yes() -> Decorator:
    """Confirm the plan."""
    return click.option("-y", "--yes", is_flag=True, allow_from_autoenv=False, help="Do not ask for confirmation. Guards still apply.")


def output(*, formats: tuple[str, ...] = ()) -> Decorator:
    """The format of results."""
    chosen: tuple[Decorator, ...] = ()
    if formats:
        chosen = (
            click.option("--format", type=click.Choice(formats), default=formats[0], show_default=True, help="The format of the result."),
        )
    return together(
        *chosen,
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            help="Color the output; also NO_COLOR and FORCE_COLOR.",
        ),
    )


def _commit(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    text = value.lower() if value is not None else None
    if text is None or (len(text) in (40, 64) and set(text) <= HEXADECIMAL):
        return text
    raise click.BadParameter(f"{value!r} is not a whole commit id: 40 or 64 hexadecimal digits", ctx=ctx, param=param)


def _commit_prefix(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    text = value.lower() if value is not None else None
    if text is None or (PREFIX_MIN <= len(text) <= 64 and set(text) <= HEXADECIMAL):
        return text
    raise click.BadParameter(f"{value!r} is not a commit id: at least {PREFIX_MIN} hexadecimal digits", ctx=ctx, param=param)


def commit() -> Decorator:
    """The commit that a saved plan records."""
    return click.option(
        "--commit",
        metavar="SHA",
        callback=_commit,
        help="With --out: the commit to record, where neither the CI system nor git knows it.",
    )


def require_commit() -> Decorator:
    """The commit that a saved plan must have been created from."""
    return click.option(
        "--require-commit",
        metavar="SHA",
        callback=_commit_prefix,
        help=f"With --plan: refuse a plan of another commit. The first {PREFIX_MIN} digits of the id, or more.",
    )
