"""Options that several commands share, and what they say together."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from reconciler.cli import completion

if TYPE_CHECKING:
    from reconciler.address import Address, Glob
    from reconciler.cli.terminal.screen import Screen
    from reconciler.config.language.given import VariableFile

STDIN: Final = "-"
VARIABLES_MAX: Final = 16 * 2**20  # bytes of a file of variables

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


def _glob(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[Glob, ...]:
    from reconciler.address import Glob

    try:
        return tuple(Glob.parse(value) for value in values)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx=ctx, param=param) from None


def address(ctx: click.Context, param: click.Parameter, value: str) -> Address:
    """An address, as a callback of click."""
    from reconciler.address import Address

    try:
        return Address.parse(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx=ctx, param=param) from None


def _pairs(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for value in values:
        name, equals, rest = value.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{value!r} is not NAME=VALUE", ctx=ctx, param=param)
        found[name] = rest
    return found


def _files(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, bytes], ...]:
    """The name and the bytes of each file of variables. Standard input can be read once."""
    found: list[tuple[str, bytes]] = []
    for value in values:
        if value == STDIN and any(name == STDIN for name, _ in found):
            raise click.BadParameter("standard input can be read only once: pass - once", ctx=ctx, param=param)
        try:
            if value == STDIN:
                text = sys.stdin.buffer.read(VARIABLES_MAX + 1) if sys.stdin is not None else b""
            else:
                with Path(value).open("rb") as file:
                    text = file.read(VARIABLES_MAX + 1)
        except OSError as error:
            reason = (error.strerror or "no reason given").lower()
            raise click.BadParameter(f"{value!r} cannot be read: {reason}", ctx=ctx, param=param) from None
        if len(text) > VARIABLES_MAX:
            raise click.BadParameter(f"{value!r} is larger than {VARIABLES_MAX // 2**20} MiB", ctx=ctx, param=param)
        found.append((value, text))
    return tuple(found)


def _env_files(ctx: click.Context, param: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    """Set the variables of the files, as if the environment had them; what it has already stays. Raises `ConfigError`."""
    if ctx.resilient_parsing or not names:
        return names
    from reconciler.cli import env_file
    from reconciler.errors import ConfigError

    values: dict[str, str] = {}
    problems = []
    for name, text in _files(ctx, param, names):
        given, wrong = env_file.read("standard input" if name == STDIN else name, text)
        values |= given
        problems += wrong
    if problems:
        raise ConfigError(problems, sensitive=frozenset(values.values()))
    for name, value in values.items():
        os.environ.setdefault(name, value)
    return names


def _all(*decorators: Decorator) -> Decorator:
    def decorate(function: Command) -> Command:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def project(*, nearest: bool = True) -> Decorator:
    """The project, its environment and its variables. `nearest`: without a project, the nearest one above the current folder is meant."""
    return _all(project_argument(nearest=nearest), *reading())


def project_argument(*, nearest: bool = True) -> Decorator:
    """The project alone."""
    return click.argument("project", type=click.Path(path_type=Path), default=Path(), callback=_nearest if nearest else None)


def _nearest(ctx: click.Context, param: click.Parameter, value: Path) -> Path:
    """The project that is named, or else the nearest one."""
    from click.core import ParameterSource

    return value if ctx.get_parameter_source(str(param.name)) is not ParameterSource.DEFAULT else nearest_project(ctx)


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
            callback=_pairs,
            allow_from_autoenv=False,  # each variable has one of its own: RECONCILER_VAR_NAME
            help="Set a variable.",
        ),
        click.option(
            "--var-file",
            metavar="FILE",
            multiple=True,
            callback=_files,
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


def compared() -> Decorator:
    """The project and its variables, where the environments are arguments."""
    return _all(project_path(), *reading()[1:])  # without --env


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
    return _all(*reading())


def project_option() -> Decorator:
    """The same where the arguments are something else."""
    return _all(project_path(), *reading())


def service() -> Decorator:
    """Where the service is and how hard it may be asked."""
    return _all(
        click.option("--sandbox", type=click.Path(path_type=Path), metavar="FILE", help="Use the embedded sandbox in this file."),
        click.option(
            "--base-url", metavar="URL", help="The URL of the service; also RECONCILER_BASE_URL. The token comes from RECONCILER_TOKEN."
        ),
        click.option("--max-concurrency", type=click.IntRange(1, 1000), metavar="N", help="Send up to N requests at the same time."),
        click.option(
            "--max-rps", type=click.FloatRange(min=0, min_open=True), metavar="N", help="Send at most this many requests per second."
        ),
    )


def state() -> Decorator:
    """Where bindings and journal are."""
    return click.option(
        "--state", metavar="URL", help="The URL of the state, e.g. sqlite:///PATH or s3://BUCKET/PREFIX; also RECONCILER_STATE."
    )


def creating() -> Decorator:
    """Whether a state may be created that is shared or named on the command line."""
    return click.option(
        "--create-state",
        is_flag=True,
        allow_from_autoenv=False,
        help="Create the state if it has never seen this project. Required without a terminal for --state, RECONCILER_STATE and servers.",
    )


def targets() -> Decorator:
    """Which addresses the run is about."""
    return _all(
        click.option(
            "--target",
            metavar="GLOB",
            multiple=True,
            callback=_glob,
            shell_complete=completion.addresses,
            help="Limit the run to matching addresses and what they require. Repeatable.",
        ),
        click.option(
            "--exclude",
            metavar="GLOB",
            multiple=True,
            callback=_glob,
            shell_complete=completion.addresses,
            help="Exclude matching addresses. Repeatable.",
        ),
    )


def selection() -> Decorator:
    """What the run is about, and what it may make anew."""
    return _all(
        targets(),
        click.option(
            "--allow-replace",
            metavar="ADDRESS",
            multiple=True,
            callback=_glob,
            shell_complete=completion.addresses,
            allow_from_autoenv=False,
            help="Allow matching objects to be deleted and recreated. Repeatable.",
        ),
    )


def yes() -> Decorator:
    """Consent to what is planned."""
    return click.option("-y", "--yes", is_flag=True, allow_from_autoenv=False, help="Do not ask for confirmation. Guards still apply.")


def absences() -> Decorator:
    """How much may be gone without being taken for an outage."""
    return click.option(
        "--accept-gone",
        type=click.IntRange(0),
        metavar="N",
        allow_from_autoenv=False,
        help="Accept up to N tracked objects as deleted outside Reconciler.",
    )


def guards() -> Decorator:
    """What this run may do although a guard would refuse it."""
    return _all(
        click.option(
            "--allow-delete",
            type=click.IntRange(0),
            metavar="N",
            allow_from_autoenv=False,
            help="Allow up to N deletions, instead of guards.maxDelete.",
        ),
        click.option(
            "--allow-exposure",
            metavar="ADDRESS",
            multiple=True,
            callback=_glob,
            shell_complete=completion.addresses,
            allow_from_autoenv=False,
            help="Allow matching addresses to become public or lose a protection. Repeatable.",
        ),
    )


def output(*, formats: tuple[str, ...] = ()) -> Decorator:
    """How results are written."""
    chosen: tuple[Decorator, ...] = ()
    if formats:
        chosen = (
            click.option("--format", type=click.Choice(formats), default=formats[0], show_default=True, help="The format of the result."),
        )
    return _all(
        *chosen,
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            help="Color the output; also NO_COLOR and FORCE_COLOR.",
        ),
    )


@dataclass(frozen=True)
class Options:
    """The shared options of one command line; what a command does not have stands at its default."""

    project: Path = Path()
    env: str | None = None
    var: Mapping[str, str] = field(default_factory=dict)
    var_file: tuple[tuple[str, bytes], ...] = ()
    env_file: tuple[str, ...] = ()
    public_var: tuple[str, ...] = ()
    allow_file: tuple[Path, ...] = ()
    sandbox: Path | None = None
    base_url: str | None = None
    max_concurrency: int | None = None
    max_rps: float | None = None
    state: str | None = None
    target: tuple[Glob, ...] = ()
    exclude: tuple[Glob, ...] = ()
    allow_replace: tuple[Glob, ...] = ()
    allow_exposure: tuple[Glob, ...] = ()
    allow_delete: int | None = None
    accept_gone: int | None = None
    create_state: bool = False
    format: str = "text"

    @classmethod
    def of(cls, screen: Screen, words: Mapping[str, Any]) -> Options:
        """The options among the words of a command; how to write goes to the screen."""
        screen.color = words.get("color", "auto")
        known = {name: value for name, value in words.items() if name in cls.__dataclass_fields__}
        return cls(**known)

    @property
    def var_files(self) -> tuple[VariableFile, ...]:
        """The files of variables as problems name them: below the project by their name there."""
        if not self.var_file:
            return ()
        from reconciler.config.language.given import STANDARD_INPUT, VariableFile

        folder = Path(os.path.normpath((self.project if self.project.is_dir() else self.project.parent).absolute()))
        named = []
        for name, text in self.var_file:
            path = Path(os.path.normpath(Path(name).absolute()))
            inside = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else name
            named.append(VariableFile(STANDARD_INPUT if name == STDIN else inside, text))
        return tuple(named)

    def _globs(self) -> Mapping[str, tuple[Glob, ...]]:
        """The options whose values are patterns over addresses."""
        allowed = {"allow-replace": self.allow_replace, "allow-exposure": self.allow_exposure}
        return {"target": self.target, "exclude": self.exclude, **allowed}

    def saved_line(self, plan: Path) -> str:
        """The command line that applies a saved plan; what the plan is about stands in it."""
        import shlex
        from dataclasses import replace

        rest = replace(self, target=(), exclude=(), allow_replace=(), allow_exposure=())
        return f"{rest.command_line('apply')} --plan {shlex.quote(str(plan))}"

    def command_line(self, command: str) -> str:
        """The same options for another command, as they would be typed."""
        import shlex

        words = ["reconciler", *command.split()]
        if self.project != Path():
            words.append(str(self.project))
        words += [f"--env={self.env}"] if self.env else []
        words += [f"--var={name}={value}" for name, value in self.var.items()]
        words += [f"--var-file={name}" for name, _ in self.var_file]
        words += [f"--env-file={name}" for name in self.env_file]
        words += [f"--public-var={name}" for name in self.public_var]
        words += [f"--allow-file={near(path)}" for path in self.allow_file]
        for name, values in self._globs().items():
            words += [part for value in values for part in (f"--{name}", str(value))]
        words += ["--allow-delete", str(self.allow_delete)] if self.allow_delete is not None else []
        words += ["--accept-gone", str(self.accept_gone)] if self.accept_gone is not None else []
        words += ["--sandbox", str(near(self.sandbox))] if self.sandbox is not None else []
        words += ["--base-url", self.base_url] if self.base_url else []
        words += ["--state", self.state] if self.state and "@" not in self.state else []
        return shlex.join(words)


def near(path: Path) -> Path:
    """A path as it is typed from here."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_absolute() and path.is_relative_to(here) else path
