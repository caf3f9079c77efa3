"""Options that choose the project, the environment and the variables."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.core import ParameterSource

from reconciler.cli import completion, env_file
from reconciler.cli.options.declare import STDIN, Decorator, files, pairs, together
from reconciler.cli.terminal.screen import Screen
from reconciler.config.keys import PROJECT_FILE
from reconciler.errors import ConfigError, UsageError


def project(*, nearest: bool = True) -> Decorator:
    """The project, its environment and its variables. `nearest`: without a project, use the nearest one above the current folder."""
    return together(project_argument(nearest=nearest), *reading())


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


def project_words() -> Decorator:
    """The same without the project, which the command takes from its arguments."""
    return together(*reading())


def project_option() -> Decorator:
    """The same as an option, for commands with other arguments."""
    return together(project_path(), *reading())


def compared() -> Decorator:
    """Two environments, `one` and `other`, the project and its variables."""
    first, second = (
        click.argument(name, metavar="ENV", shell_complete=completion.environments, callback=_environment) for name in ("one", "other")
    )
    last = click.argument("project", type=click.Path(path_type=Path), required=False, callback=_last)
    option = click.option("--project", "named", type=click.Path(path_type=Path), metavar="PATH", is_eager=True, help="The same as PROJECT.")
    return together(first, second, last, option, *reading()[1:])  # without --env


def run_argument() -> Decorator:
    """The id of a run, before the project."""
    return click.argument("run", required=False, metavar="RUN", shell_complete=completion.runs, callback=_run)


def reading() -> tuple[Decorator, ...]:
    return (
        click.option(
            "--env",
            metavar="NAME",
            shell_complete=completion.environments,
            help="The environment: environments/NAME.yaml. Each has a state of its own.",
        ),
        click.option(
            "--var",
            metavar="NAME=VALUE",
            multiple=True,
            callback=pairs,
            allow_from_autoenv=False,  # each variable has its own: RECONCILER_VAR_NAME
            help="Set a variable.",
        ),
        click.option(
            "--var-file",
            metavar="FILE",
            multiple=True,
            callback=files,
            help="Read variables from a YAML or JSON file, or with - from standard input. Repeatable; --var wins.",
        ),
        click.option(
            "--env-file",
            metavar="FILE",
            multiple=True,
            callback=_env_files,
            help="Read RECONCILER_VAR_NAME=VALUE lines, as if the environment had them. Repeatable; the environment wins.",
        ),
        click.option(
            "--public-var",
            metavar="NAME",
            multiple=True,
            allow_from_autoenv=False,
            help="Declare that a variable from the environment is not a secret.",
        ),
        click.option(
            "--allow-file",
            metavar="PATH",
            multiple=True,
            type=click.Path(path_type=Path),
            allow_from_autoenv=False,
            help="Allow expressions to read this file, or the files in this folder, outside the project. Repeatable.",
        ),
    )


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
    if ctx.resilient_parsing or (value and not _is_project(value)):
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


def _env_files(ctx: click.Context, param: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
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
        raise ConfigError(problems, sensitive=frozenset(values.values()))
    for name, value in values.items():
        os.environ.setdefault(name, value)
    return names
