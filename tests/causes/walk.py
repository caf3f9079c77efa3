"""The ids of causes in the code: every call that reports something to a user, and the expression of its id."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.sources import PACKAGE, ROOT, nodes, package

# What is read back from a document was reported, with its id, by whoever wrote it.
MODULES: Final = sorted(
    path for path in PACKAGE.rglob("*.py") if "sandbox" not in path.relative_to(ROOT).parts and path.parts[-2:] != ("report", "reading.py")
)
ID: Final = re.compile(r"RC-[a-z0-9]+(-[a-z0-9]+)*")
REPORTS: Final = frozenset({
    "ReconcilerError", "UsageError", "Refused", "Locked", "StalePlan", "StateError", "ServiceError", "NotFound",
    "Rejected", "Ambiguous", "Unavailable", "Contended", "Problem", "Blocked", "Stuck",
    "Exposure", "Violation", "ExpressionError", "SecretsError", "ForgeError", "TryAgain", "NotAllowed", "_HeldBack", "warn",
    "problems.add", "problems.absent", "SourceError", "LinkRefused", "LoginFailed", "MissingSecret", "_stop", "_stop_at",
})  # fmt: skip
"""What is called with the id of a cause: errors, problems, and whatever becomes one of them."""

NAMED: Final = frozenset({"cause_of", "cause_of_value", "wrong_form", "_usage_id"})
"""Functions that return an id; each of their own ids is a literal."""


class Call(NamedTuple):
    """One such call: where it is, and its id (None where it has none)."""

    place: str
    name: str
    id: ast.expr | None


def trees() -> dict[Path, tuple[ast.AST, ...]]:
    """The nodes of each module."""
    package()
    return {path: nodes(path) for path in MODULES}


def calls() -> Iterator[Call]:
    """Every call of one of `REPORTS`. A class that is caught or defined is no call."""
    for path, found in trees().items():
        for node in found:
            if isinstance(node, ast.Call) and ((name := called(node)) in REPORTS or (name == "Check" and is_trouble(node))):
                given = next((keyword.value for keyword in node.keywords if keyword.arg == "id"), None)
                yield Call(f"{path.relative_to(ROOT)}:{node.lineno}", name, given)


def called(node: ast.Call) -> str:
    """The last part of what is called; "" for what click declares."""
    match node.func:
        case ast.Attribute(value=ast.Name(id="click")):
            return ""
        case ast.Attribute(value=ast.Name(id=holder) | ast.Attribute(attr=holder), attr="add" | "absent" as name):
            return f"{holder}.{name}"
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def is_trouble(check: ast.Call) -> bool:
    """Whether a check of `doctor` found something."""
    return any(isinstance(word, ast.Attribute) and word.attr in ("PROBLEM", "WARNING") for word in check.args)


def is_cause(node: ast.expr | None) -> bool:
    """Whether an expression is an id: written out, or that of something else which has one."""
    match node:
        case ast.Constant(value=str(text)):
            return ID.fullmatch(text) is not None
        case ast.IfExp():
            return is_cause(node.body) and is_cause(node.orelse)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name == "id"
        case ast.Call():
            return called(node) in NAMED
        case _:
            return False


def literals() -> set[str]:
    """Every id that is written in the code."""
    return {
        node.value
        for found in trees().values()
        for node in found
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and ID.fullmatch(node.value)
    }
