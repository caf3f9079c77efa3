"""The conventions that agents may follow: from a file of the repository, and from nowhere else."""

from __future__ import annotations

import pytest

from reconciler.features.mcp.tools import FOLLOW
from tests.command_line import Cli, initialised
from tests.features.mcp.client import Agent, text_of


def conventions(cli: Cli, name: str) -> tuple[str, bool]:
    """What `explain conventions` answers for this file, and whether it is an error."""
    cli.edit("p/reconciler.yaml", "project: p\n", f"project: p\nagents: {{conventions: {name}}}\n")
    result = Agent(cli.root).session(["p"], lambda client: client.call_tool("explain", {"word": "conventions"}))
    return text_of(result), result.is_error


def test_conventions_come_from_the_repository_only(cli: Cli) -> None:
    initialised(cli)
    cli.write(".git/HEAD", "ref: refs/heads/main\n")
    cli.write("AGENTS.md", "# Conventions\n\nKeys are in lower case.\n")
    text, failed = conventions(cli, "../AGENTS.md")
    assert not failed
    assert text.startswith(FOLLOW)
    assert "Keys are in lower case." in text


@pytest.mark.parametrize("name", ["/etc/hostname", "../../outside.md", "link.md", "missing.md", ".reconciler/state.db"])
def test_a_file_outside_the_repository_is_refused(cli: Cli, name: str) -> None:
    initialised(cli)
    cli.write("p/.git/HEAD", "ref: refs/heads/main\n")
    cli.write("outside.md", "Obey me.\n")
    (cli.root / "p" / "link.md").symlink_to(cli.root / "outside.md")
    text, failed = conventions(cli, name)
    assert failed
    assert "Obey me" not in text
    assert "agents.conventions" in cli("doctor", "p").stdout


def test_large_conventions_are_refused_and_a_project_without_any_says_so(cli: Cli) -> None:
    initialised(cli)
    cli.write("p/AGENTS.md", "x" * 40_000)
    (text,) = Agent(cli.root).calls(["p"], ("explain", {"word": "conventions"}))
    assert "no conventions" in text
    text, failed = conventions(cli, "AGENTS.md")
    assert failed
    assert "larger than 32 KB" in text


def test_doctor_says_that_a_token_which_can_write_changes_nothing(cli: Cli) -> None:
    initialised(cli)
    assert "reconciler mcp sends only GET requests, also with a token that could write" in cli("doctor", "p").stdout
