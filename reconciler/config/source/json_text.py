"""JSON as nodes with positions: files of variables, and where a key is written twice.

In: a text. Out: its nodes, the same as those of YAML, or None if it is not JSON. What Python's own reader drops is kept or reported: a key
that is written twice, the digits of a number, half of a surrogate pair. Pure.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable
from typing import Any, Final

from reconciler.config.source.nodes import List, Map, MapEntry, Node, Scalar
from reconciler.config.source.problems import shown
from reconciler.config.source.reader import DEPTH_MAX, FILE_MAX, Document
from reconciler.errors import Problem
from reconciler.model import Source

_TOKEN: Final = re.compile(r'\s*([{}\[\],:]|"(?:[^"\\]|\\.)*"|[^\s{}\[\],:"]+)')
_BREAK: Final = re.compile(r"\r\n|\r|\n")


class TwiceError(ValueError):
    """A key is written twice in one object."""


class WrittenNumber(float):
    """A number whose digits are lost: `1.10` is 1.1. `written`: its text."""

    __slots__ = ("written",)

    def __new__(cls, text: str) -> WrittenNumber:
        number = super().__new__(cls, text)
        number.written = text
        return number

    written: str


def number(text: str) -> float:
    """The number that a text is in JSON, with its text where that is not what the number looks like."""
    value = float(text)
    # JSON of other programs is full of 1.10 and 2.0, and means them as texts.
    return value if str(value) == text else WrittenNumber(text)


def decoded(text: str, *, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """The value of a JSON text. Raises `ValueError`, and `TwiceError` with the positions for a key that is written twice."""
    try:
        return json.loads(text, parse_float=number, parse_constant=parse_constant, object_pairs_hook=_without_twins)
    except TwiceError as error:
        try:
            twice = next((problem.message for problem in nodes(text, "").problems if problem.id == "RC-key-twice"), str(error))
        except ValueError:
            twice = str(error)
        raise TwiceError(twice) from None


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise TwiceError("a key is written twice")
    return value


def document(content: bytes, file: str) -> Document | None:
    """The contents of a file, if it is a JSON object or array; None if it is not, and is read as YAML then."""
    if content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"[") or len(content) > FILE_MAX:
        return None
    try:
        text = content.decode("utf-8-sig")
        json.loads(text, parse_constant=_refuse)
        return nodes(text, file)
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> None:
    raise ValueError(name)


def nodes(text: str, file: str) -> Document:
    """The nodes of a text that is JSON. Raises `ValueError` where it has too many levels, or is not JSON after all."""
    reader = _Reader(text, file)
    data = reader.node(1)
    return Document(data, tuple(reader.problems), reader.count)


class _Reader:
    """Reads a text that is known to be JSON, so every symbol is where it belongs."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.lines = [0, *(end.end() for end in _BREAK.finditer(text))]
        self.problems: list[Problem] = []
        self.at = self.count = 0

    def node(self, depth: int) -> Node:
        symbol, at = self._next()
        self.count += 1
        if depth > DEPTH_MAX:
            raise ValueError
        if symbol == "{":
            return self._map(at, depth)
        if symbol == "[":
            return self._list(at, depth)
        return Scalar(at, self._string(symbol, at), False) if symbol[0] == '"' else Scalar(at, symbol)

    def _map(self, at: Source, depth: int) -> Map:
        entries: dict[str, MapEntry] = {}
        while (symbol := self._next())[0] != "}":
            if symbol[0] == ",":
                continue
            key, place = self._string(*symbol), symbol[1]
            self._next()  # the colon
            entry = MapEntry(key, place, self.node(depth + 1))
            first = entries.setdefault(key, entry)
            if first is not entry:
                where = str(first.at) if self.file else f"line {first.at.line}, column {first.at.column}"
                again = "" if self.file else f" at line {place.line}, column {place.column}"
                self._problem(place, f"the key {shown(key)} is written twice{again}; first at {where}", id="RC-key-twice")
        return Map(at, entries)

    def _list(self, at: Source, depth: int) -> List:
        items: list[Node] = []
        while (symbol := self._peek()) != "]":
            if symbol == ",":
                self._next()
            else:
                items.append(self.node(depth + 1))
        self._next()
        return List(at, items)

    def _string(self, symbol: str, at: Source) -> str:
        text = str(json.loads(symbol))
        try:
            # "\ud83d" alone is half of an emoji. Python reads it and fails when it writes it, in the middle of a request.
            text.encode()
        except UnicodeEncodeError as error:
            wrong = f"the text contains \\u{ord(text[error.start]):04x}, which is half of a character; write both halves, or the character"
            self._problem(at, wrong, id="RC-incomplete-character")
            return ""
        return text

    def _peek(self) -> str:
        symbol = _TOKEN.match(self.text, self.at)
        return symbol[1] if symbol is not None else "]"

    def _next(self) -> tuple[str, Source]:
        symbol = _TOKEN.match(self.text, self.at)
        if symbol is None:
            raise ValueError
        self.at = symbol.end()
        line = bisect_right(self.lines, symbol.start(1))
        return symbol[1], Source(self.file, line, symbol.start(1) - self.lines[line - 1] + 1)

    def _problem(self, at: Source, message: str, *, id: str) -> None:
        self.problems.append(Problem(*at, message, id=id))
