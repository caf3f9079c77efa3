"""Places and readings answer questions: nothing outside `resource` asks which class they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from reconciler.resource import Place
from reconciler.resource.requests import Reading
from tests.proofs import costly

PACKAGE = Path(__file__).parents[2] / "reconciler"
OUTSIDE = sorted(path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "resource")


CLASSES = {cls.__name__ for cls in (*Place.__args__, *Reading.__args__)}


def switches(tree: ast.AST) -> Iterator[int]:
    """The lines that ask an object whether it is one of the classes, whatever the module calls them."""
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("reconciler.resource")
        for alias in node.names
        if alias.name in CLASSES
    }
    for node in ast.walk(tree):
        asked: list[ast.AST] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass"):
            asked = [node.args[1]]
        elif isinstance(node, ast.MatchClass):
            asked = [node.cls]
        if any(isinstance(part, ast.Name) and part.id in names for one in asked for part in ast.walk(one)):
            yield node.lineno  # type: ignore[attr-defined]


@costly
def test_no_place_and_no_reading_is_asked_for_its_class() -> None:
    texts = [(path, path.read_text(encoding="utf-8")) for path in OUTSIDE]
    asking = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path, text in texts
        if "reconciler.resource" in text  # what does not import them is not parsed
        for line in switches(ast.parse(text))
    ]
    assert asking == []


def test_a_switch_would_be_found() -> None:
    asked = [
        "from reconciler.resource import ListItem as N, Kind",
        "isinstance(place, (int, N))",
        "match place:",
        "    case N(tag=tag): pass",
    ]
    text = "\n".join([*asked, "isinstance(kind, Kind)"])
    assert list(switches(ast.parse(text))) == [2, 4]
    assert {"Keyed", "ListItem", "SingleValue", "Listing", "One", "Sighting", "Lookup"} <= CLASSES
