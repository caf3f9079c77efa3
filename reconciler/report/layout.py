"""Lines of a report: columns, wrapping, styles and tables.

In: unescaped texts. Out: spans, each with a style that the command line may turn into a colour; joined they are the plain text. Every text
passes the terminal's encoder here, and nothing is truncated: long texts continue on the next line.

Own code, so that a report is the same text with and without a terminal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from reconciler.text import escape
from reconciler.text.escape import UNLIMITED, terminal

VALUE: Final = 16  # the column of values
NOTE: Final = 54  # the column of notes in parentheses, if they fit
WIDTH_MIN: Final = 40  # columns; a narrower line would hold almost nothing besides its indentation


class Style(StrEnum):
    """The meaning of a span; the command line chooses the colour."""

    PLAIN = "plain"
    HEAD = "head"
    DIM = "dim"
    CREATE = "create"
    UPDATE = "update"
    MOVE = "move"
    DELETE = "delete"
    DRIFT = "drift"
    BLOCKED = "blocked"


class Span(NamedTuple):
    """A piece of text in one style."""

    style: Style
    text: str


def environment_header(environment: str | None) -> tuple[Span, ...]:
    """The first line of a report on an environment; nothing for a project without environments."""
    return () if environment is None else (Span(Style.HEAD, f"Environment: {escape.terminal(environment)}\n"), Span(Style.PLAIN, "\n"))


def plain(spans: Iterable[Span]) -> str:
    """The text without its styles."""
    return "".join(span.text for span in spans)


# Letters of CJK scripts and emoji take two columns of a terminal, combining marks none; len() would misalign every line with one.
def cells(text: str) -> int:
    """The number of terminal columns of a text."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def wrapped(text: str, first: int, other: int) -> Iterator[str]:
    """The text in lines of at most `first` columns for the first and `other` for the rest; words longer than that are broken."""
    # Words are separated at single spaces only, so that joining the lines gives the text again: spaces in titles are part of them.
    line, room = "", max(first, 1)
    for word in text.split(" "):
        candidate = f"{line} {word}" if line else word
        if cells(candidate) <= room:
            line = candidate
            continue
        if line:
            yield line
            line, room = "", max(other, 1)
        while cells(word) > room:
            head = _fitting(word, room)
            yield head
            word, room = word[len(head) :], max(other, 1)
        line = word
    yield line


def _fitting(word: str, room: int) -> str:
    """The part of a word that fits, up to the end of an escaped line break if it contains one; at least one character."""
    used = 0
    for index, character in enumerate(word):
        used += cells(character)
        if used > room and index:
            # A long text of several lines is broken where it breaks itself, as long as something is on the line.
            line = word.rfind("\\n", 0, index)
            return word[: line + 2] if 0 <= line <= index - 2 else word[:index]
    return word


@dataclass
class ReportPage:
    """Collects the spans of one report of a given width. `source`: the column of positions in the files."""

    width: int
    source: int = 41
    spans: list[Span] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.width = max(self.width, WIDTH_MIN)

    def add(self, style: Style, text: str) -> None:
        if text:
            self.spans.append(Span(style, text))

    def blank(self) -> None:
        """An empty line, except at the beginning."""
        if self.spans:
            self.add(Style.PLAIN, "\n")

    def head(self, title: str, right: str = "", style: Style = Style.DIM) -> None:
        """An address on the left and its position on the right, or below if it does not fit."""
        left = escape.terminal(title)
        lines = list(wrapped(left, self.width, self.width))
        self.add(Style.HEAD, "\n".join(lines))
        if right:
            text = escape.terminal(right)
            used = cells(lines[-1])
            column = max(self.source, used + 2)
            if column + cells(text) <= self.width:
                self.add(style, " " * (column - used) + text)
            else:
                self.add(style, "\n" + "\n".join(f"    {line}" for line in wrapped(text, self.width - 4, self.width - 4)))
        self.add(Style.PLAIN, "\n")

    def field(
        self, style: Style, symbol: str, name: str, value: str, note: str = "", *, column: int = VALUE, note_style: Style = Style.DIM
    ) -> None:
        """`  ~ title       Guide -> Guides      (note)`: a symbol, a name, a value from `column` on, a note beside or below it."""
        begin = escape.terminal(f"  {symbol} {name}")
        if not value and not note:
            self.add(style, begin + "\n")
            return
        # On a narrow screen, a long name of a field must not leave its value a column of three letters.
        column = min(column, self.width // 2)
        at = max(column, cells(begin) + 2)
        self.add(style, begin + " " * (at - cells(begin)))
        if value:
            lines = list(wrapped(escape.terminal(value), self.width - at, self.width - column))
            self.add(Style.PLAIN, f"\n{' ' * column}".join(lines))
            at = cells(lines[-1]) + (at if len(lines) == 1 else column)
        if note:
            self._note(escape.terminal(f"({note})"), at, column, note_style, alone=not value)
        self.add(Style.PLAIN, "\n")

    def _note(self, note: str, at: int, column: int, style: Style, *, alone: bool) -> None:
        """A note after column `at`, or below if it does not fit."""
        below = f"\n{' ' * column}"
        if alone:
            self.add(style, below.join(wrapped(note, self.width - at, self.width - column)))
            return
        # Notes are in one column where they fit; one that does not fit there is better beside its value than below it.
        target = NOTE if at + 2 <= NOTE and NOTE + cells(note) <= self.width else at + 2
        if target + cells(note) <= self.width:
            self.add(style, " " * (target - at) + note)
        else:
            self.add(style, below + below.join(wrapped(note, self.width - column, self.width - column)))

    def line(self, text: str, style: Style = Style.PLAIN) -> None:
        """A sentence of its own."""
        self.add(style, "\n".join(wrapped(escape.terminal(text), self.width, self.width)) + "\n")


# A column of a table is as wide as its widest cell: nothing is cut, because people copy addresses and ids from tables.
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
