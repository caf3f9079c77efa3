"""Where features join the kernel: a seam is a table of the kernel to which each feature may add a row.

    kernel             SECTIONS: Final[Seam[PlanSection]] = Seam("sheets", "…")     beside the code that goes over it
    assembled.py       SECTIONS.fill(urls.SECTION, work.SECTION)                    the only importer of features
    kernel             for section in SECTIONS: ...

The kernel imports no feature, so that each can be read, tested and deleted alone. A seam is filled when something goes over it for the
first time: `--help` needs none of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Final, Generic, TypeVar

ASSEMBLED: Final = "reconciler.assembled"
"""The module whose `assemble` fills the seams of one part of the kernel."""

Row = TypeVar("Row")


class Seam(Generic[Row]):
    """The rows that features add to one table of the kernel, in the order of `assembled.py`. `part`: of the kernel; the seams of a part are
    filled together, so that a command imports no feature that it does not use. `says`: what the rows are."""

    def __init__(self, part: str, says: str) -> None:
        self.part, self.says = part, says
        self._rows: tuple[Row, ...] | None = None

    def fill(self, *rows: Row) -> None:
        """Add the rows, once."""
        self._rows = rows

    def __iter__(self) -> Iterator[Row]:
        if self._rows is None:
            importlib.import_module(ASSEMBLED).assemble(self.part)
        assert self._rows is not None, f"{ASSEMBLED} does not fill the seam of {self.says}"
        return iter(self._rows)


def fill(*parts: str) -> None:
    """Fill the seams of these parts now, of all without one: for a process that forks others, each of which would import the same."""
    assembled = importlib.import_module(ASSEMBLED)
    for part in parts or assembled.PARTS:
        assembled.assemble(part)
