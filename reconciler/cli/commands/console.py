"""`reconciler console`: what an expression of the project gives. Sends no requests; secrets are not decrypted."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from reconciler import exits
from reconciler.address import Address
from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.config import Project
from reconciler.config.keys import SECRETS
from reconciler.config.language.bounds import ExpressionError, Usage
from reconciler.config.language.evaluate import Evaluation
from reconciler.config.language.functions import FILTERS, TESTS
from reconciler.config.language.stand_ins import UNKNOWN as UNKNOWN_VALUE
from reconciler.config.project import load_evaluated
from reconciler.config.source.nodes import HOLE_OPENING, UNKNOWN, StandIn
from reconciler.errors import UsageError
from reconciler.kinds import load as load_kinds
from reconciler.report.words import data
from reconciler.resource import Kinds
from reconciler.run.loading import load_options, note_project, sensitive_texts
from reconciler.text.names import did_you_mean
from reconciler.writing import create_folder

# Some builds of Python lack it. Lines are then typed without completion and history.
with suppress(ModuleNotFoundError):
    import readline

HIDDEN: Final = "(hidden)"
NO_VALUE: Final = "(no value)"
PROMPT: Final = "> "
HISTORY: Final = "console_history"
HISTORY_MAX: Final = 1000
LEAVE: Final = ("exit", "quit")
HELP: Final = """\
An expression:  vars.brand | upper      json(file("data/domains.json"))[0]      env.name == "production"
A whole value:  ${{ vars.brand }} guides
An address:     acme/site/docs          acme/site/docs.title        what the project declares
Tab completes names, the arrows go through the history; exit, or Ctrl-D, leaves."""
_WORD: Final = re.compile(r"[^\s()\[\]{},~+*|=!<>\"']*\Z")
_ADDRESS: Final = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)*")


@click.command("console", short_help="Find out what expressions give.")
@shared.project()
@click.option("-e", "--expression", metavar="EXPR", allow_from_autoenv=False, help="Evaluate one expression, print its value, and end.")
@shared.output()
@click.pass_obj
def command(screen: Screen, /, expression: str | None, **parameters: Any) -> int:
    """Evaluate expressions as the project does, with its variables, its environment and its files; or show what it declares at an address.
    Without a terminal, each line of standard input is an expression. Sends no requests.

    A value is printed as JSON, so that its type is visible. Secrets are not decrypted: a value that contains one is (hidden), as are values
    from the environment that are not public.

    \b
    Examples:
      reconciler console examples/acme
      reconciler console examples/acme --expression 'vars.brand ~ " guides"'
      echo 'env.name' | reconciler console examples/environments --env staging
    """
    options = Options.of(screen, parameters)
    kinds = load_kinds()
    project, evaluation = load_evaluated(options.project, kinds, **load_options(options.operation, decrypt=False, stand_ins=True))
    note_project(options.operation, TerminalVoice(screen), project)
    screen.hide([*project.sensitive, *sensitive_texts(project, kinds)])
    console = Console(kinds, project, evaluation)
    if expression is not None:
        return _evaluated(screen, console, expression)
    if screen.can_ask and sys.stdout.isatty():
        screen.say(f"{project.settings.project}{f' in {options.env}' if options.env else ''}. help explains, exit leaves.")
        with _editing(console):
            for line in _typed():
                _evaluated(screen, console, line)
        return exits.DONE
    lines = (line.strip() for line in sys.stdin)
    codes = [_evaluated(screen, console, line) for line in lines if line and line not in LEAVE]
    return max(codes, default=exits.DONE)


def _evaluated(screen: Screen, console: Console, line: str) -> int:
    """Print the value of a line, or what is wrong with it; the exit code."""
    try:
        screen.out(HELP + "\n" if line.strip() == "help" else console.answer(line.strip()) + "\n")
    except ExpressionError as error:
        screen.error(error.message, id=error.id)
        return exits.WRONG
    except UsageError as error:
        screen.error(error.message, id=error.id, hint=error.hint)
        return exits.WRONG
    return exits.DONE


@dataclass(frozen=True)
class Console:
    """Answers lines about one project."""

    kinds: Kinds
    project: Project
    evaluation: Evaluation

    def answer(self, line: str) -> str:
        """The value of an expression, or what the project declares at an address. Raises `ExpressionError` and `UsageError`."""
        if _ADDRESS.fullmatch(line) and not self._is_name(line):
            return self._declared(line)
        self.evaluation.evaluator.work = Usage()  # of this line: the limits are those of one project, not of a long session
        value, taint = self.evaluation.evaluator.scalar(line if HOLE_OPENING in line else f"${{{{ {line} }}}}")
        unset = set(taint) & self.evaluation.variables.unset
        if value is UNKNOWN or set(taint) - unset:
            return HIDDEN
        return NO_VALUE if unset else _json(value)

    def _is_name(self, line: str) -> bool:
        """Whether it begins with a name of expressions, or is a literal."""
        first = re.split(r"[./]", line)[0]
        return first in self.names or first in ("true", "false", "none", "not") or first[:1].isdigit()

    def _declared(self, line: str) -> str:
        resources = self.project.desired.resources
        for end in range(len(line), 0, -1):
            rest = line[end:]
            if rest and not rest.startswith("."):
                continue
            with suppress(ValueError):
                address = Address.parse(line[:end])
                if address in resources:
                    values = self._values(address)
                    return _json(values) if not rest else _json(_inside(values, rest[1:].split("."), address))
        if "/" not in line:
            self.evaluation.evaluator.scalar(f"${{{{ {line} }}}}")  # its error says which names there are
        raise UsageError(f"{line} is not declared{did_you_mean(line, map(str, resources))}", id="RC-not-declared")

    def _values(self, address: Address) -> dict[str, Any]:
        """The declared values, without secrets."""
        declared, kind = self.project.desired.resources[address], self.kinds.of(address)
        return {
            name: _shown(value, sensitive=name in kind.fields and kind.fields[name].sensitive) for name, value in declared.values.items()
        }

    @property
    def names(self) -> list[str]:
        """The names that an expression can begin with."""
        more = ["secrets"] if self.evaluation.secrets is not None else []
        return [*self.evaluation.evaluator.context, *more]

    def candidates(self, text: str) -> list[str]:
        """What can be typed in place of a word: names, variables, filters, addresses and their fields."""
        context = self.evaluation.evaluator.context
        known = [f"{name}(" if callable(context.get(name)) else name for name in self.names]
        known += [f"vars.{name}" for name in self.evaluation.variables.values] + ["env.name", *FILTERS, *TESTS]
        known += [str(address) for address in self.project.desired.resources]
        if "." in text:
            with suppress(ValueError):
                address = Address.parse(text.rpartition(".")[0])
                if address in self.project.desired.resources:
                    known += [f"{address}.{name}" for name in self.project.desired.resources[address].values]
        return sorted({name for name in known if name.startswith(text)})


def _shown(value: Any, *, sensitive: bool) -> Any:
    if sensitive:
        return HIDDEN
    if isinstance(value, StandIn):
        return HIDDEN if f"{UNKNOWN_VALUE}{SECRETS}." in value else NO_VALUE
    return data(value)


def _inside(value: Any, path: list[str], address: Address) -> Any:
    for at, name in enumerate(path):
        if not isinstance(value, Mapping) or name not in value:
            known = map(str, value) if isinstance(value, Mapping) else ()
            wrong = f"{address} does not declare {'.'.join(path[: at + 1])}{did_you_mean(name, known)}"
            raise UsageError(wrong, id="RC-not-declared")
        value = value[name]
    return value


def _json(value: Any) -> str:
    """A value as JSON: on one line if it is short."""
    line = json.dumps(value, ensure_ascii=False, default=str)
    return line if len(line) <= 100 else json.dumps(value, ensure_ascii=False, default=str, indent=2)


# -- a terminal ------------------------------------------------------------------------------------------------------------------------


def _typed() -> Iterator[str]:
    """The lines that somebody types, until they leave."""
    while True:
        try:
            line = input(PROMPT).strip()
        except EOFError:
            click.echo()
            return
        if line in LEAVE:
            return
        if line:
            yield line


@contextmanager
def _editing(console: Console) -> Iterator[None]:
    """Completion, and a history that outlives the console, where the terminal can do it."""
    if "readline" not in sys.modules:
        yield
        return
    found: list[str] = []

    def complete(text: str, number: int) -> str | None:
        if number == 0:
            found[:] = console.candidates(text)
        return found[number] if number < len(found) else None

    file = history_file()
    with suppress(OSError):
        readline.read_history_file(file)
    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n()[]{},~+*|=!<>\"'")
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    readline.set_history_length(HISTORY_MAX)
    try:
        yield
    finally:
        with suppress(OSError):
            create_folder(file.parent, mode=0o700)
            readline.write_history_file(file)
            os.chmod(file, 0o600)


def history_file() -> Path:
    """Where the lines of earlier consoles are: in the user's own directory, never in the project."""
    return Path(click.get_app_dir("reconciler")) / HISTORY
