"""Groups that import a command only when it is used, and the only place that turns results and errors into exit codes.

Forbidden: slow imports; only click and the light part of this package: `reconciler --help` must cost no more than click does.
"""

from __future__ import annotations

import difflib
import errno
import gc
import importlib
import os
import select
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import IO, Any, Final, NamedTuple

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from reconciler import __version__, exits, signals
from reconciler.cli import everywhere, other_words
from reconciler.cli.environment import origin, read_from_environment, warnings
from reconciler.cli.help import end, options
from reconciler.cli.shells import answer
from reconciler.cli.terminal.screen import Screen, UnknownCommand
from reconciler.errors import ConfigError, ReconcilerError, os_reason
from reconciler.text.redact import of_urls

COLLECTING: Final = (1_000_000, 50, 100)  # a run keeps nearly all objects that it creates; looking for garbage costs a sixth of its time
SECRETS = ("RECONCILER_TOKEN", "PGPASSWORD", "GITHUB_TOKEN", "GITLAB_TOKEN", "BITBUCKET_TOKEN")  # variables that contain only secrets
NAMES_MAX: Final = 30  # columns; the text of an option with a longer name begins on the next line
COMPLETING: Final = "_RECONCILER_COMPLETE"  # set by the scripts of `reconciler completion`
ADDRESSES = (  # may contain a password
    "reconciler_state",
    "reconciler_database",
    "reconciler_base_url",
    "https_proxy",
    "http_proxy",
    "all_proxy",
)

# A help text promises its exit codes, and a test of every command compares what it returned with the promise.
READS: Final = (exits.REFUSED, exits.PARTLY)
PLANS: Final = (*READS, exits.PENDING)
WRITES: Final = (*READS, exits.LOCKED)
"""Exit codes that many commands have besides those of every command."""


class Lazy(NamedTuple):
    """The module of a command, its line in the list of commands, and its exit codes besides those of every command."""

    module: str
    says: str
    codes: tuple[int, ...] = ()


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used. Without a command it shows its help. `headings`: names of commands."""

    def __init__(
        self, *args: Any, commands_by_name: Mapping[str, Lazy], headings: Mapping[str, Collection[str]] = {}, **settings: Any
    ) -> None:
        settings.setdefault("context_settings", {"help_option_names": ["-h", "--help"], "max_content_width": 100})
        settings |= {"invoke_without_command": True, "no_args_is_help": False, "callback": _help_unless_invoked}
        super().__init__(*args, **settings)
        self.by_name, self.headings = commands_by_name, headings or {"Commands": commands_by_name}
        self.path: tuple[str, ...] = ()
        self.params = [*self.params, *everywhere.options()]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.by_name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        lazy = self.by_name.get(cmd_name)
        if lazy is None:
            return None
        module, _, name = lazy.module.partition(":")
        command: click.Command = getattr(importlib.import_module(module), name or "command")
        self._complete(cmd_name, command, lazy)
        return command

    def _complete(self, name: str, command: click.Command, lazy: Lazy) -> None:
        """Add to a command what every command has: the common options, their variables, and the end of its help text."""
        if isinstance(command, LazyGroup):
            command.path = (*self.path, name)
        elif "format_epilog" not in vars(command):
            command.params = [*command.params, *everywhere.options()]
            read_from_environment(command.params)
            command.parse_args = partial(_parse_args, command.parse_args)  # type: ignore[method-assign]
            command.format_options = partial(_options, command)  # type: ignore[method-assign]
            command.format_epilog = partial(_end_of_help, (*self.path, name), lazy.codes)  # type: ignore[method-assign]

    def codes(self) -> Collection[int]:
        """The exit codes of its commands, besides those of every command."""
        return frozenset(code for lazy in self.by_name.values() for code in lazy.codes)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _end_of_help(self.path, self.codes(), ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """The names of its commands, without importing them, and its options."""
        # click would import every command to ask for its short help; the table has it already.
        names = [CompletionItem(name, help=lazy.says) for name, lazy in self.by_name.items() if name.startswith(incomplete)]
        return [*names, *(click.Command.shell_complete(self, ctx, incomplete) if incomplete.startswith("-") else ())]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What people look for comes first: the commands."""
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.by_name))
        for heading, names in self.headings.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), self.by_name[name].says) for name in names])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.by_name and not name.startswith("-"):
            near = difflib.get_close_matches(name, self.by_name, n=1)
            elsewhere = other_words.of_command(self.path, name)
            meant = f"; did you mean {near[0]}?" if near and elsewhere is None else ""
            raise UnknownCommand(f"command {name!r} does not exist{meant}", ctx, hint=elsewhere)
        return super().resolve_command(ctx, args)


