"""How large each room of the program is: statements without docstrings, lines and modules.

    python -m benchmarks.statements            the rooms of reconciler/
    python -m benchmarks.statements tests docs the rooms of other folders

A statement is an `ast.stmt`, so neither comments nor the width of a line change the number.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def statements(source: str) -> int:
    """The statements of a module without docstrings."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = sum(1 for node in nodes if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None)
    return sum(isinstance(node, ast.stmt) for node in nodes) - docstrings


def rooms(folder: Path) -> Iterator[tuple[str, int, int]]:
    """The room, statements and lines of each module of a folder; a module in the folder itself is in the room "."."""
    for file in sorted(folder.rglob("*.py")):
        source, inside = file.read_text(encoding="utf-8"), file.relative_to(folder)
        yield inside.parts[0] if len(inside.parts) > 1 else ".", statements(source), source.count("\n")


def table(folder: Path) -> str:
    """One line for each room of a folder, the largest first, and the sum."""
    counts, lines, modules = Counter[str](), Counter[str](), Counter[str]()
    for room, number, length in rooms(folder):
        counts[room] += number
        lines[room] += length
        modules[room] += 1
    rows = [(room, counts[room], lines[room], modules[room]) for room, _ in counts.most_common()]
    rows.append(("total", counts.total(), lines.total(), modules.total()))
    head = f"{folder.name:<16}{'statements':>12}{'lines':>10}{'modules':>10}"
    return "\n".join([head, *(f"{room:<16}{number:>12,}{length:>10,}{size:>10,}" for room, number, length, size in rows)])


if __name__ == "__main__":
    print("\n\n".join(table(ROOT / name) for name in sys.argv[1:] or ["reconciler"]))
