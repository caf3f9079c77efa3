"""Positions in the YAML."""

from __future__ import annotations

from typing import NamedTuple


class Source(NamedTuple):
    """A position in the YAML; line and column count from 1, the file is relative to the project.

    A tuple, because every value of the YAML has one, and a tuple is created in half the time.
    """

    file: str
    line: int
    column: int = 1

    @property
    def file_and_line(self) -> str:
        """The position without its column."""
        return f"{self.file}:{self.line}"

    def __str__(self) -> str:
        """The position as messages show it."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file
