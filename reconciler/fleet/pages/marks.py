"""The lines of a plan's text with the style of their change. Pure.

A line of a field begins with two spaces and a sign; its further lines are indented more, so that no value can look like a sign.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_FIELD: Final = re.compile(r"  (\S+) (\S*)")
_BY_SIGN: Final = {
    "+": "create",
    "=": "create",
    "↑": "create",
    "~": "update",
    ".": "update",
    ">": "move",
    "»": "move",
    "→": "move",
    "?": "blocked",
}
_BY_WORD: Final = {"exposure": "exposes", "breaks": "destroys", "warning": "update"}
_DESTROYING: Final = ("-", "-/+")


@dataclass(frozen=True)
class MarkedLine:
    """`style`: destroys, exposes, blocked, create, update, move, head, or "" for none. `starts`: whether it is the first of its field."""

    text: str
    style: str = ""
    starts: bool = True


def marked(text: str) -> tuple[MarkedLine, ...]:
    """Every line with its style; a line that continues a field has the style of the field."""
    lines: list[MarkedLine] = []
    style = ""
    texts = text.rstrip("\n").split("\n")
    heads = _heads(texts)
    for index, line in enumerate(texts):
        if match := _FIELD.match(line):
            style = _style(match[1], match[2])
            lines.append(MarkedLine(line, style))
        elif line.startswith(" "):
            lines.append(MarkedLine(line, style, starts=False))
        else:
            style = ""
            lines.append(MarkedLine(line, "head" if index in heads else ""))
    return tuple(lines)


def numbers(lines: Sequence[MarkedLine]) -> Counter[str]:
    """How many fields have each style."""
    return Counter(line.style for line in lines if line.starts)


def _heads(texts: Sequence[str]) -> set[int]:
    """The lines that name the subject of the indented lines below them; a long name takes several lines."""
    heads: set[int] = set()
    for index in range(len(texts) - 2, -1, -1):
        if texts[index] and not texts[index].startswith(" ") and (texts[index + 1].startswith(" ") or index + 1 in heads):
            heads.add(index)
    return heads


def _style(sign: str, word: str) -> str:
    if sign in _DESTROYING:
        return "destroys"
    if sign == "!":
        return _BY_WORD.get(word, "blocked")
    return _BY_SIGN.get(sign, "")
