"""Groups that import a command only when it is used, and the one place where whatever happened becomes an exit code.

Forbidden: importing anything but click and the light part of this package; `reconciler --help` must cost no more than click does.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import click

from reconciler import __version__
from reconciler.cli import exits
from reconciler.cli.terminal import signals
from reconciler.cli.terminal.screen import Screen

COLLECTING: Final = (100_000, 50, 100)  # a run keeps nearly all that it makes; looking for what it does not costs a sixth of its time
SECRETS = ("RECONCILER_TOKEN", "PGPASSWORD", "GITHUB_TOKEN", "GITLAB_TOKEN", "BITBUCKET_TOKEN")  # variables that hold nothing else
ADDRESSES = ("reconciler_state", "reconciler_base_url", "https_proxy", "http_proxy", "all_proxy")  # may hold a password


class Lazy(NamedTuple):
    """Where a command lives, and what the list of commands says of it."""

    module: str
    says: str


COMMANDS: Mapping[str, Lazy] = {
    "init": Lazy("reconciler.cli.commands.init", "Create a small project."),
    "validate": Lazy("reconciler.cli.commands.validate", "Check a project without contacting the service."),
    "plan": Lazy("reconciler.cli.commands.plan", "Show what would change."),
    "apply": Lazy("reconciler.cli.commands.apply", "Apply changes after confirmation."),
    "drift": Lazy("reconciler.cli.commands.drift", "Show what was changed outside Reconciler."),
    "diff": Lazy("reconciler.cli.commands.diff", "Show what a change of the files means, without the service."),
    "access": Lazy("reconciler.cli.commands.access", "Show who can read what, now and after the plan."),
    "graph": Lazy("reconciler.cli.commands.graph", "Draw resources or requests as a Mermaid or Graphviz graph."),
    "import": Lazy("reconciler.cli.commands.importing", "Import an existing organization as a project."),
    "adopt": Lazy("reconciler.cli.commands.adopt", "Track an existing object at an address."),
    "history": Lazy("reconciler.cli.commands.history:history_command", "List runs: who ran what, when, and what it did."),
    "show": Lazy("reconciler.cli.commands.history:show_command", "Show what a run did, request by request."),
    "undo": Lazy("reconciler.cli.commands.undo", "Plan and apply the reverse of a run."),
    "policy": Lazy("reconciler.cli.commands.policy", "List policies, and test them with examples."),
    "state": Lazy("reconciler.cli.commands.state", "Inspect and change the state."),
    "doctor": Lazy("reconciler.cli.commands.doctor", "Check prerequisites and diagnose problems."),
    "fmt": Lazy("reconciler.cli.commands.fmt", "Format the files of a project."),
    "explain": Lazy("reconciler.cli.commands.explain", "Describe a kind or a field."),
    "config": Lazy("reconciler.cli.commands.config", "Show the evaluated configuration, and compare environments."),
    "comment": Lazy("reconciler.cli.commands.comment", "Show plans, outcomes and drift in the comment of a pull request."),
    "schema": Lazy("reconciler.cli.commands.schema", "Print JSON Schemas."),
    "api": Lazy("reconciler.cli.commands.api", "Send one authenticated request."),
    "sandbox": Lazy("reconciler.cli.commands.sandbox", "Run and control the embedded sandbox."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used. Without a command it shows its help."""

    def __init__(self, *args: Any, commands_by_name: Mapping[str, Lazy], **words: Any) -> None:
        words.setdefault("context_settings", {"help_option_names": ["-h", "--help"], "max_content_width": 100})
        words |= {"invoke_without_command": True, "no_args_is_help": False, "callback": _help_unless_invoked}
        super().__init__(*args, **words)
        self.by_name = commands_by_name

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.by_name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        lazy = self.by_name.get(cmd_name)
        if lazy is None:
            return None
        module, _, name = lazy.module.partition(":")
        command: click.Command = getattr(importlib.import_module(module), name or "command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.says) for name, lazy in self.by_name.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.by_name and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, self.by_name, n=1)
            ctx.fail(f"command {name!r} does not exist" + (f"; did you mean {near[0]}?" if near else ""))
        return super().resolve_command(ctx, args)


@click.pass_context
def _help_unless_invoked(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f"reconciler {__version__}")
        ctx.exit()


class Program(LazyGroup):
    """The whole program. Commands return their exit code, or None for 0."""

    def __init__(self, *args: Any, version: bool = False, **words: Any) -> None:
        super().__init__(*args, **words)
        if version:
            option = click.Option(
                ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_show_version, help="Show the version."
            )
            self.params.append(option)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line; exits with its code. With `standalone_mode=False` it is click's own, which raises."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        gc.set_threshold(*COLLECTING)
        _open_what_is_closed()
        screen = Screen()
        screen.hide(_given_secrets(sys.argv[1:] if args is None else args))
        with signals.ending() as ending:
            work = partial(super().main, args, prog_name, complete_var, False, obj=screen, **extra)
            code = self._code(screen, lambda: ending.run(work))
        screen.close()
        if screen.lost is not None and code == exits.DONE and not screen.acted:
            code = exits.FAILED
        sys.exit(code)

    def _code(self, screen: Screen, run: Callable[[], Any]) -> int:
        try:
            result = run()
        except click.exceptions.Exit as error:
            return error.exit_code
        except (click.Abort, KeyboardInterrupt):
            screen.error("interrupted")
            return exits.INTERRUPTED
        except signals.Terminated:
            screen.error("terminated")
            return exits.TERMINATED
        except click.ClickException as error:
            screen.usage(error)
            return exits.WRONG
        except BrokenPipeError:
            screen.broken()
            return exits.DONE
        except SystemExit as error:  # click exits by itself when a pipe breaks under its help
            return error.code if isinstance(error.code, int) else exits.FAILED
        except Exception as error:
            return _failed(screen, error)
        return result if isinstance(result, int) and not isinstance(result, bool) else exits.DONE


def _given_secrets(words: Sequence[str]) -> list[str]:
    """What must not be seen of the environment and the command line, known before anything can fail."""
    given = os.environ
    told = [value for name, value in given.items() if name in SECRETS]
    addresses = [value for name, value in given.items() if name.lower() in ADDRESSES] + [word for word in words if "://" in word]
    if not any("@" in one or "?" in one for one in addresses):
        return told
    from reconciler.text.redact import of_urls

    return [*told, *of_urls(addresses)]


def _open_what_is_closed() -> None:
    """A caller may close stdout or stderr (`>&-`); what is written there goes nowhere then."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  open until the end


def _failed(screen: Screen, error: Exception) -> int:
    """Say what went wrong; what nobody foresaw is a defect."""
    from reconciler.errors import ConfigError, ReconcilerError

    match error:
        case ConfigError():
            screen.problems(error)
        case ReconcilerError():
            screen.error(error.message, hint=error.hint)
        case _:
            screen.defect(error)
    code = error.exit_code if isinstance(error, ReconcilerError) else exits.FAILED
    return exits.PARTLY if code == exits.FAILED and screen.acted else code  # a run that did anything is never FAILED
