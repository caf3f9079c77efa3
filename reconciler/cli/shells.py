"""The shells that complete lines of this program: click's own completion, corrected where addresses need it.

Addresses contain `@` and `:` and are written as `--target=ADDRESS`, which click's completion does not expect:

    typed                      the shell asks for          click answers    the line needs
    --target=acme/te           --target=acme/te (zsh)      acme/team/w      --target=acme/team/w
    acme/member/ada@ac         ac (bash, after the @)      nothing          me.example
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import Final

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    get_completion_class,
    shell_complete,
    split_arg_string,
)

# click's own script for bash evaluates each candidate (`COMPREPLY+=($value)`) and sends the words as bash has split them. This one quotes
# the candidates and sends the line as it was typed.
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

_SPECIAL: Final = re.compile(r"(?=[\x21-\x7e])[^\w@%+=:,./*-]")  # what bash reads as something else: an e-mail address may contain `$(…)`
_BACKSLASH: Final = r"\\\g<0>"


class WholeWords(ShellComplete):
    """Candidates that replace the whole word, the option before `=` included. The completers see all complete words of the line."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        self.ctx_args = {"obj": args}
        items = super().get_completions(args, incomplete)
        option = incomplete.partition("=")[0] + "=" if incomplete.startswith("--") and "=" in incomplete else ""
        return [CompletionItem(option + item.value, item.type, item.help) if item.type == "plain" else item for item in items]


class Bash(WholeWords, BashComplete):
    """Bash splits words at `@`, `=` and `:`. So the line is parsed here, and the answer is the end of a word."""

    source_template = BASH

    def source(self) -> str:
        return ShellComplete.source(self)  # click's own starts bash to ask for its version, at every source

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_LINE"].encode()[: int(os.environ["COMP_POINT"])].decode("utf-8", "ignore")
        args = split_arg_string(line)[1:]
        self.word = args.pop() if args and not line[-1:].isspace() else ""
        return args, self.word

    def format_completion(self, item: CompletionItem[str]) -> str:
        cut = max((self.word.rfind(character) for character in os.environ.get("COMP_WORDBREAKS", "@=:")), default=-1) + 1
        value = item.value[cut:] if item.value.startswith(self.word[:cut]) else item.value
        return f"{item.type},{_SPECIAL.sub(_BACKSLASH, value) if item.type == 'plain' else value}"


class Zsh(WholeWords, ZshComplete):
    """Zsh, by click's own script."""


class Fish(WholeWords, FishComplete):
    """Fish, whose script by click ends a description at a comma."""

    def format_completion(self, item: CompletionItem[str]) -> str:
        return super().format_completion(CompletionItem(item.value, item.type, (item.help or "").replace(",", ";") or None))


SHELLS: Final = ("bash", "zsh", "fish")
for _shell in (Bash, Zsh, Fish):
    add_completion_class(_shell)


def script(shell: str, program: click.Command, variable: str) -> str:
    """The script that a shell reads to complete this program. `variable`: the name of the one that it sets to ask for candidates."""
    shell_class = get_completion_class(shell)
    assert shell_class is not None
    return shell_class(program, {}, "reconciler", variable).source()


def answer(program: click.Command, variable: str, instruction: str) -> None:
    """Print the candidates, in the format of the requesting shell: `bash_complete`. An invalid line has none, and is not an error."""
    with suppress(Exception):
        shell_complete(program, {}, "reconciler", variable, instruction)
