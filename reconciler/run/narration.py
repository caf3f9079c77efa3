"""Narration of a run: its phases, and how far it is, at least every ten seconds. Whoever shows it says how, by `tell`.

Hears the client (`queued`, `request`, `answer`, `read`, `asking`, `waiting`) and the apply (`planned`, `began`, `ended`, `looking`,
`comparing`). What it counts is in `tally`.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from reconciler.address import Address
from reconciler.model import Listener, Step, StepResult
from reconciler.text.masks import Masks
from reconciler.text.names import duration

HEARTBEAT: Final = 10.0  # seconds between lines where there is no terminal
TOLD: Final = 2.0  # seconds of waiting that are worth a word
LASTING: Final = 2.0  # seconds after which a part of a run is named
DRAWN: Final = 0.1  # seconds between two changes of the live line
LOOKED: Final = 0.5  # seconds between two looks whether a line is due, where there is no terminal
LOOKING: Final = "Reading again what was written"

_STEP: Final[ContextVar[Step | None]] = ContextVar("step", default=None)
"""The step whose requests a task sends."""

_REQUEST: Final[ContextVar[int]] = ContextVar("request", default=0)
"""The number of the request that a task waits for."""


def current_step() -> Step | None:
    """The step whose requests this task sends."""
    return _STEP.get()


def current_request() -> int:
    """The number of the request that this task waits for."""
    return _REQUEST.get()


class Narration(Listener):
    """The voice of a run, apart from where it is heard. `every`: seconds between lines if there is no live one."""

    def __init__(self, masks: Masks, *, every: float | None = None) -> None:
        self.masks = masks
        self.about: dict[str, str | int] = {}
        self._every = HEARTBEAT if every is None else every
        self._lock = threading.Lock()
        self._sent = 0
        self._said, self._visible = 0.0, False
        self._begin("")

    def _begin(self, what: str, steps: Sequence[Step] = (), *, where: str = "") -> None:
        """Begin to count a phase, whose name `what` is not shown yet."""
        self._what, self._where = what, f" from {where}" if where else ""
        self._tally = Tally(time.monotonic(), (step.address for step in steps))
        self._tally.steps = len(steps)
        self._path = ""
        self._running: dict[int, Address] = {}
        self._named = False

    def _name(self) -> None:
        """Show the name of the phase, unless a live line shows it."""
        self._named, self._said = True, time.monotonic()
        self.tell("info", "phase", f"{self._what}{self._where} …", shown=not self.live)

    # -- where it is heard -----------------------------------------------------------------------------------------------------------

    def tell(self, level: str, event: str, text: str, *, shown: bool = True, **facts: Any) -> None:
        """An event. `shown`: also to whoever reads no log. By itself nobody hears it."""

    @property
    def live(self) -> bool:
        """Whether a line is drawn again and again instead."""
        return False

    @property
    def follows_requests(self) -> bool:
        """Whether somebody wants to know of each request."""
        return False

    @contextmanager
    def drawn(self) -> Iterator[None]:
        """In this block a live line may be drawn."""
        yield

    def draw(self) -> None:
        """Draw the live line."""

    # -- the verbs of a voice --------------------------------------------------------------------------------------------------------

    @property
    def listener(self) -> Listener:
        """Itself."""
        return self

    def say(self, text: str, *, event: str = "message", **facts: Any) -> None:
        """A sentence."""
        self.tell("info", event, text, **facts)

    def warn(self, text: str, *, id: str) -> None:
        """A warning, with the id of its cause."""
        self.tell("warning", "warning", text, id=id)

    def hide(self, values: Iterable[str]) -> None:
        """Mask these values from now on."""
        self.masks.hide(values)

    @contextmanager
    def phase(self, what: str, steps: Sequence[Step] = (), *, where: str = "") -> Iterator[None]:
        """A part of the run, named in the present: `Reading acme-docs`. `steps`: those it applies. `where`: what it reads from."""
        self._begin(what, steps, where=where)
        self._name()
        with self._narrated():
            yield

    @contextmanager
    def lasting(self, what: str) -> Iterator[None]:
        """A part of the run that sends no requests: it is named only if it takes long."""
        self._begin(what)
        with self._narrated():
            yield

    def stage(self, what: str) -> None:
        """The present stage of the phase: a live line shows it at once, and a line of its own if it takes long."""
        self._begin(what)

    @contextmanager
    def _narrated(self) -> Iterator[None]:
        """Report the progress regularly, in a thread."""
        over = threading.Event()
        self._visible = self._named
        with self.drawn():
            thread = threading.Thread(target=self._narrate, args=(over,), daemon=True, name="narration")
            thread.start()
            try:
                yield
            finally:
                over.set()
                thread.join()

    def _narrate(self, over: threading.Event) -> None:
        """Name a phase that takes long, once; then report its progress: at every change of the live line, or at every heartbeat."""
        # A thread, because the event loop may be busy for seconds with one large answer, and that is when somebody looks.
        pause = DRAWN if self.live else min(LOOKED, self._every)
        while True:
            now = time.monotonic()
            due = self._visible and now - self._said >= self._every
            if not self._named and (due or now - self._tally.began >= LASTING):
                self._visible = True
                self._name()
            elif due:
                self._said = now
                text = f"{self._what}{self._where}: {self._so_far()}"
                self.tell("info", "progress", text, shown=not self.live, **self._tally.counts())
            if self._visible:
                self.draw()
            if over.wait(pause):
                return

    def part(self) -> tuple[int, int]:
        """How much of how many is done; 0 of 0 if unknown."""
        tally = self._tally
        return (tally.done, tally.steps) if tally.steps else (tally.answered, tally.queued)

    def _so_far(self) -> str:
        """The progress, the steps under way and the time left, in one line."""
        running = self._under_way()
        now = f"now {self._path}" if self._path and not self._tally.steps else ""
        return self._tally.facts(time.monotonic(), between=f"under way: {running}" if running else now)

    def short(self) -> str:
        """The progress in fewer characters, with the name of the phase."""
        return self.masks.text(f"{self._what}: {self._tally.short(time.monotonic(), last=self._under_way())}")

    def _under_way(self) -> str:
        """`acme/space/guides and 3 more`; "" without a step under way."""
        with self._lock:
            running = list(self._running.values())
        return _first(running) if running else ""

    # -- the client ------------------------------------------------------------------------------------------------------------------

    def queued(self) -> None:
        self._tally.queued += 1

    def request(self, method: str, path: str, attempt: int) -> None:
        self._path = f"{method} {path}"
        self._sent += 1
        _REQUEST.set(self._sent)
        if self.follows_requests:
            self.tell("debug", "sending", f"{method} /v1{path}", shown=False, **self._facts(method, path), attempt=attempt)

    def answer(self, method: str, path: str, status: int | None, seconds: float) -> None:
        self._tally.answered += 1
        self._tally.sample(time.monotonic())
        if self.follows_requests:
            text = f"{method} /v1{path} {status or 'no answer'} {seconds * 1000:.0f} ms"
            facts = {**self._facts(method, path), "status": status, "milliseconds": round(seconds * 1000)}
            self.tell("debug", "request", text, **facts)

    def _facts(self, method: str, path: str) -> dict[str, Any]:
        """The facts about the request that this task sends."""
        step = _STEP.get()
        of = {"address": str(step.address), "verb": step.verb, "step": step.id} if step is not None else {}
        return {"request": _REQUEST.get(), "method": method, "path": f"/v1{path}", **of}

    def read(self, objects: int) -> None:
        self._tally.objects += objects

    def asking(self, people: int, requests: int) -> None:
        asked = "person" if people == 1 else "people"
        self.stage(f"Asking what {people:,} {asked} can read, at least {requests:,} {_plural(requests, 'request')}")

    def waiting(self, seconds: float, why: str) -> None:
        level = "info" if seconds >= TOLD else "debug"
        self.tell(level, "waiting", f"Waiting {seconds:.0f} s: {why}", shown=seconds >= TOLD, seconds=round(seconds, 3))

    # -- the apply -------------------------------------------------------------------------------------------------------------------

    def planned(self, steps: int) -> None:
        self._tally.steps = steps

    def began(self, step: Step) -> None:
        with self._lock:
            self._running[step.id] = step.address
        # A context variable is inherited by the tasks that this one starts, so each request knows its step without being told.
        _STEP.set(step)  # in the task of this step

    def ended(self, result: StepResult) -> None:
        if self.follows_requests:
            step, why = result.step, f": {result.error}" if result.error else ""
            facts = {"address": str(step.address), "verb": step.verb, "step": step.id, "status": str(result.status.value)}
            self.tell("debug", "step", f"{step.verb} {step.address} {result.status.value}{why}", shown=False, **facts)
        with self._lock:
            self._running.pop(result.step.id, None)
        self._tally.ended(result.step.address, failed=result.status == "failed")
        self._tally.sample(time.monotonic())

    def looking(self) -> None:
        with self._lock:
            self._begin(LOOKING)
        self._name()

    def comparing(self, objects: int) -> None:
        self.stage(f"Comparing {objects:,} object{'s' if objects != 1 else ''} with what was planned")


def _first(running: Sequence[Address]) -> str:
    """`acme/space/guides and 3 more`."""
    return f"{running[0]}{f' and {len(running) - 1:,} more' if len(running) > 1 else ''}"


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
