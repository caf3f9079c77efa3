"""A document as an editor sees it: lines, positions, changes, and the smallest edit between two texts. Pure.

The protocol counts lines from 0 and characters in code units of the encoding that editor and server agreed on: UTF-16 unless the editor
prefers another one. `Source` counts both from 1, in characters. Lines end where YAML ends them: `str.splitlines` would also end them at
U+2028 and form feeds, and every later position would be wrong.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate, pairwise, takewhile
from typing import Final

from lsprotocol import types

COMPARED_MAX: Final = 2_000  # changed lines that are compared with each other
_BREAK: Final = re.compile(r"\r\n|\r|\n")
# What a position marks: a quoted text, an expression, or a plain scalar up to what ends it.
_TOKEN: Final = re.compile(
    r""""(?:[^"\\\r\n]|\\.)*"?|'(?:[^'\r\n]|'')*'?|(?:\$\{\{[^\r\n]*?(?:\}\}|$|(?=\r))|(?!:(?:\s|$)|\s\#|[,\[\]{}\r\n]).)+|[\[\]{}]""",
    re.MULTILINE,
)


# How positions are encoded, and how many bytes a code unit has.
_CODECS: Final[Mapping[types.PositionEncodingKind, tuple[str, int]]] = {
    types.PositionEncodingKind.Utf8: ("utf-8", 1),
    types.PositionEncodingKind.Utf16: ("utf-16-le", 2),
    types.PositionEncodingKind.Utf32: ("utf-32-le", 4),
}


class Text:
    """A text with positions. Offsets count characters from 0. `encoding`: the one in whose code units positions count."""

    def __init__(self, text: str, encoding: types.PositionEncodingKind = types.PositionEncodingKind.Utf16) -> None:
        self.text, self.encoding = text, encoding

    def units(self, text: str) -> int:
        """The length of a part of it in code units."""
        codec, size = _CODECS[self.encoding]
        return len(text) if text.isascii() else len(text.encode(codec, "surrogatepass")) // size

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins."""
        return [0, *(match.end() for match in _BREAK.finditer(self.text))]

    def line(self, number: int) -> str:
        """A line by its number from 0, without its end; "" beyond the last one."""
        if not 0 <= number < len(self.starts):
            return ""
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[number] : end].rstrip("\r\n")

    def offset(self, position: types.Position) -> int:
        """The offset of a position; one beyond the end of a line is that end, as the protocol says."""
        if position.line >= len(self.starts):
            return len(self.text)
        line = self.line(position.line)
        if line.isascii():
            return self.starts[position.line] + min(position.character, len(line))
        ends = accumulate(map(self.units, line))
        return self.starts[position.line] + sum(1 for _ in takewhile(lambda end: end <= position.character, ends))

    def position(self, offset: int) -> types.Position:
        """The position of an offset."""
        offset = max(0, min(offset, len(self.text)))
        number = bisect_right(self.starts, offset) - 1
        return types.Position(number, self.units(self.text[self.starts[number] : offset]))

    def index(self, line: int, column: int) -> int:
        """The offset of a line and a column from 1; the beginning of the text for line 0."""
        if line < 1:
            return 0
        if line > len(self.starts):
            return len(self.text)
        return self.starts[line - 1] + min(max(column, 1) - 1, len(self.line(line - 1)))

    def span(self, start: int, end: int) -> types.Range:
        """The range between two offsets."""
        return types.Range(self.position(start), self.position(end))

    def token(self, line: int, column: int) -> types.Range:
        """The range of what begins at a line and column: a key, a scalar, a bracket. The first line for line 0."""
        if line < 1:
            return self.span(0, len(self.line(0)))
        start = self.index(line, column)
        match = _TOKEN.match(self.text, start)
        end = start + len(match[0].rstrip()) if match is not None else start
        return self.span(start, max(end, min(start + 1, len(self.text))))

    def changed(self, changes: Iterable[types.TextDocumentContentChangeEvent]) -> Text:
        """The text after the changes of an editor, one after the other."""
        text = self
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                start, end = text.offset(change.range.start), text.offset(change.range.end)
                text = Text(text.text[:start] + change.text + text.text[max(start, end) :], self.encoding)
            else:
                text = Text(change.text, self.encoding)
        return text

    def edit_to(self, after: str) -> types.TextEdit:
        """The smallest edit of one range that turns this text into another one."""
        start, stop = common(self.text, after)
        while start and self.text[start - 1 : start] == "\r":  # a line break is not split
            start -= 1
        if self.text[len(self.text) - stop : len(self.text) - stop + 1] == "\n" and stop:
            stop -= self.text[len(self.text) - stop - 1 : len(self.text) - stop] == "\r"
        return types.TextEdit(self.span(start, len(self.text) - stop), after[start : len(after) - stop])


def edits_to(before: Text, after: str) -> list[types.TextEdit]:
    """Small edits that turn a text into another one: one for each part of a line that differs, as far as their lines can be compared."""
    if before.text == after:
        return []
    old, new = _lines(before), _lines(Text(after))
    first, same = common(old, new)
    left, right = old[first : len(old) - same], new[first : len(new) - same]
    if max(len(left), len(right)) > COMPARED_MAX:
        return [before.edit_to(after)]
    edits: list[types.TextEdit] = []
    for word, start, stop, begin, end in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if word == "equal":
            continue
        pairs = [("".join(left[start:stop]), "".join(right[begin:end]), first + start)]
        if stop - start == end - begin:
            pairs = [(left[start + number], right[begin + number], first + start + number) for number in range(stop - start)]
        for text, other, line in pairs:
            at = before.starts[line] if line < len(before.starts) else len(before.text)
            edit = Text(text).edit_to(other)
            inner = Text(text)
            edits.append(types.TextEdit(before.span(at + inner.offset(edit.range.start), at + inner.offset(edit.range.end)), edit.new_text))
    return edits


def _lines(text: Text) -> list[str]:
    """The lines of a text with their ends."""
    starts = [*text.starts, len(text.text)]
    return [text.text[start:stop] for start, stop in pairwise(starts) if start < stop]


def common(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """How much two texts, or lists of lines, have in common at their beginnings and, behind these, at their ends."""
    most = min(len(before), len(after))
    start = _alike(before, after, most)
    return start, _alike(before[start:][::-1], after[start:][::-1], most - start)


def _alike(left: Sequence[str], right: Sequence[str], most: int) -> int:
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if left[low:middle] == right[low:middle] else (low, middle - 1)
    return low