def _parse_args(parse: Callable[[click.Context, list[str]], list[str]], ctx: click.Context, args: list[str]) -> list[str]:
    """Parse the arguments of a command, and refuse an option in the place of a value: `--accept --sandbox FILE`."""
    options = [param for param in ctx.command.get_params(ctx) if isinstance(param, click.Option)]
    names = {name for option in options for name in (*option.opts, *option.secondary_opts) if name.startswith("--")}
    valued = {name for option in options if not option.is_flag and not option.count and option.nargs == 1 for name in option.opts}
    arguments = iter(args[: args.index("--")] if "--" in args else args)
    for argument in arguments:
        if argument in valued and (value := next(arguments, "")).partition("=")[0] in names:
            raise click.BadOptionUsage(argument, f"Option {argument!r} requires an argument, and {value!r} is an option.", ctx)
    return parse(ctx, args)


def _options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the options of a command under their headings, with one width for all names."""
    groups = options(command, ctx)
    width = max(len(names) for _, rows in groups for names, _ in rows if len(names) <= NAMES_MAX)
    for heading, rows in groups:
        with formatter.section(heading):
            formatter.write_dl([(names.ljust(width), text) for names, text in rows], col_max=NAMES_MAX)


def _end_of_help(path: Sequence[str], codes: Collection[int], _: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the end of a command's help text."""
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_text(end(path, codes))


@click.pass_context
def _help_unless_invoked(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
    elif ctx.parent is None and ctx.obj is not None:
        for warning in warnings():
            ctx.obj.warn(warning, id="RC-variable-ignored")


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f"reconciler {__version__}")
        ctx.exit()


class _Unforeseen(Exception):
    """An error of a command that click would take for another one."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class Program(LazyGroup):
    """The whole program. Commands return their exit code, or None for 0."""

    def __init__(self, *args: Any, version: bool = False, **settings: Any) -> None:
        super().__init__(*args, **settings)
        if version:
            option = click.Option(
                ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_show_version, help="Show the version."
            )
            self.params = [everywhere.directory(), *self.params, option]

        read_from_environment(self.params)

    def codes(self) -> Collection[int]:
        """All exit codes."""
        return exits.MEANINGS

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Raises `_Unforeseen` for a pipe that is not that of its results, and for the end of a file."""
        # click ends without a word at every broken pipe, and takes the end of any file for an interrupt.
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            if not _has_reader(sys.stdout):
                raise
            raise _Unforeseen(error) from error
        except EOFError as error:
            raise _Unforeseen(error) from error

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line; exits with its code. `obj`: its `Screen`. With `standalone_mode=False` it behaves as click's own."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        # Before anything else, because a shell waits: no signals, no screen, no secrets are needed to complete a line.
        if (instruction := os.environ.get(COMPLETING)) is not None:
            answer(self, COMPLETING, instruction)
            sys.exit(exits.DONE)
        try:
            with _seldom_collecting(ends=args is None):
                code = self._exit_code(list(sys.argv[1:] if args is None else args), prog_name, complete_var, extra)
            sys.exit(code)
        except KeyboardInterrupt:  # before or after the command itself, which handles signals
            Screen().error("interrupted", id="RC-interrupted")
            sys.exit(exits.INTERRUPTED)

    def _exit_code(self, argv: list[str], prog_name: str | None, complete_var: str | None, extra: dict[str, Any]) -> int:
        _open_what_is_closed()
        argv = other_words.spelled_here(argv)
        screen: Screen = extra.pop("obj", None) or Screen()
        screen.hide(_given_secrets(argv))
        with signals.ending() as stop, everywhere.variables_kept():
            screen.supervision = replace(screen.supervision, signals=stop)
            work = partial(super().main, argv, prog_name, complete_var, False, obj=screen, **extra)
            code = self._code(screen, lambda: stop.run(work), argv)
        screen.ended(code)
        screen.close()
        # A result that nobody could read is not a success. But a run that changed the service keeps its own code, or a pipeline would
        # run it again.
        if screen.lost is not None and code == exits.DONE and not screen.acted:
            code = exits.FAILED
        return code

    def _code(self, screen: Screen, run: Callable[[], Any], argv: Sequence[str]) -> int:
        try:
            result = run()
        except click.exceptions.Exit as error:
            return error.exit_code
        except (click.Abort, KeyboardInterrupt):
            screen.error("interrupted", id="RC-interrupted")
            return exits.INTERRUPTED
        except signals.Terminated:
            screen.error("terminated", id="RC-interrupted")
            return exits.TERMINATED
        except click.ClickException as error:
            _usage(screen, error, argv)
            return exits.WRONG
        except BrokenPipeError:
            screen.broken()
            return exits.DONE
        # A library may exit by itself too; its code must not end the log and the traces before they are complete.
        except SystemExit as error:  # click exits by itself if a pipe breaks during its help text
            return error.code if isinstance(error.code, int) else exits.FAILED
        except _Unforeseen as unforeseen:
            return _failed(screen, unforeseen.error, argv)
        except Exception as error:
            return _failed(screen, error, argv)
        return result if isinstance(result, int) and not isinstance(result, bool) else exits.DONE


