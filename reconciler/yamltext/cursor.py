"""Positions in a text: marks that keep theirs when the text is cut, pasted and indented, and the error at one. Pure."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, field


@dataclass
class MarkedText:
    """`marks`: indexes into the text by name; a mark moves with its character."""

    text: str
    marks: dict[Hashable, int] = field(default_factory=dict)

    def insert(self, at: int, text: str, *, over: int = 0) -> None:
        """Insert a text at an index, in place of that many characters, none of which is marked."""
        self.paste(at, MarkedText(text), over=over)

    def paste(self, at: int, piece: MarkedText, *, over: int = 0) -> None:
        """Insert a piece with its marks at an index."""
        grown = len(piece.text) - over
        self.marks = {name: index + grown if index >= at + over else index for name, index in self.marks.items()}
        self.marks |= {name: at + index for name, index in piece.marks.items()}
        self.text = self.text[:at] + piece.text + self.text[at + over :]

    def cut(self, start: int, end: int) -> MarkedText:
        """Remove a piece with its marks, and return it."""
        inside = {name: index - start for name, index in self.marks.items() if start <= index < end}
        piece = MarkedText(self.text[start:end], inside)
        self.marks = {name: index for name, index in self.marks.items() if name not in inside}
        self.insert(start, "", over=end - start)
        return piece

    def indent(self, by: int) -> None:
        """Indent every non-empty line by that many columns; a negative number dedents as far as possible."""
        at = 0
        for line in self.text.split("\n"):
            free = len(line) - len(line.lstrip(" "))
            step = max(by, -free) if line else 0
            self.insert(at, " " * max(step, 0), over=max(-step, 0))
            at += len(line) + step + 1

    def line_column(self, name: Hashable) -> tuple[int, int]:
        """Line and column of a mark, from 1."""
        at = self.marks[name]
        return self.text.count("\n", 0, at) + 1, at - self.text.rfind("\n", 0, at)


def index(text: str, line: int, column: int) -> int:
    """The index of a line and column, which count from 1."""
    at = 0
    for _ in range(line - 1):
        at = text.index("\n", at) + 1
    return at + column - 1


def line_starts(text: str) -> list[int]:
    """The index at which each line begins."""
    return [0, *(match.end() for match in re.finditer("\n", text))]


class Untouchable(Exception):
    """A value is defined elsewhere, or used by others too; `str(error)` says which. `line` and `column` count from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.line, self.column = line, column

    @classmethod
    def at(cls, message: str, text: str, index: int) -> Untouchable:
        """The error for an index of a text."""
        return cls(message, text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index))
