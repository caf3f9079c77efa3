"""Narration of a run on stderr: a live bar on a terminal; elsewhere a line for each phase and one at least every ten seconds.

Hears the client (`request`, `answer`, `waiting`) and the apply (`planned`, `began`, `ended`, `looking`); `-v` shows every request, without
query and body.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from reconciler.cli.terminal.screen import Screen

if TYPE_CHECKING:
    from reconciler.model import Result, Step

HEARTBEAT: Final = 10.0  # seconds between lines where there is no terminal
TOLD: Final = 2.0  # seconds of waiting that are worth a word
LOOKING: Final = "Reading again what was written"


class Narration:
    """Tells how far a run is. `every`: seconds between lines where there is no terminal."""

    def __init__(self, screen: Screen, *, every: float | None = None) -> None:
        self.screen = screen
        self._every = HEARTBEAT if every is None else every
        self._bar: Any = None
        self._task: Any = None
        self._what = ""
        self._lock = threading.Lock()
        self._restart()

    def _restart(self) -> None:
        """Count from nothing."""
        self._requests = self._done = self._steps = self._failed = 0
        self._path = ""
        self._running: dict[int, str] = {}
        self._began = time.monotonic()

    @contextmanager
    def phase(self, what: str) -> Iterator[None]:
        """A part of the run, named in the present: `Reading acme-docs`."""
        self._what = what
        self._restart()
        if self.screen.quiet:
            yield
        elif self.screen.live:
            with self._live(what):
                yield
        else:
            self.screen.say(f"{what} …")
            with self._heartbeat():
                yield

    def stage(self, what: str) -> None:
        """What the phase is at now; a bar shows it at once, and a line where it lasts."""
        self._what = what
        if self._bar is not None:
            from reconciler.text.escape import terminal

            self._bar.update(self._task, description=terminal(self.screen.masked(what)))

    @contextmanager
    def _live(self, what: str) -> Iterator[None]:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.table import Column

        from reconciler.text.escape import terminal

        console = Console(stderr=True, highlight=False, markup=False, emoji=False, no_color=not self.screen.colored(_stderr()))
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[count]}", table_column=Column(no_wrap=True)),
            TimeElapsedColumn(),
            TextColumn("{task.fields[running]}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
        )
        with Progress(*columns, console=console, transient=True) as bar:
            self._bar, self._task = bar, bar.add_task(terminal(self.screen.masked(what)), total=None, count="", running="")
            try:
                yield
            finally:
                self._bar = None

    @contextmanager
    def _heartbeat(self) -> Iterator[None]:
        over = threading.Event()

        def beat() -> None:
            while not over.wait(self._every):
                self.screen.say(f"{self._what}: {self._so_far()}")

        thread = threading.Thread(target=beat, daemon=True, name="narration")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _count(self) -> str:
        if self._steps:
            return f"{self._done:,} of {self._steps:,} done"
        return f"{self._requests:,} request{'s' if self._requests != 1 else ''}"

    def _so_far(self) -> str:
        """How far it is, what is under way and how long the rest takes, in one line."""
        with self._lock:
            seconds, running = time.monotonic() - self._began, list(self._running.values())
            parts = [self._count()]
            if self._failed:
                parts[0] += f", {self._failed:,} failed"
            if running:
                parts.append(f"under way: {_first(running)}")
            elif not self._steps and self._path:
                parts.append(f"now {self._path}")
            if self._steps and self._done:
                parts.append(f"about {duration(seconds / self._done * (self._steps - self._done))} left")
            else:
                parts.append(f"{duration(seconds)} so far")
        return "; ".join(parts)

    def _line(self, text: str) -> None:
        if self._bar is None:
            self.screen.say(text)
            return
        from reconciler.text.escape import terminal

        self._bar.console.print(terminal(self.screen.masked(text)))

    # -- the client ------------------------------------------------------------------------------------------------------------------

    def request(self, method: str, path: str) -> None:
        with self._lock:
            self._requests += 1
            self._path = f"{method} {path}"
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

    def began(self, step: Step) -> None:
        with self._lock:
            self._running[step.id] = str(step.address)
        self._show()

    def ended(self, result: Result) -> None:
        self.screen.acted = self.screen.acted or result.status == "done"
        with self._lock:
            self._running.pop(result.step.id, None)
            self._done += 1
            self._failed += result.status == "failed"
        self._show()

    def _show(self) -> None:
        """Put on the bar what is done and what is under way."""
        if self._bar is None:
            return
        from reconciler.text.escape import terminal

        with self._lock:
            running = _first([*self._running.values()]) if self._running else ""
        self._bar.update(self._task, completed=self._done, count=self._count(), running=terminal(self.screen.masked(running)))

    def looking(self) -> None:
        with self._lock:
            self._restart()
        self.stage(LOOKING)
        if self._bar is not None:
            self._bar.update(self._task, total=None, completed=0, count="", running="")
        else:
            self.screen.say(f"{LOOKING} …")


def _first(running: Sequence[str]) -> str:
    """`acme/space/guides and 3 more`."""
    return f"{running[0]}{f' and {len(running) - 1:,} more' if len(running) > 1 else ''}"


def duration(seconds: float) -> str:
    """`40 s`, `8 min`, `1 h 20 min`."""
    if seconds < 60:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def _stderr() -> Any:
    import sys

    return sys.stderr