def _given_secrets(argv: Sequence[str]) -> list[str]:
    """The secrets in the environment and on the command line, collected before anything can fail."""
    given = os.environ
    secrets = [value for name, value in given.items() if name in SECRETS]
    addresses = [value for name, value in given.items() if name.lower() in ADDRESSES] + [word for word in argv if "://" in word]
    # The test for characters spares most runs the parsing of URLs.
    if not any("@" in address or "?" in address for address in addresses):
        return secrets

    return [*secrets, *of_urls(addresses)]


@contextmanager
def _seldom_collecting(*, ends: bool) -> Iterator[None]:
    """Collect garbage rarely: a run keeps nearly all objects that it creates. `ends`: the process ends after the block, so nothing is
    collected."""
    # A plan allocates millions of objects that live until its end. The collector looks at all of them again and again, and finds nothing.
    before = gc.get_threshold()
    gc.set_threshold(*COLLECTING)
    try:
        yield
    finally:
        if ends:
            # The process ends at once; what is alive is given back by the kernel, which is quicker than any destructor.
            gc.freeze()
        else:
            gc.set_threshold(*before)


def _has_reader(stream: IO[str]) -> bool:
    """Whether anybody can read what is written to a stream: not if it is a pipe whose reader has gone."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):  # text in memory
        return True
    errors = select.poll()
    errors.register(descriptor, 0)
    return not errors.poll(0)


def _open_what_is_closed() -> None:
    """Open stdout and stderr to nowhere if the caller closed them (`>&-`)."""
    # Otherwise the next file that is opened becomes descriptor 1, and results are written into it.
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  open until the end


def _usage(screen: Screen, error: click.ClickException, argv: Sequence[str]) -> None:
    """Print what is wrong with the command line, or with the variable of an option."""
    # click stops at the first error, so options after it have not been parsed; whoever reads JSON must not get text.
    if f"{everywhere.LOG_FORMAT}=json" in argv or f"{everywhere.LOG_FORMAT} json" in " ".join(argv):
        screen.log.form = "json"  # the error may have come before that option
    context, param = getattr(error, "ctx", None), getattr(error, "param", None)
    if isinstance(error, click.NoSuchOption) and context is not None:
        known = {name for known in context.command.get_params(context) for name in known.opts if name.startswith("--")}
        elsewhere = other_words.of_option(argv, known)
        if elsewhere is not None:
            # click names only the first letter of -auto-approve.
            screen.usage(click.NoSuchOption(elsewhere[0], ctx=context), hint=elsewhere[1])
            return
    if not isinstance(error, click.BadParameter) or context is None or param is None:
        screen.usage(error)
        return
    if context.get_parameter_source(param.name) is ParameterSource.ENVIRONMENT:
        error = click.BadParameter(error.message, context, param_hint=f"{param.envvar} ({param.opts[0]})")
    screen.usage(error)


SYSTEM: Final = (
    errno.EROFS,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EACCES,
    errno.EPERM,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENAMETOOLONG,
)
"""Refusals of the operating system that any file can meet, wherever it is used: never a defect of this program."""


def _of_the_system(error: OSError) -> ReconcilerError | None:
    """The error for what the operating system refused; None if it may be a defect of this program."""
    try:
        os.getcwd()
    except OSError:
        hint = "Change to one that exists, for example with cd; or pass -C DIR before the command."
        return ReconcilerError("the current directory no longer exists: it was deleted or moved", id="RC-no-directory", hint=hint)
    if error.errno not in SYSTEM:
        return None
    what = f"{error.filename} cannot be used" if error.filename else "a file cannot be used"
    hint = "Check the disk and the permissions, or use a directory that can be written."
    return ReconcilerError(f"{what}: {os_reason(error)}", id="RC-file-refused", hint=hint)


def _failed(screen: Screen, error: Exception, argv: Sequence[str]) -> int:
    """Print an error and return its exit code; unexpected exceptions are defects."""
    if isinstance(error, OSError):
        error = _of_the_system(error) or error
    match error:
        case ConfigError():
            screen.problems(error)
        case ReconcilerError():
            hints = [hint for hint in (error.hint, origin(error.message, argv)) if hint]
            screen.error(error.message, id=error.id, hint="\n".join(hints) or None)
        case _:
            screen.defect(error)
    code = error.exit_code if isinstance(error, ReconcilerError) else exits.FAILED
    # FAILED promises that nothing was done. Whoever reads it may run the command again without looking.
    return exits.PARTLY if code == exits.FAILED and screen.acted else code  # a run that did anything is never FAILED
