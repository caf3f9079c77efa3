"""The progress line of a terminal: redrawn at each change, and erased while other lines are written. Imported only for a terminal.

In: functions that return the progress of a phase. Forbidden: counting, reading a clock.

Own code, because a library for it would be most of what a run imports before its first request.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, TextIO

from reconciler.report.layout import cells
from reconciler.text.escape import terminal

COLUMNS: Final = 12  # of the bar itself
ERASE: Final = "\r\x1b[K"
DONE, OPEN, TURNS = "━", "─", "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
DONE_ASCII, OPEN_ASCII, TURNS_ASCII = "=", "-", "|/-\\"
GREEN: Final = "\x1b[32m{}\x1b[0m"


class Bar:
    """A line at the end of `stream`. `text`: the phase and its progress; `part`: how much of how many is done, 0 if unknown.
    `width`: columns of the terminal, which may change.
    """

    def __init__(
        self, stream: TextIO, text: Callable[[], str], part: Callable[[], tuple[int, int]], width: Callable[[], int], *, colored: bool
    ) -> None:
        self._stream, self._text, self._part, self._width, self._colored = stream, text, part, width, colored
        self._lock = threading.RLock()  # a signal may write in the middle of a line
        self._turn = 0
        self._drawn = False
        self._signs = DONE, OPEN, TURNS
        try:
            "".join(self._signs).encode(stream.encoding or "ascii")
        except UnicodeEncodeError:
            self._signs = DONE_ASCII, OPEN_ASCII, TURNS_ASCII

    def draw(self) -> None:
        """Show the present progress of the phase."""
        with self._lock:
            self._write(ERASE + self._line())
            self._drawn = True

    def erase(self) -> None:
        """Erase the line; it is drawn again later."""
        with self._lock:
            if self._drawn:
                self._write(ERASE)
            self._drawn = False

    def above(self, text: str) -> None:
        """Write whole lines above it, which stay."""
        with self._lock:
            drawn = self._drawn
            self.erase()
            self._write(text)
            if drawn:
                self.draw()

    def _line(self) -> str:
        done_sign, open_sign, spinner = self._signs
        done, total = self._part()
        self._turn = (self._turn + 1) % len(spinner)
        filled = min(COLUMNS * done // total, COLUMNS) if total else 0
        bar = done_sign * filled + open_sign * (COLUMNS - filled) + " " if total else ""
        room = self._width() - 1 - 2 - len(bar)  # the last column would wrap
        shown = GREEN.format(bar) if self._colored and bar else bar
        return f"{spinner[self._turn]} {shown}{_cut(terminal(self._text()), max(room, 1))}"

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            return  # nobody watches; the work goes on


def _cut(text: str, room: int) -> str:
    """The text, cut at the end of the line."""
    if cells(text) <= room:
        return text
    used, kept = 1, ""
    for character in text:
        used += cells(character)
        if used > room:
            break
        kept += character
    return kept + "…"
