"""The error of an edit where the text cannot simply be changed."""

from __future__ import annotations


class Untouchable(Exception):
    """A value is defined elsewhere, or used by others too; `str(error)` says which. `line` and `column` count from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.line, self.column = line, column

    @classmethod
    def at(cls, message: str, text: str, index: int) -> Untouchable:
        """The error for an index of a text."""
        return cls(message, text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index))
