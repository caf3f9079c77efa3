"""What a shell completes: addresses and runs from the state, environments, kinds, schemas; and the scripts that ask for it.

In: a line as far as it is typed. Out: candidates. It reads files of this machine only and quickly: no YAML is evaluated, nothing is sent.
If anything goes wrong, nothing is said, and there are no candidates. Forbidden: writing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete, split_arg_string

from reconciler.cli.program import COMPLETING
from reconciler.cli.project_folder import PROJECT_FILE

CANDIDATES_MAX: Final = 1000
_PROJECT: Final = re.compile(r"""^project:[ \t]+["']?([A-Za-z0-9._-]+)["']?[ \t]*(?:#.*)?\r?$""", re.MULTILINE)

Candidates = list[CompletionItem[str]]
Completer = Callable[[click.Context, click.Parameter, str], Candidates]


def _completer(find: Callable[[click.Context, str], Iterator[tuple[str, str]]]) -> Completer:
    """A completer of what `find` gives: candidates, each with a remark."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> Candidates:
        made: Candidates = []
        try:
            for value, remark in find(ctx, incomplete):
                if value.startswith(incomplete):
                    made.append(CompletionItem(value, help=remark or None))
                if len(made) >= CANDIDATES_MAX:
                    break
        except Exception:  # nothing that a completion meets is worth a word
            return []
        return made

    return complete


@_completer
def addresses(ctx: click.Context, _: str) -> Iterator[tuple[str, str]]:
    """The addresses that the state tracks."""
    from reconciler.state.tables.direct import tracked_addresses

    params = _params(ctx)
    file, project = _state(params)
    if file is not None:
        for address in tracked_addresses(file, project, params.get("env") or ""):
            yield address, ""


@_completer
def runs(ctx: click.Context, _: str) -> Iterator[tuple[str, str]]:
    """The runs in the state, newest first."""
    from reconciler.state.tables.direct import recorded_runs

    yield "last", "the newest run that sent anything"
    params = _params(ctx)
    file, project = _state(params)
    if file is not None:
        for id, command, started in recorded_runs(file, project, params.get("env") or ""):
            yield id, f"{command}, {started[:16].replace('T', ' ')}"


@_completer
def environments(ctx: click.Context, _: str) -> Iterator[tuple[str, str]]:
    """The environments of the project."""
    for file in sorted((_file(_params(ctx)).parent / "environments").glob("*.yaml")):
        yield file.stem, ""


@_completer
def kinds(_: click.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """The kinds; after a point, the fields of a kind."""
    from reconciler.kinds import load

    every = load()
    name, point, _field = incomplete.partition(".")
    if point and name in every:
        for field, declared in every[name].fields.items():
            yield f"{name}.{field}", declared.doc
    for kind in every.values():
        yield kind.name, kind.doc.partition("\n")[0]


@_completer
def schemas(_: click.Context, __: str) -> Iterator[tuple[str, str]]:
    """The names of the schemas."""
    from reconciler.report.schemas.documents import DOCUMENTS

    yield "config", "project files"
    yield "fleet", "fleet files"
    for name, (title, _document) in DOCUMENTS.items():
        yield name, title


def _params(ctx: click.Context) -> dict[str, Any]:
    """The parameters of the line. click keeps none of them where the value of the last option is what is completed."""
    words: list[str] = list(ctx.find_root().obj or ())
    if not words or not words[-1].startswith("-"):
        return ctx.params
    at = 0
    for name in ctx.command_path.split()[1:]:
        at = words.index(name, at) + 1
    return ctx.command.make_context(ctx.info_name, words[at:-1], parent=ctx.parent, resilient_parsing=True).params


def _file(params: dict[str, Any]) -> Path:
    """The project file that the line means."""
    project = Path(params.get("project") or Path())
    return project / PROJECT_FILE if project.is_dir() else project


def _state(params: dict[str, Any]) -> tuple[Path | None, str]:
    """The file of the state, None where it is on a server, in a bucket or not known; and the name of the project, "" where that is not."""
    from reconciler.cli.wiring.sealed import STATE, written_state

    file = _file(params)
    text = file.read_bytes()
    named = _PROJECT.search(text.decode("utf-8", "replace"))
    given = params.get("state") or os.environ.get(STATE)
    environment = file.parent / "environments" / f"{params.get('env')}.yaml"
    if not given and params.get("env") and environment.is_file() and b"state:" in (own := environment.read_bytes()):
        text = own
    return written_state(file.parent, text, given), named[1] if named else ""


# -- the shells ---------------------------------------------------------------------------------------------------------------------------

BASH: Final = """\
%(complete_func)s() {
    local type value
    COMPREPLY=()
    while IFS=',' read -r type value; do
        case $type in
            dir) compopt -o dirnames 2>/dev/null ;;
            file) compopt -o default 2>/dev/null ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" COMP_WORDBREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
}
complete -o nosort -F %(complete_func)s %(prog_name)s 2>/dev/null || complete -F %(complete_func)s %(prog_name)s
"""


class _Whole(ShellComplete):
    """Lets the completers see all words of the line."""

    def get_completions(self, args: list[str], incomplete: str) -> Candidates:
        self.ctx_args = {"obj": args}
        return super().get_completions(args, incomplete)


class Bash(_Whole, BashComplete):
    """Bash ends a word at `@`, `=` and `:`, which addresses contain. So the line is read here, and the end of a word is answered."""

    source_template = BASH

    def source(self) -> str:
        return ShellComplete.source(self)

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_LINE"].encode()[: int(os.environ["COMP_POINT"])].decode("utf-8", "ignore")
        words = split_arg_string(line)[1:]
        self.word = words.pop() if words and not line[-1:].isspace() else ""
        return words, self.word

    def format_completion(self, item: CompletionItem[str]) -> str:
        typed = _value_part(self.word)
        cut = max((typed.rfind(character) for character in os.environ.get("COMP_WORDBREAKS", "@=:")), default=-1) + 1
        return f"{item.type},{item.value[cut:] if item.value.startswith(typed[:cut]) else item.value}"


class Zsh(_Whole, ZshComplete):
    """Zsh replaces the whole word, the option before `=` included."""

    def get_completion_args(self) -> tuple[list[str], str]:
        words, self.word = super().get_completion_args()
        return words, self.word

    def format_completion(self, item: CompletionItem[str]) -> str:
        return super().format_completion(_with_option(self.word, item))


class Fish(_Whole, FishComplete):
    """So does fish; and it ends a remark at a comma."""

    def get_completion_args(self) -> tuple[list[str], str]:
        words, self.word = super().get_completion_args()
        return words, self.word

    def format_completion(self, item: CompletionItem[str]) -> str:
        made = _with_option(self.word, item)
        return super().format_completion(CompletionItem(made.value, made.type, (made.help or "").replace(",", ";") or None))


SHELLS: Final[dict[str, type[ShellComplete]]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}


def _value_part(word: str) -> str:
    """The value in `--option=value`."""
    return word.partition("=")[2] if word.startswith("--") and "=" in word else word


def _with_option(word: str, item: CompletionItem[str]) -> CompletionItem[str]:
    option = word[: len(word) - len(_value_part(word))]
    return CompletionItem(option + item.value, item.type, item.help) if item.type == "plain" else item


def script(shell: str, program: click.Command) -> str:
    """What a shell has to read to complete this program."""
    return SHELLS[shell](program, {}, "reconciler", COMPLETING).source()


def answer(program: click.Command, instruction: str) -> str:
    """The candidates, in the form of the shell that asks: `bash_complete`."""
    try:
        return SHELLS[instruction.partition("_")[0]](program, {}, "reconciler", COMPLETING).complete()
    except Exception:  # a line that nobody can follow has no completion
        return ""


def shells() -> Any:
    """The shells, as the type of an argument."""
    return click.Choice(list(SHELLS))
