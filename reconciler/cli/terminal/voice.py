"""The voice of a run on stderr: a live line on a terminal; elsewhere a line for each phase, and one at least every ten seconds.

`-v` shows every request, without query and body; the log file has all events; traces have a span for each step and request.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from reconciler.cli.terminal.bar import Bar
from reconciler.cli.terminal.screen import Screen
from reconciler.model import Step, StepResult
from reconciler.run.narration import Narration, current_request, current_step


class TerminalVoice(Narration):
    """Says on a screen what a run says."""

    def __init__(self, screen: Screen, *, every: float | None = None) -> None:
        super().__init__(screen.masks, every=every)
        self.screen, self.about = screen, screen.about

    def tell(self, level: str, event: str, text: str, *, shown: bool = True, **facts: Any) -> None:
        if self.screen.event(level, event, text, **facts) and shown and not self.screen.quiet and (level != "debug" or self.screen.verbose):
            self.screen.line(text)

    def say(self, text: str, *, event: str = "message", **facts: Any) -> None:
        self.screen.say(text, event=event, **facts)

    def warn(self, text: str, *, id: str) -> None:
        self.screen.warn(text, id=id)

    @property
    def live(self) -> bool:
        return self.screen.live and not self.screen.quiet

    @property
    def follows_requests(self) -> bool:
        return self.screen.log.active or self.screen.verbose

    @contextmanager
    def drawn(self) -> Iterator[None]:
        if not self.live:
            yield
            return
        colored = self.screen.colored(sys.stderr)
        self.screen.bar = Bar(sys.stderr, self.short, self.part, lambda: self.screen.narration_width, colored=colored)
        try:
            yield
        finally:
            self.screen.bar.erase()
            self.screen.bar = None

    def draw(self) -> None:
        if self.screen.bar is not None:
            self.screen.bar.draw()

    # -- traces ----------------------------------------------------------------------------------------------------------------------

    @contextmanager
    def phase(self, what: str, steps: Sequence[Step] = (), *, where: str = "") -> Iterator[None]:
        # The span of the run has to exist before a request can be inside it.
        _ = self.screen.traces
        with super().phase(what, steps, where=where):
            yield

    def request(self, method: str, path: str, attempt: int) -> None:
        super().request(method, path, attempt)
        if self.screen.traces is not None:
            step = current_step()
            of = {"reconciler.address": str(step.address), "reconciler.verb": step.verb} if step is not None else {}
            service = {name: value for name, value in self.about.items() if not name.startswith("reconciler.")}
            self.screen.traces.request_began(current_request(), method, path, attempt, {**service, **of})

    def answer(self, method: str, path: str, status: int | None, seconds: float) -> None:
        super().answer(method, path, status, seconds)
        if self.screen.traces is not None:
            self.screen.traces.request_ended(current_request(), status)

    def began(self, step: Step) -> None:
        super().began(step)
        if self.screen.traces is not None:
            self.screen.traces.step_began(step)

    def ended(self, result: StepResult) -> None:
        self.screen.acted = self.screen.acted or result.status == "done"
        if self.screen.traces is not None:
            self.screen.traces.step_ended(result)
        super().ended(result)
