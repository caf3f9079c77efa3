"""Which modules a command imports, and when: none that it does not need, and nothing that can wait before the first request."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
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
import click, yaml, pydantic_core, sqlite3, aiohttp, httpx
print(*sys.modules, file=sys.stderr)
"""
HELP_MODULES_MAX = 15  # more than a bare program of click
PLAN_MODULES_MAX = 1.15  # of those of its libraries alone
LATER = (
    "anyio", "trio", "certifi", "deepdiff", "jinja2", "pydantic", "rich", "pygments", "sqlalchemy", "httpx._main", "obstore",
    "reconciler.state.bucket", "reconciler.state.journal", "reconciler.report.schemas",
    "reconciler.plan.planner", "reconciler.plan.simulation", "reconciler.report.text", "reconciler.apply", "reconciler.sandbox",
)  # fmt: skip
"""What no plan needs before its first request, or ever."""
DIFFERENCE = """
import sys
from reconciler.report.nested import difference_lines
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
        "httpx",
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
        "httpx",
        "aiohttp",
        "asyncio",
        "pydantic",
        "rich",
        "reconciler.plan",
        "reconciler.report.text",
    }


def test_a_plan_sends_its_first_request_before_it_imports_what_comes_after_the_readings(cli: Cli) -> None:
    applied_project(cli)
    sandbox = next((cli.root / "p" / ".reconciler").glob("*sandbox*.db"))
    with embedded(sandbox) as running:
        with closing(sqlite3.connect(cli.root / "p/.reconciler/state.db")) as database, database:
            database.execute("UPDATE states SET service = ?", (running.base_url,))
        env = {"RECONCILER_TOKEN": running.token}
        modules = imported(FIRST_REQUEST, "plan", str(cli.root / "p"), "--base-url", running.base_url, env=env)
    assert "reconciler.observe" in modules
    assert not modules & set(LATER)
    program = [name for name in modules if not name.startswith("reconciler.kinds.")]  # a file for each kind; any may be declared
    assert len(program) <= PLAN_MODULES_MAX * len(imported(LIBRARIES))


def test_a_plan_without_changes_imports_no_deepdiff(applied: Path) -> None:
    modules = imported(COMMAND, str(applied), "plan", "--format", "html")
    assert {"reconciler.plan.drafts.diff", "reconciler.report.text"} <= modules
    assert "deepdiff" not in modules


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [("'a'", "'b'", False), ("['a']", "['b']", False), ("{'a': 1}", "{'a': 1}", False), ("{'a': 1}", "{'a': 2}", True)],
    ids=["text", "list of text", "equal", "nested"],
)
def test_deepdiff_is_imported_where_nested_values_differ(before: str, after: str, expected: bool) -> None:
    assert ("deepdiff" in imported(DIFFERENCE.format(before=before, after=after))) == expected
