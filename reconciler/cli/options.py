"""The options of the table, declared to click by their groups; the project, environment or run of a command; the output."""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Final

import click
from click.core import ParameterSource

from reconciler.cli import completion
from reconciler.cli.declare import Decorator as Decorator, SharedOption, address as address, together
from reconciler.cli.option_table import ROWS, OptionRow, Options as Options
from reconciler.cli.terminal.screen import Screen
from reconciler.config.keys import PROJECT_FILE
from reconciler.errors import UsageError

PREFIX_MIN: Final = 7  # digits of a commit's id
CHOICES_MAX: Final = 3  # formats that are listed in the name of an option; more would leave its text too little of a line
HEXADECIMAL: Final = frozenset("0123456789abcdef")


COMPLETERS: Final = {"addresses": completion.addresses, "environments": completion.environments}


def _option(row: OptionRow, *, help: str | None = None) -> Decorator:
    """The declaration of a row of the table. `help`: another sentence than the row's."""
    settings = {**row.settings, **({"help": help} if help is not None else {}), "shell_complete": COMPLETERS.get(row.complete)}
    return click.option(f"--{row.name}", cls=SharedOption, group=row.group, allow_from_autoenv=not row.typed, **settings)


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

lease = partial(declared, "lease")
"""How long the run waits for another one that holds the state."""

targets = partial(declared, "targets")
"""The addresses that the run includes."""

absences = partial(declared, "absences")
"""How many objects may be missing without being taken for an outage."""

guards = partial(declared, "guards")
"""Changes that this run may make although a guard would refuse them."""

holding = partial(declared, "holding")
"""Whether what is refused is held, and the rest is applied."""

rules = partial(declared, "rules")
"""Whose rules judge the project."""

urls = partial(declared, "output")
"""How many URLs of pages a document lists."""

reading = partial(declared, "reading")
"""The environment, and the variables."""


def environment() -> Decorator:
    """The environment alone."""
    return next(_option(row) for row in ROWS if row.field == "env")


def selection() -> Decorator:
    """The addresses that the run includes, and those that it may recreate."""
    return together(targets(), declared("replacement"))


def exposures(help: str) -> Decorator:
    """The addresses that this run may expose."""
    return next(_option(row, help=help) for row in ROWS if row.field == "allow_exposure")


def yes() -> Decorator:
    """Confirm the plan."""
    return click.option(
        "-y",
        "--yes",
        cls=SharedOption,
        group="guards",
        is_flag=True,
        allow_from_autoenv=False,
        help="Do not ask for confirmation. Guards still apply.",
    )


