"""The shape of the code: few parameters, small modules, small folders, one meaning a class name."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tests.sources import PACKAGE, ROOT, nodes, package

PARAMETERS, LINES, FILES = 10, 500, 25
ONE_FILE_A_THING = {"reconciler/kinds", "reconciler/cli/commands", "reconciler/report"}
"""Folders with one file for each kind, command or format; the sandbox has one for each subject of the service."""


def modules() -> list[Path]:
    found = [*package(), *(ROOT / "benchmarks").rglob("*.py")]
    return [path for path in sorted(found) if not path.is_relative_to(PACKAGE / "sandbox")]


OPENING = PACKAGE / "interface" / "opening.py"
"""Where a program passes an argument for each option that it would type."""


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    given = function.args
    return len([one for one in (*given.posonlyargs, *given.args, *given.kwonlyargs) if one.arg not in ("self", "cls")])


def is_command(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether click calls it, with one parameter for each option."""
    return any(isinstance(node, ast.Name) and node.id == "click" for decorator in function.decorator_list for node in ast.walk(decorator))


@cache
def definitions() -> dict[Path, list[ast.AST]]:
    """The functions and classes of every module."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {path: [node for node in nodes(path) if isinstance(node, kinds)] for path in modules()}


def test_no_function_has_more_than_ten_parameters() -> None:
    many = [
        f"{path.relative_to(ROOT)}: {node.name} has {parameters(node)}"
        for path, defined in definitions().items()
        for node in defined
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and parameters(node) > PARAMETERS
        and not is_command(node)
        and path != OPENING
    ]
    assert many == []


def test_no_module_is_longer_than_500_lines() -> None:
    assert [str(path.relative_to(ROOT)) for path in modules() if len(path.read_text(encoding="utf-8").splitlines()) > LINES] == []


def test_no_folder_has_more_than_25_modules() -> None:
    full = {str(folder.relative_to(ROOT)): len([*folder.glob("*.py")]) for folder in {path.parent for path in modules()}}
    assert {name: count for name, count in full.items() if count > FILES and name not in ONE_FILE_A_THING} == {}


def test_a_class_name_has_one_meaning() -> None:
    """Outside the sandbox, which speaks the service's language, and the documents of the fleet's API, whose classes are its schemas."""
    named: dict[str, list[str]] = {}
    for path, defined in definitions().items():
        if path.parts[-2:] == ("serve", "documents.py"):
            continue
        for node in defined:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named.setdefault(node.name, []).append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert {name: places for name, places in named.items() if len(places) > 1} == {}
