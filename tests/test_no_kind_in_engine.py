"""The engine is generic: it is handed the kinds and never names one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.kinds import load

PACKAGE = Path(__file__).parents[1] / "reconciler"
ENGINE = sorted(path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in ("kinds", "sandbox"))

HISTORY = {
    "state/tables/migrations.py": {"member"},  # what older versions wrote is told apart as they wrote it, whatever the kinds are today
}
SAME_WORD_OTHER_MEANING = {
    "resource/audience.py": {"admin", "members"},  # a level of access, a class of readers
    "cli/commands/sandbox_readers.py": {"admin"},  # a reader, as the sandbox calls it
    "resource/words.py": {"member"},  # Role.MEMBER: a field that is a membership
    "config/schema.py": {"member"},  # service.member: a word of the project file
}


def names() -> frozenset[str]:
    """Every name by which a kind could be told from another: its own, its objects' constant, its list in a seed, the role of its admins."""
    found: set[str] = set()
    for kind in load().values():
        found |= {kind.name, kind.object, *([kind.seeds] if kind.seeds else []), *([kind.scarce.scarce] if kind.scarce is not None else [])}
    return frozenset(found)


def strings(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every string literal of a module but the docstrings, with its line."""
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value, node.lineno


@pytest.mark.parametrize("path", ENGINE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_kind_is_named_in_the_engine(path: Path) -> None:
    name = str(path.relative_to(PACKAGE))
    allowed = SAME_WORD_OTHER_MEANING.get(name, set()) | HISTORY.get(name, set())
    tree = ast.parse(path.read_text(encoding="utf-8"))
    named = [f"line {line}: {text!r}" for text, line in strings(tree) if text in names() and text not in allowed]
    assert named == []


@pytest.mark.parametrize("path", ENGINE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_path_of_the_service_stands_in_the_engine(path: Path) -> None:
    first = {verb.path.split("/")[1] for kind in load().values() for verb in kind.api.values()}
    pattern = re.compile(rf"(^|/)({'|'.join(sorted(first))})/\{{?")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert [f"line {line}: {text!r}" for text, line in strings(tree) if pattern.search(text)] == []


def test_the_engine_is_where_this_test_looks_for_it() -> None:
    assert {path.stem for path in ENGINE} >= {"preconditions", "choose", "recover", "diff", "match", "schedule", "undeclared"}


def test_a_named_kind_would_be_found() -> None:
    tree = ast.parse('def f(kind):\n    "space"\n    if kind.name == "space":\n        pass\n')
    assert [(text, line) for text, line in strings(tree) if text in names()] == [("space", 3)]
