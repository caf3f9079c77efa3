"""Narration of a run on stderr: a live bar on a terminal, elsewhere a line a phase and one every ten seconds. Never silent for long.

Hears the client (`request`, `answer`, `waiting`) and the apply (`planned`, `ended`); `-v` shows every request, without query and body.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from reconciler.cli.screen import Screen

if TYPE_CHECKING:
    from reconciler.model import Result

HEARTBEAT: Final = 10.0  # seconds between lines where nobody watches
TOLD: Final = 2.0  # seconds of waiting that are worth a word


class Narration:
    """Tells how far a run is."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self._bar: Any = None
        self._task: Any = None
        self._what = ""
        self._requests = self._done = self._steps = 0
        self._lock = threading.Lock()

    @contextmanager
    def phase(self, what: str) -> Iterator[None]:
        """A part of the run, named in the present: `Reading acme-docs`."""
        self._what, self._requests, self._done, self._steps = what, 0, 0, 0
        if self.screen.quiet:
            yield
        elif self.screen.live:
            with self._live(what):
                yield
        else:
            self.screen.say(f"{what} …")
            with self._heartbeat():
                yield

    @contextmanager
    def _live(self, what: str) -> Iterator[None]:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        from reconciler.report.escape import terminal

        console = Console(stderr=True, highlight=False, markup=False, emoji=False, no_color=not self.screen.colored(_stderr()))
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=console, transient=True) as bar:
            self._bar, self._task = bar, bar.add_task(terminal(self.screen.masked(what)), total=None, count="")
            try:
                yield
            finally:
                self._bar = None

    @contextmanager
    def _heartbeat(self) -> Iterator[None]:
        over = threading.Event()

        def beat() -> None:
            while not over.wait(HEARTBEAT):
                self.screen.say(f"{self._what}: {self._count()}")

        thread = threading.Thread(target=beat, daemon=True, name="narration")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _count(self) -> str:
        return f"{self._done} of {self._steps} done" if self._steps else f"{self._requests} requests so far"

    def _line(self, text: str) -> None:
        if self._bar is None:
            self.screen.say(text)
            return
        from reconciler.report.escape import terminal

        self._bar.console.print(terminal(self.screen.masked(text)))

    # -- the client ------------------------------------------------------------------------------------------------------------------

    def request(self, method: str, path: str) -> None:
        with self._lock:
            self._requests += 1
        if self._bar is not None and not self._steps:
            self._bar.update(self._task, count=self._count())

    def answer(self, method: str, path: str, status: int | None, seconds: float) -> None:
        if self.screen.verbose:
            self._line(f"{method} /v1{path} {status or 'no answer'} {seconds * 1000:.0f} ms")

    def waiting(self, seconds: float, why: str) -> None:
        if seconds >= TOLD:
            self._line(f"Waiting {seconds:.0f} s: {why}")

    # -- the apply -------------------------------------------------------------------------------------------------------------------

    def planned(self, steps: int) -> None:
        self._steps = steps
        if self._bar is not None:
            self._bar.update(self._task, total=steps, count=self._count())

    def ended(self, result: Result) -> None:
        self.screen.acted = self.screen.acted or result.status == "done"
        with self._lock:
            self._done += 1
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, count=self._count())


def _stderr() -> Any:
    import sys

    return sys.stderr
