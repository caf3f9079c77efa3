"""Words of other tools get the word that is used here; `version` and `help` simply work."""

from __future__ import annotations

import re

import pytest

from reconciler import __version__
from reconciler.assembled import main
from reconciler.cli.option_table import ROWS
from reconciler.cli.other_words import COMMANDS, OF_GROUPS, OPTIONS
from tests.command_line import Cli

TYPED: list[tuple[str, str]] = [
    ("apply -auto-approve", "--yes applies without asking"),
    ("apply --auto-approve", "--yes applies without asking"),
    ("output", "reconciler state show ADDRESS"),
    ("destroy", "Remove the lines of what should be deleted"),
    ("plan -destroy", "Remove the lines of what should be deleted"),
    ("plan -refresh-only", "reconciler drift shows"),
    ("apply --refresh-only", "reconciler drift shows"),
    ("taint acme/space/api", "--allow-replace ADDRESS"),
    ("workspace select staging", "reconciler plan --env NAME"),
    ("state rm acme/space/api", "reconciler state forget ADDRESS"),
    ("force-unlock 1a2b", "reconciler state unlock"),
    ("ls", "reconciler state list"),
    ("get acme/space/api", "reconciler state show ADDRESS"),
    ("lint", "reconciler validate"),
    ("rename acme/space/api", "previously: [OLD]"),
    ("revert last", "reconciler undo RUN"),
    ("export", "reconciler state pull prints the state"),
    ("plan -C docs", "-C DIR is written before the command: reconciler -C DIR plan"),
    ("plan -json", "--format json"),
    ("plan -no-color", "--color never"),
    ("plan -out=plan.json", "Long options have two dashes: --out."),
    ("plan -target acme/**", "Long options have two dashes: --target."),
    ("apply -lock-timeout=5m", "Long options have two dashes: --lock-timeout."),
    ("apply -parallelism=20", "--max-concurrency N"),
]


@pytest.mark.parametrize(("line", "says"), TYPED, ids=[line for line, _ in TYPED])
def test_a_word_of_another_tool_gets_the_word_that_is_used_here(cli: Cli, line: str, says: str) -> None:
    result = cli(*line.split())
    assert result.exit_code == 3
    assert says in result.stderr
    assert "did you mean" not in result.stderr


def test_an_option_of_another_tool_is_named_as_it_was_typed(cli: Cli) -> None:
    assert "No such option '-auto-approve'" in cli("apply", "-auto-approve").stderr


def test_a_mistyped_command_still_gets_the_nearest_one(cli: Cli) -> None:
    assert "did you mean plan?" in cli("plann").stderr
    assert "did you mean list?" in cli("state", "lisst").stderr


def test_no_word_of_the_table_is_one_of_this_program() -> None:
    assert [word for word in COMMANDS if word in main.by_name] == []
    groups = dict.fromkeys(("",), main.by_name) | {name: main.get_command(None, name).by_name for name in ("state", "sandbox")}  # type: ignore
    assert [words for words in OF_GROUPS if words.split()[1] in groups[words.split()[0]]] == []
    assert [name for name in OPTIONS if name in {row.name for row in ROWS}] == []


def test_every_command_that_a_hint_names_exists(cli: Cli) -> None:
    named = {match[1] for text in (*COMMANDS.values(), *OF_GROUPS.values(), *OPTIONS.values()) for match in LINE.finditer(text)}
    assert len(named) > 10
    for words in sorted(named):
        assert cli(*words.split(), "--help").exit_code == 0, words


LINE = re.compile(r"reconciler ((?:state |sandbox |policy |config )?[a-z]+)")


def test_version_and_help_are_understood_as_words(cli: Cli) -> None:
    assert cli("version").stdout == f"reconciler {__version__}\n"
    assert cli("help").stdout == cli("--help").stdout
    assert cli("help", "state", "list").stdout == cli("state", "list", "--help").stdout
    assert cli("help", "nothing").exit_code == 3
