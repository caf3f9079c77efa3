"""Line breaks and the byte order mark of a file that is edited: removed before the edit, and put back as they were. Pure.

In: the text of a file, and what an edit made of it without them. Out: the edited text, in which each line that did not change ends as
before.
"""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from typing import Final

BOM: Final = "\ufeff"
_BREAK: Final = re.compile(r"\r\n|\r|\n")
_OTHER: Final = re.compile(r"\r\n?")


def plain(text: str) -> str:
    """The text without a byte order mark, with `\\n` as its only line break."""
    return _OTHER.sub("\n", text.removeprefix(BOM))


def as_before(edited: str, before: str) -> str:
    """An edited text with the line breaks and the byte order mark of the file. A new line ends as most lines of the file do."""
    breaks = _BREAK.findall(before)
    ends = Counter(breaks)
    if len(ends) < 2:
        return settled(edited, before)
    lines, usual = edited.split("\n"), _usual(ends)
    line_ends = [usual] * (len(lines) - 1)
    for start, at, size in SequenceMatcher(None, plain(before).split("\n"), lines).get_matching_blocks():
        for number in range(size):
            if at + number < len(line_ends) and start + number < len(breaks):
                line_ends[at + number] = breaks[start + number]
    return _mark(before) + "".join(line + end for line, end in zip(lines, [*line_ends, ""], strict=True))


def settled(edited: str, before: str) -> str:
    """An edited text with the byte order mark of the file, in which every line ends as most lines of the file do."""
    usual = _usual(Counter(_BREAK.findall(before)))
    return _mark(before) + (edited if usual == "\n" else edited.replace("\n", usual))


def _usual(ends: Counter[str]) -> str:
    return ends.most_common(1)[0][0] if ends else "\n"


def _mark(before: str) -> str:
    return BOM if before.startswith(BOM) else ""
