"""The live line of a phase on a terminal; imported only where there is one.

In: what the phase is called, and functions that say how far it is. Forbidden: counting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

from reconciler.text.escape import terminal

COLUMNS: Final = 12  # of the bar itself
BESIDE: Final = COLUMNS + 4  # columns that are not of the text


class LiveText(TextColumn):
    """A text that is made when the line is drawn, since time passes also where nothing happens. It is cut where the line ends."""

    def __init__(self, text: Callable[[], str], console: Console) -> None:
        super().__init__("", markup=False, table_column=Column(no_wrap=True))
        self._text, self._console = text, console

    def render(self, task: Task) -> Text:
        """The text as it is now."""
        text = Text(terminal(self._text()))
        text.truncate(max(self._console.width - BESIDE, 1), overflow="ellipsis")
        return text


class Bar:
    """One line. `text`: what the phase is, how far it is and what is under way. Use it in `with`."""

    def __init__(self, text: Callable[[], str], *, colored: bool) -> None:
        console = Console(stderr=True, highlight=False, markup=False, emoji=False, no_color=not colored)
        self._progress = Progress(SpinnerColumn(), BarColumn(bar_width=COLUMNS), LiveText(text, console), console=console, transient=True)
        self._task = self._progress.add_task("", total=None)

    def __enter__(self) -> Bar:
        self._progress.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._progress.stop()

    def move(self, completed: int, total: int) -> None:
        """How much of how many; 0 for an unknown total."""
        self._progress.update(self._task, total=total or None, completed=completed)

    def line(self, text: str) -> None:
        """A line above it, which stays."""
        self._progress.console.print(terminal(text))
