"""Which modules a command imports, and when: none that it does not need, and nothing that can wait before the first request."""

from __future__ import annotations

import os
import pty
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path

import pytest

from reconciler.sandbox.server import embedded
from tests.cli.conftest import CLEAN, Cli, applied_project

COMMAND = """
import os, sys
from reconciler.cli import main
os.chdir(sys.argv.pop(1))
try:
    main(prog_name="reconciler")
finally:
    print(*sys.modules, file=sys.stderr)
"""
CLICK = """
import sys
import click
@click.command()
@click.option("--name")
def main(name): "A command."
try:
    main(["--help"])
finally:
    print(*sys.modules, file=sys.stderr)
"""
FIRST_REQUEST = """
import sys
from reconciler.cli import main
modules = []
sys.addaudithook(lambda event, words: modules.extend([] if modules or event != "socket.connect" else sys.modules))
try:
    main(prog_name="reconciler")
finally:
    print(*modules, file=sys.stderr)
"""
LIBRARIES = """
import sys
import click, yaml, pydantic_core, sqlite3, aiohttp, httpx2
print(*sys.modules, file=sys.stderr)
"""
HELP_MODULES_MAX = 15  # more than a bare program of click
PLAN_MODULES_MAX = 1.18  # of those of its libraries alone
LATER = (
    "anyio", "trio", "certifi", "deepdiff", "jinja2", "pydantic", "rich", "pygments", "sqlalchemy", "httpx2._main", "obstore",
    "reconciler.state.bucket", "reconciler.state.journal", "reconciler.report.schemas",
    "reconciler.plan.planner", "reconciler.plan.simulation", "reconciler.report.text", "reconciler.apply", "reconciler.sandbox",
)  # fmt: skip
"""What no plan needs before its first request, or ever."""
DIFFERENCE = """
import sys
from reconciler.report.values import difference_lines
difference_lines("rules", {before}, {after})
print(*sys.modules, file=sys.stderr)
"""


def imported(program: str, *words: str, env: Mapping[str, str] = {}) -> set[str]:
    """The modules that a program prints: those it has imported at its end, or at its first request."""
    command = [sys.executable, "-c", program, *words]
    plain = {name: value for name, value in os.environ.items() if name not in CLEAN}
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, env={**plain, **env})
    return set(ended.stderr.splitlines()[-1].split())


@pytest.fixture
def applied(cli: Cli) -> Path:
    """A project whose plan is empty."""
    return applied_project(cli).root / "p"


def test_help_imports_few_modules_more_than_a_bare_program_of_click() -> None:
    assert len(imported(COMMAND, ".", "--help")) <= len(imported(CLICK)) + HELP_MODULES_MAX


def test_explain_reads_no_project_and_imports_no_client_no_state_and_no_expressions() -> None:
    modules = imported(COMMAND, ".", "explain", "site.visibility")
    assert not modules & {
        "jinja2",
        "sqlalchemy",
        "httpx2",
        "aiohttp",
        "asyncio",
        "rich",
        "reconciler.config.project",
        "reconciler.model.plan",
    }


def test_validate_imports_no_client_no_state_no_planner_and_without_expressions_nothing_that_evaluates_them(applied: Path) -> None:
    modules = imported(COMMAND, str(applied), "validate")
    assert "reconciler.config.project" in modules
    assert not modules & {
        "jinja2",
        "sqlalchemy",
        "httpx2",
        "aiohttp",
        "asyncio",
        "pydantic",
        "rich",
        "reconciler.plan",
        "reconciler.report.text",
    }


@pytest.fixture
def planning(cli: Cli) -> Iterator[tuple[list[str], Mapping[str, str]]]:
    """The words and the environment of a plan against a service of its own."""
    applied_project(cli)
    sandbox = next((cli.root / "p" / ".reconciler").glob("*sandbox*.db"))
    with embedded(sandbox) as running:
        with closing(sqlite3.connect(cli.root / "p/.reconciler/state.db")) as database, database:
            database.execute("UPDATE states SET service = ?", (running.base_url,))
        yield ["plan", str(cli.root / "p"), "--base-url", running.base_url], {"RECONCILER_TOKEN": running.token}


def test_a_plan_sends_its_first_request_before_it_imports_what_comes_after_the_readings(
    planning: tuple[list[str], Mapping[str, str]],
) -> None:
    words, env = planning
    modules = imported(FIRST_REQUEST, *words, env=env)
    assert "reconciler.observe" in modules
    assert not modules & set(LATER)
    program = [name for name in modules if not name.startswith("reconciler.kinds.")]  # a file for each kind; any may be declared
    assert len(program) <= PLAN_MODULES_MAX * len(imported(LIBRARIES))


def test_a_terminal_costs_a_plan_no_library_before_its_first_request(planning: tuple[list[str], Mapping[str, str]], tmp_path: Path) -> None:
    words, env = planning
    piped = imported(FIRST_REQUEST, *words, env=env)
    noted = tmp_path / "modules"
    program = FIRST_REQUEST.replace("file=sys.stderr", f"file=open({str(noted)!r}, 'w')")
    leader, follower = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if name not in CLEAN}
    command = [sys.executable, "-c", program, *words]
    with subprocess.Popen(command, env={**plain, **env, "TERM": "xterm"}, stdout=subprocess.DEVNULL, stderr=follower) as running:
        os.close(follower)
        with suppress(OSError):  # the other end is closed
            while os.read(leader, 65536):
                pass
    os.close(leader)
    assert running.returncode == 0
    more = set(noted.read_text().split()) - piped
    assert "reconciler.cli.terminal.bar" in more
    assert {name for name in more if not name.startswith("reconciler.")} <= {"unicodedata"}


def test_a_plan_without_changes_imports_no_deepdiff(applied: Path) -> None:
    modules = imported(COMMAND, str(applied), "plan", "--format", "html")
    assert {"reconciler.plan.matching.differences", "reconciler.report.text"} <= modules
    assert "deepdiff" not in modules


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [("'a'", "'b'", False), ("['a']", "['b']", False), ("{'a': 1}", "{'a': 1}", False), ("{'a': 1}", "{'a': 2}", True)],
    ids=["text", "list of text", "equal", "nested"],
)
def test_deepdiff_is_imported_where_nested_values_differ(before: str, after: str, expected: bool) -> None:
    assert ("deepdiff" in imported(DIFFERENCE.format(before=before, after=after))) == expected
