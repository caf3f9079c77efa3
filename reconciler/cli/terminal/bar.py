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

COLUMNS: Final = 12  # of the bar itself; the words beside it say more


class Written(TextColumn):
    """A text that is made when the line is drawn: time passes also where nothing happens."""

    def __init__(self, text: Callable[[], str], column: Column) -> None:
        super().__init__("", markup=False, table_column=column)
        self._text = text

    def render(self, task: Task) -> Text:
        """The text as it is now."""
        return Text(terminal(self._text()))


class Bar:
    """One line. `facts`: how far the phase is; `running`: what is under way, cut where the line ends. Use it in `with`."""

    def __init__(self, what: str, facts: Callable[[], str], running: Callable[[], str], *, colored: bool) -> None:
        console = Console(stderr=True, highlight=False, markup=False, emoji=False, no_color=not colored)
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=COLUMNS),
            Written(facts, Column(no_wrap=True)),
            Written(running, Column(no_wrap=True, overflow="ellipsis", ratio=1)),
        )
        self._progress = Progress(*columns, console=console, transient=True)
        self._task = self._progress.add_task(terminal(what), total=None)

    def __enter__(self) -> Bar:
        self._progress.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._progress.stop()

    def name(self, what: str) -> None:
        """What the phase is at now."""
        self._progress.update(self._task, total=None, completed=0, description=terminal(what))

    def move(self, completed: int, total: int) -> None:
        """How much of how many; 0 for an unknown total."""
        self._progress.update(self._task, total=total or None, completed=completed)

    def line(self, text: str) -> None:
        """A line above it, which stays."""
        self._progress.console.print(terminal(text))
