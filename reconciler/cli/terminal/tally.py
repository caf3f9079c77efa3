"""The progress of a phase of a run, its rate and the time left: counters, and one line of text about them.

In: events, and the seconds of a clock. Forbidden: reading a clock, writing.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterable
from typing import Final

from reconciler.text.times import duration

STEADY: Final = 2.0  # seconds after which a rate means something
WINDOW: Final = 10.0  # seconds that a rate looks back: what the service allows can change
SAMPLE: Final = 0.5  # seconds between two samples


class Tally:
    """Counts one phase. `began`: when it began. `targets`: the objects that each step of the phase changes.

    `queued`: the known requests, retries included; `answered`: those of them that have ended. `objects`: the objects that were read.
    """

    def __init__(self, began: float, targets: Iterable[Hashable] = ()) -> None:
        self.began = began
        self.queued = self.answered = self.objects = self.steps = self.done = self.failed = self.ready = 0
        self._open = Counter(targets)
        self._targets = len(self._open)
        self._samples: deque[tuple[float, int, int]] = deque([(began, 0, 0)])

    def ended(self, target: Hashable, *, failed: bool) -> None:
        """A step has ended; its object is ready when all steps of it have."""
        self.done += 1
        self.failed += failed
        self._open[target] -= 1
        self.ready += self._open[target] == 0

    def sample(self, now: float) -> None:
        """Record the progress; called at every event."""
        if now - self._samples[-1][0] >= SAMPLE:
            self._samples.append((now, self.answered, self.done))
            while len(self._samples) > 2 and now - self._samples[1][0] >= WINDOW:
                self._samples.popleft()

    def _rates(self, now: float) -> tuple[float, float]:
        """The recent rates of requests and steps a second."""
        since, answered, done = self._samples[0]
        seconds = max(now - since, 0.001)
        return (self.answered - answered) / seconds, (self.done - done) / seconds

    def counts(self) -> dict[str, int]:
        """The progress, for a log."""
        counts = {"answered": self.answered, "requests": self.queued, "objects": self.objects}
        return {**counts, "done": self.done, "failed": self.failed, "steps": self.steps} if self.steps else counts

    def facts(self, now: float, *, between: str = "") -> str:
        """`412 of 1,206 requests, 105 a second; 4,310 objects; about 8 s left`. `between`: a text before the time."""
        rate = self._rate(now)
        speed = f", {_number(rate)}{' requests' if self.steps else ''} a second" if rate else ""
        return "; ".join(part for part in (self._count() + speed, self._objects(), between, self._time(now)) if part)

    def short(self, now: float, *, last: str = "") -> str:
        """The same in fewer characters, what matters most first: the line of a terminal may end in the middle."""
        rate = self._rate(now)
        speed = f"{_number(rate)}/s" if rate else ""
        return "; ".join(part for part in (self._count(), self._time(now), speed, self._objects(), last) if part)

    def _rate(self, now: float) -> float:
        """Requests a second; 0 while there are too few to count."""
        return self._rates(now)[0] if self.queued and now - self.began >= STEADY else 0.0

    def _time(self, now: float) -> str:

        requests, steps = self._rates(now)
        left = _left(self.steps - self.done, steps) if self.steps else _left(self.queued - self.answered, requests)
        if left is None or now - self.began < STEADY:
            return f"{duration(now - self.began)} so far"
        return f"about {duration(left)} left"

    def _objects(self) -> str:
        if self.steps and self._targets:
            return f"{self.ready:,} of {self._targets:,} {_plural(self._targets, 'object')}"
        return f"{self.objects:,} {_plural(self.objects, 'object')}" if self.objects else ""

    def _count(self) -> str:
        if self.steps:
            return f"{self.done:,} of {self.steps:,} done" + (f", {self.failed:,} failed" if self.failed else "")
        if self.queued > self.answered:
            return f"{self.answered:,} of {self.queued:,} {_plural(self.queued, 'request')}"
        return f"{self.answered:,} {_plural(self.answered, 'request')}" if self.queued else ""


def _left(rest: int, rate: float) -> float | None:
    """The seconds left at a rate; None if nothing is left that is known, or the rate is 0."""
    return rest / rate if rest > 0 and rate > 0 else None


def _number(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


def _plural(number: int, word: str) -> str:
    return word if number == 1 else f"{word}s"
