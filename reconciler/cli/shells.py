"""The shells that complete lines of this program: their scripts, and the format of their answers."""

from __future__ import annotations

import os
import re
from typing import Final

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete, split_arg_string

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


class _Whole(ShellComplete):
    """Shows the completers all words of the line."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        self.ctx_args = {"obj": args}
        return super().get_completions(args, incomplete)


class Bash(_Whole, BashComplete):
    """Bash splits words at `@`, `=` and `:`, which addresses contain. So the line is parsed here, and the answer is the end of a word."""

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
        value = item.value[cut:] if item.value.startswith(typed[:cut]) else item.value
        return f"{item.type},{_SPECIAL.sub(_BACKSLASH, value) if item.type == 'plain' else value}"


class Zsh(_Whole, ZshComplete):
    """Zsh replaces the whole word, the option before `=` included."""

    def get_completion_args(self) -> tuple[list[str], str]:
        words, self.word = super().get_completion_args()
        return words, self.word

    def format_completion(self, item: CompletionItem[str]) -> str:
        return super().format_completion(_with_option(self.word, item))


class Fish(_Whole, FishComplete):
    """Fish replaces the whole word too, and ends a description at a comma."""

    def get_completion_args(self) -> tuple[list[str], str]:
        words, self.word = super().get_completion_args()
        return words, self.word

    def format_completion(self, item: CompletionItem[str]) -> str:
        completion = _with_option(self.word, item)
        return super().format_completion(
            CompletionItem(completion.value, completion.type, (completion.help or "").replace(",", ";") or None)
        )


SHELLS: Final[dict[str, type[ShellComplete]]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}


def _value_part(word: str) -> str:
    """The value in `--option=value`."""
    return word.partition("=")[2] if word.startswith("--") and "=" in word else word


def _with_option(word: str, item: CompletionItem[str]) -> CompletionItem[str]:
    option = word[: len(word) - len(_value_part(word))]
    return CompletionItem(option + item.value, item.type, item.help) if item.type == "plain" else item


def script(shell: str, program: click.Command, variable: str) -> str:
    """The script that a shell reads to complete this program. `variable`: the name of the one that it sets to ask for candidates."""
    return SHELLS[shell](program, {}, "reconciler", variable).source()


def answer(program: click.Command, variable: str, instruction: str) -> str:
    """The candidates, in the format of the requesting shell: `bash_complete`."""
    try:
        return SHELLS[instruction.partition("_")[0]](program, {}, "reconciler", variable).complete()
    except Exception:  # an invalid line has no completion
        return ""
