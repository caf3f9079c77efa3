"""Rows in columns, nothing truncated. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reconciler.report.layout import cells, wrapped
from reconciler.text.escape import terminal
from reconciler.text.printable import UNLIMITED

GAP: Final = "  "
LAST_MIN: Final = 20  # columns; a narrower last column is not wrapped


def table(rows: Sequence[Sequence[str]], *, width: int = UNLIMITED) -> str:
    """The rows in columns. `width`: the last column is wrapped to it, below itself."""
    safe = [[terminal(cell) for cell in row] for row in rows]
    widths = [max(cells(row[column]) for row in safe) for column in range(len(safe[0]) - 1)]
    indent = sum(widths) + len(GAP) * len(widths)
    room = width - indent if width - indent >= LAST_MIN else UNLIMITED
    lines = []
    for row in safe:
        padded = [cell + " " * (column - cells(cell)) for cell, column in zip(row, widths, strict=False)]
        first, *rest = wrapped(row[-1], room, room)
        lines.append(GAP.join([*padded, first]).rstrip())
        lines += [" " * indent + line for line in rest]
    return "\n".join(lines) + "\n"
