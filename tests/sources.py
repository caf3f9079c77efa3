"""The syntax trees of this repository's modules: each is parsed once for all tests of a process that look at them."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = ROOT / "reconciler"


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file, as `ast.walk` gives them: from the outside in."""
    return tuple(ast.walk(tree(path)))


@cache
def package() -> tuple[Path, ...]:
    """The modules of the package, parsed."""
    paths = tuple(sorted(PACKAGE.rglob("*.py")))
    # A million objects that stay: collecting garbage among them would slow down every test that follows.
    gc.disable()
    for path in paths:
        nodes(path)
    gc.enable()
    gc.freeze()
    return paths


def dotted(node: ast.AST) -> str:
    """A name with its attributes, such as `os.path.join`; "" for what is more than that. `ast.unparse` takes a hundred times as long."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def last(node: ast.AST) -> str:
    """The last word of a name with its attributes, whatever the attributes are of; "" for anything else."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
