"""Options that say which project, which environment and which variables."""

from __future__ import annotations

import os
from pathlib import Path

import click

from reconciler.cli import completion
from reconciler.cli.options.declare import STDIN, Decorator, files, pairs, together


def project(*, nearest: bool = True) -> Decorator:
    """The project, its environment and its variables. `nearest`: without a project, the nearest one above the current folder is meant."""
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
    """The same without the project, which the command finds among its words."""
    return together(*reading())


def project_option() -> Decorator:
    """The same where the arguments are something else."""
    return together(project_path(), *reading())


def compared() -> Decorator:
    """The project and its variables, where the environments are arguments."""
    return together(project_path(), *reading()[1:])  # without --env


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
            allow_from_autoenv=False,  # each variable has one of its own: RECONCILER_VAR_NAME
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
    """The project of RECONCILER_PROJECT, of the current folder, or of the nearest folder above it; which one that is, is said."""
    from reconciler.cli.project_folder import nearest
    from reconciler.cli.terminal.screen import Screen

    if given := os.environ.get("RECONCILER_PROJECT"):
        return Path(given)
    here = Path.cwd()
    project, screen = nearest(here), ctx.find_object(Screen)
    if project != Path() and screen is not None and not ctx.resilient_parsing:
        folder = os.path.normpath(here / project)
        screen.say(f"Using the project in {folder}.", event="project", folder=folder)
    return project


def _nearest(ctx: click.Context, param: click.Parameter, value: Path) -> Path:
    """The project that is named, or else the nearest one."""
    from click.core import ParameterSource

    return value if ctx.get_parameter_source(str(param.name)) is not ParameterSource.DEFAULT else nearest_project(ctx)


def _env_files(ctx: click.Context, param: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    """Set the variables of the files, as if the environment had them; what it has already stays. Raises `ConfigError`."""
    if ctx.resilient_parsing or not names:
        return names
    from reconciler.cli import env_file
    from reconciler.errors import ConfigError

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