def output(*, formats: tuple[str, ...] = ()) -> Decorator:
    """The format of results."""
    chosen: tuple[Decorator, ...] = ()
    if formats:
        listed = f"The format of the result: {', '.join(formats)}." if len(formats) > CHOICES_MAX else "The format of the result."
        chosen = (
            click.option(
                "--format",
                cls=SharedOption,
                group="output",
                type=click.Choice(formats),
                default=formats[0],
                show_default=True,
                metavar="FORMAT" if len(formats) > CHOICES_MAX else None,
                help=listed,
            ),
        )
    return together(
        *chosen,
        click.option(
            "--color",
            cls=SharedOption,
            group="output",
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


def project(*, nearest: bool = True) -> Decorator:
    """The project, its environment and its variables. `nearest`: without a project, use the nearest one above the current folder."""
    return together(project_argument(nearest=nearest), declared("reading"))


def project_argument(*, nearest: bool = True) -> Decorator:
    """The project alone."""
    return click.argument("project", type=click.Path(path_type=Path), default=Path(), callback=_nearest if nearest else None)


def project_path(*, nearest: bool = True) -> Decorator:
    return click.option(
        "--project",
        type=click.Path(path_type=Path),
        default=Path(),
        metavar="PATH",
        callback=_nearest if nearest else None,
        help="Directory or project file. Default: the project of the current directory, or the nearest one above it.",
    )


def project_option() -> Decorator:
    """The same as an option, for commands with other arguments."""
    return together(project_path(), declared("reading"))


def compared() -> Decorator:
    """Two environments, `one` and `other`, the project and its variables."""
    first, second = (
        click.argument(name, metavar="ENV", shell_complete=completion.environments, callback=_environment) for name in ("one", "other")
    )
    last = click.argument("project", type=click.Path(path_type=Path), required=False, callback=_last)
    option = click.option("--project", "named", type=click.Path(path_type=Path), metavar="PATH", is_eager=True, help="The same as PROJECT.")
    return together(first, second, last, option, declared("reading", besides=("env",)))


def run_argument() -> Decorator:
    """The id of a run, before the project."""
    return click.argument("run", required=False, metavar="RUN", shell_complete=completion.runs, callback=_run)


def nearest_project(ctx: click.Context) -> Path:
    """The project of RECONCILER_PROJECT, of the current folder, or of the nearest folder above it; reports which one it is."""
    if given := os.environ.get("RECONCILER_PROJECT"):
        return Path(given)
    here = Path.cwd()
    project, screen = _nearest_folder(here), ctx.find_object(Screen)
    if project != Path() and screen is not None and not ctx.resilient_parsing:
        folder = os.path.normpath(here / project)
        screen.say(f"Using the project in {folder}.", event="project", folder=folder)
    return project


def _nearest_folder(here: Path) -> Path:
    """The folder of the nearest project as a relative path; the current folder if there is none above it.

    The search ends at the top of a repository, the home directory or a file system, and never uses another user's file: on a machine with
    many users, anybody can put a project into a folder above.
    """
    try:
        status = here.stat()
        home = _home()
        for folder in (here, *here.parents):
            if (folder / PROJECT_FILE).is_file():
                # /tmp and the like: anybody can put a project above the folder of somebody else.
                owned = (folder / PROJECT_FILE).stat().st_uid in (status.st_uid, os.getuid())
                return Path(os.path.relpath(folder, here)) if owned or folder == here else Path()
            if (folder / ".git").exists() or folder == home or folder.parent.stat().st_dev != status.st_dev:
                break
    except OSError:  # a folder that cannot be read
        pass
    return Path()


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except RuntimeError:
        return None


def _nearest(ctx: click.Context, param: click.Parameter, value: Path) -> Path:
    """The given project, or else the nearest one."""
    if value.suffix == ".json" and not ctx.resilient_parsing:
        hint = f"Pass a saved plan with --plan {value}; the project is a directory, or its reconciler.yaml."
        raise UsageError(f"{value} is not a project", id="RC-no-project", hint=hint)
    return value if ctx.get_parameter_source(str(param.name)) is not ParameterSource.DEFAULT else nearest_project(ctx)


def _last(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path:
    """The given project, as an argument or by --project, or else the nearest one."""
    named: Path | None = ctx.params.get("named")
    if value is not None and named is not None:
        raise UsageError(f"the project is given twice: {value} and --project {named}", id="RC-options-conflict", hint="Pass one of them.")
    return value or named or nearest_project(ctx)


def _environment(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """The name of an environment. Raises `UsageError` if the value is a project."""
    if not _is_project(value):
        return value
    hint = f"Name two environments first: reconciler config diff staging production {value}"
    raise UsageError(f"{value} is a project, not an environment", id="RC-unexpected-argument", hint=hint)


def _run(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """The id of a run. Raises `UsageError` if it is missing, or is a project."""
    # `show` shows a saved plan too, and says itself where another command does not.
    if ctx.resilient_parsing or (value and (value.endswith(".json") or not _is_project(value))):
        return value
    line = f"reconciler {ctx.info_name} last"
    if not value:
        hint = f"Name it first: {line}\nThe runs are listed by: reconciler history"
        raise UsageError("no run was given", id="RC-missing-argument", hint=hint)
    where = "" if value == "." else f" {value}"
    hint = f"Name the run first: {line}{where}\nThe runs are listed by: reconciler history{where}"
    raise UsageError(f"{value} is a project, not a run", id="RC-no-such-run", hint=hint)


def _is_project(text: str) -> bool:
    """Whether a text is a path of a project, and no id."""
    path = Path(text)
    return "/" in text or text in (".", "..") or path.suffix in (".yaml", ".yml") or (path / PROJECT_FILE).is_file()
