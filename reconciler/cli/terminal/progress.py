"""Narration of a run on stderr: a live bar on a terminal; elsewhere a line for each phase and one at least every ten seconds.

Hears the client (`queued`, `request`, `answer`, `read`, `waiting`) and the apply (`planned`, `began`, `ended`, `looking`); `-v` shows every
request, without query and body. What it counts is in `tally`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.tally import Tally

if TYPE_CHECKING:
    from reconciler.address import Address
    from reconciler.cli.terminal.bar import Bar
    from reconciler.model import Step, StepResult

HEARTBEAT: Final = 10.0  # seconds between lines where there is no terminal
TOLD: Final = 2.0  # seconds of waiting that are worth a word
LASTING: Final = 2.0  # seconds of silence, at most
SHOWN: Final = 0.1  # seconds between two changes of the bar
LOOKING: Final = "Reading again what was written"

_STEP: Final[ContextVar[Step | None]] = ContextVar("step", default=None)
"""The step whose requests a task sends."""

_REQUEST: Final[ContextVar[int]] = ContextVar("request", default=0)
"""The number of the request that a task waits for."""


class Narration:
    """Tells how far a run is. `every`: seconds between lines where there is no terminal."""

    def __init__(self, screen: Screen, *, every: float | None = None) -> None:
        self.screen = screen
        self._every = HEARTBEAT if every is None else every
        self._bar: Bar | None = None
        self._what = self._where = ""
        self._lock = threading.Lock()
        self._sent = 0
        self._restart()

    def _restart(self, steps: Sequence[Step] = ()) -> None:
        """Count from nothing."""
        self._tally = Tally(time.monotonic(), (step.address for step in steps))
        self._path = ""
        self._running: dict[int, Address] = {}
        self._shown = 0.0

    @contextmanager
    def phase(self, what: str, steps: Sequence[Step] = (), *, where: str = "") -> Iterator[None]:
        """A part of the run, named in the present: `Reading acme-docs`. `steps`: what it carries out. `where`: what it reads from."""
        self._what, self._where = what, f" from {where}" if where else ""
        self._restart(steps)
        live = self.screen.live and not self.screen.quiet
        _ = self.screen.traces  # begin before the first request
        self._tell("info", "phase", f"{what}{self._where} …", shown=not live)
        if live:
            with self._live():
                yield
        elif self.screen.quiet:
            yield
        else:
            with self._heartbeat():
                yield

    @contextmanager
    def lasting(self, what: str) -> Iterator[None]:
        """A part of the run that sends no requests: it is named only where it lasts, also on a terminal."""
        self._what, self._where = what, ""
        self._restart()
        with self._heartbeat(named_after=LASTING):
            yield

    def stage(self, what: str) -> None:
        """What the phase is at now, with the objects that it has read; a bar shows it at once, and a line where it lasts."""
        self._what, self._where = what, ""
        objects = self._tally.objects
        self._restart()
        self._tally.objects = objects
        if self._bar is not None:
            self._bar.move(0, 0)

    @contextmanager
    def _live(self) -> Iterator[None]:
        from reconciler.cli.terminal.bar import Bar

        with Bar(self._short, colored=self.screen.colored(_stderr())) as bar:
            self._bar = bar
            try:
                yield
            finally:
                self._bar = None

    @contextmanager
    def _heartbeat(self, *, named_after: float | None = None) -> Iterator[None]:
        """Say how far the phase is again and again. `named_after`: seconds after which it is named first; 0: in any case."""
        over = threading.Event()

        def beat() -> None:
            if named_after is not None and not (named_after and over.wait(named_after)):
                self.screen.say(f"{self._what} …", event="phase")
            while not over.wait(self._every):
                self.screen.say(f"{self._what}{self._where}: {self._so_far()}", event="progress", **self._tally.counts())

        thread = threading.Thread(target=beat, daemon=True, name="narration")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _so_far(self) -> str:
        """How far it is, what is under way and how long the rest takes, in one line."""
        running = self._under_way()
        now = f"now {self._path}" if self._path and not self._tally.steps else ""
        return self._tally.facts(time.monotonic(), between=f"under way: {running}" if running else now)

    def _short(self) -> str:
        """The same for the line of a terminal, with the name of the phase."""
        return self.screen.masked(f"{self._what}: {self._tally.short(time.monotonic(), last=self._under_way())}")

    def _under_way(self) -> str:
        """`acme/space/guides and 3 more`; nothing where no step is."""
        with self._lock:
            running = list(self._running.values())
        return _first(running) if running else ""

    def _tell(self, level: str, event: str, text: str, *, shown: bool = True, **facts: Any) -> None:
        """Log an event, and show it in a line of its own: above the bar where there is one."""
        if not self.screen.event(level, event, text, **facts) or not shown or self.screen.quiet:
            return
        if self._bar is None:
            self.screen.line(text)
        else:
            self._bar.line(self.screen.masked(text))

    def _moved(self) -> None:
        """Something was counted: the bar shows it, if it did not change a moment ago."""
        now = time.monotonic()
        self._tally.sample(now)
        if self._bar is not None and now - self._shown >= SHOWN:
            self._shown = now
            tally = self._tally
            self._bar.move(*((tally.done, tally.steps) if tally.steps else (tally.answered, tally.queued)))

    # -- the client ------------------------------------------------------------------------------------------------------------------

    def queued(self) -> None:
        self._tally.queued += 1

    def request(self, method: str, path: str, attempt: int) -> None:
        self._path = f"{method} {path}"
        self._sent += 1
        _REQUEST.set(self._sent)
        if self.screen.logs:
            self.screen.event("debug", "sending", f"{method} /v1{path}", **self._facts(method, path), attempt=attempt)
        if self.screen.traces is not None:
            step = _STEP.get()
            of = {"reconciler.address": str(step.address), "reconciler.verb": step.verb} if step is not None else {}
            self.screen.traces.request_began(self._sent, method, path, attempt, {**self.screen.service, **of})

    def answer(self, method: str, path: str, status: int | None, seconds: float) -> None:
        self._tally.answered += 1
        self._moved()
        if self.screen.logs or self.screen.verbose:
            text = f"{method} /v1{path} {status or 'no answer'} {seconds * 1000:.0f} ms"
            facts = {**self._facts(method, path), "status": status, "milliseconds": round(seconds * 1000)}
            self._tell("debug", "request", text, shown=self.screen.verbose, **facts)
        if self.screen.traces is not None:
            self.screen.traces.request_ended(_REQUEST.get(), status)

    def _facts(self, method: str, path: str) -> dict[str, Any]:
        """What is known of the request that this task sends."""
        step = _STEP.get()
        of = {"address": str(step.address), "verb": step.verb, "step": step.id} if step is not None else {}
        return {"request": _REQUEST.get(), "method": method, "path": f"/v1{path}", **of}

    def read(self, objects: int) -> None:
        self._tally.objects += objects

    def waiting(self, seconds: float, why: str) -> None:
        level = "info" if seconds >= TOLD else "debug"
        self._tell(level, "waiting", f"Waiting {seconds:.0f} s: {why}", shown=seconds >= TOLD, seconds=round(seconds, 3))

    # -- the apply -------------------------------------------------------------------------------------------------------------------

    def planned(self, steps: int) -> None:
        self._tally.steps = steps
        self._moved()

    def began(self, step: Step) -> None:
        with self._lock:
            self._running[step.id] = step.address
        _STEP.set(step)  # in the task of this step
        if self.screen.traces is not None:
            self.screen.traces.step_began(step)

    def ended(self, result: StepResult) -> None:
        self.screen.acted = self.screen.acted or result.status == "done"
        if self.screen.logs:
            step, why = result.step, f": {result.error}" if result.error else ""
            facts = {"address": str(step.address), "verb": step.verb, "step": step.id, "status": str(result.status.value)}
            self.screen.event("debug", "step", f"{step.verb} {step.address} {result.status.value}{why}", **facts)
        if self.screen.traces is not None:
            self.screen.traces.step_ended(result)
        with self._lock:
            self._running.pop(result.step.id, None)
        self._tally.ended(result.step.address, failed=result.status == "failed")
        self._moved()

    def looking(self) -> None:
        with self._lock:
            self._restart()
        self.stage(LOOKING)
        self._tell("info", "phase", f"{LOOKING} …", shown=self._bar is None)


def _first(running: Sequence[Address]) -> str:
    """`acme/space/guides and 3 more`."""
    return f"{running[0]}{f' and {len(running) - 1:,} more' if len(running) > 1 else ''}"


def _stderr() -> Any:
    import sys

    return sys.stderr
