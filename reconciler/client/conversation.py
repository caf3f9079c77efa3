"""One operation, from its first attempt to its answer or error.

In: an operation and its retry class. Out: an `Answer`, or the error that says what is known about its effect.
Forbidden: knowledge of the operation's purpose.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Final, Protocol
from urllib.parse import urlencode

from reconciler.client.answers import Answer, KnownAnswers
from reconciler.client.exchange import AttemptOutcome, Exchange
from reconciler.client.hints import Hints
from reconciler.client.pacing import Clock, Gate, Pace, TooLate
from reconciler.client.paths import PREFIX, checked
from reconciler.client.retry import (
    ATTEMPTS_MAX,
    AttemptFault,
    Breaker,
    Effect,
    RetryBudget,
    RetryClass,
    backoff,
    cause_of,
    classify,
    error_for,
)
from reconciler.client.settings import TOKEN_VARIABLE, ClientSettings
from reconciler.client.transport import InTime, Transport, always
from reconciler.errors import Ambiguous, ServiceError
from reconciler.model import Allowance, ServiceSpeed


class Listener(Protocol):
    """Receives the events of requests; `path` has no query, so it contains no secret of one."""

    def queued(self) -> None:
        """A request is to be sent as soon as the limits allow it; each retry is announced too."""

    def request(self, method: str, path: str, attempt: int) -> None:
        """A request is being sent, for the first time (1) or again. Its later events are reported in the same task."""

    def answer(self, method: str, path: str, status: int | None, seconds: float) -> None:
        """The request was answered; `status` is None if it was not."""

    def read(self, objects: int) -> None:
        """So many objects were read that no earlier answer had shown."""

    def waiting(self, seconds: float, why: str) -> None:
        """Nothing is sent for `seconds`."""


class Silent:
    """A listener that ignores all events."""

    def queued(self) -> None:
        """Nothing."""

    def request(self, method: str, path: str, attempt: int) -> None:
        """Nothing."""

    def answer(self, method: str, path: str, status: int | None, seconds: float) -> None:
        """Nothing."""

    def read(self, objects: int) -> None:
        """Nothing."""

    def waiting(self, seconds: float, why: str) -> None:
        """Nothing."""


_as_json: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
LATE: Final = "its deadline passed before it could be sent"
LIMITED: Final = "The rate limit of the service is used up. Run it again later, or use --max-rps to send requests more slowly."


class _HeldBack(Exception):
    """This attempt was not sent, and no other will be. `id`: the id of the cause."""

    def __init__(self, says: str, *, id: str) -> None:
        super().__init__(says)
        self.id = id


class Conversation:
    """All that the operations of one run share: the gate, the retry budget, the circuit breaker."""

    def __init__(
        self,
        settings: ClientSettings,
        transport: Transport,
        listener: Listener,
        clock: Clock,
        jitter: Callable[[], float],
    ) -> None:
        self.requests = 0
        self.known = KnownAnswers()
        self._answers, self._answer_seconds, self._answer_seconds_min = 0, 0.0, float("inf")
        self.skew: float | None = None  # seconds that the service's clock is ahead of ours
        self._base = settings.base_url + PREFIX
        self._timeout = settings.timeout
        self._listener = listener
        self._clock = clock
        self._jitter = jitter
        self._exchange = Exchange(settings, transport)
        self._pace = Pace(settings.max_rps, jitter)
        self._gate = Gate(clock, self._pace, listener.waiting)
        self._budget_of_all = settings.budget
        self._concurrency = settings.max_concurrency
        self._places = asyncio.Semaphore(settings.max_concurrency)
        self._budget = RetryBudget()
        self._breaker = Breaker()

    @property
    def allowance(self) -> Allowance | None:
        """What is left of the service's rate limit, as far as its headers report it."""
        return self._pace.allowance(self._clock.monotonic())

    @property
    def speed(self) -> ServiceSpeed:
        """How fast the service answered so far; 0 seconds where it did not."""
        if not self._answers:
            return ServiceSpeed(0.0, 0.0, self._concurrency, self._pace.rate)
        return ServiceSpeed(self._answer_seconds / self._answers, self._answer_seconds_min, self._concurrency, self._pace.rate)

    async def read(self, path: str, query: Mapping[str, str] | None = None) -> Answer:
        """The answer to a GET, unless it was requested ahead of time; no other method sends one. Raises like `ask`."""
        return await self.known.ask(path, query, self._read)

    async def _read(self, path: str, query: Mapping[str, str] | None) -> Answer:
        return await self.ask("GET", path, query, retry=RetryClass.READ)

    async def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any | None = None,
        *,
        retry: RetryClass,
        deadline: float | None = None,
        in_time: InTime = always,
    ) -> Answer:
        """Send attempts until there is an answer, or retrying is useless; `deadline`: seconds for everything, waiting included.

        No more attempts are sent once `in_time` returns False.
        """
        url = self._base + checked(path) + (f"?{urlencode(query)}" if query else "")
        content = None if body is None else _as_json(body).encode("ascii")
        until = float("inf") if deadline is None else self._clock.monotonic() + deadline
        in_doubt = False
        for attempt in count(1):
            try:
                outcome = await self._attempt(method, url, path, content, until, attempt, in_time)
            except _HeldBack as held_back:
                outcome = AttemptOutcome(AttemptFault.NOT_SENT, str(held_back))
                raise _error(retry, method, path, outcome, in_doubt, id=held_back.id) from None
            verdict = classify(retry, outcome.result)
            if verdict.effect is Effect.DONE and (status := outcome.status) is not None:
                return Answer(status, outcome.body, outcome.hints.date)
            in_doubt = in_doubt or verdict.effect is Effect.UNKNOWN
            if not verdict.again or attempt == ATTEMPTS_MAX or self._breaker.is_open or not await self._back_off(outcome, attempt, until):
                raise _error(retry, method, path, outcome, in_doubt, id=cause_of(outcome.result))
        raise AssertionError("unreachable")

    async def _back_off(self, outcome: AttemptOutcome, attempt: int, until: float) -> bool:
        """Wait before the next attempt; False if that would be too late or one attempt too many."""
        if outcome.result == 429:
            return True  # the gate delays all requests until the service is ready
        if not self._budget.grant(self.requests):
            return False
        if outcome.status is not None and outcome.hints.retry_after:
            return True  # the gate delays this one too
        seconds = backoff(attempt, self._jitter())
        if self._clock.monotonic() + seconds >= until:
            return False
        self._listener.waiting(seconds, outcome.says)
        await self._clock.sleep(seconds)
        return True

    def _late(self) -> _HeldBack:
        if self._pace.is_refused:
            return _HeldBack(f"{LATE}: the service's rate limit is used up (429)", id="RC-rate-limited")
        return _HeldBack(LATE, id="RC-too-late-to-send")

    async def _wait_for_a_place(self, until: float) -> None:
        try:
            async with asyncio.timeout(None if until == float("inf") else max(0.0, until - self._clock.monotonic())):
                await self._places.acquire()
        except TimeoutError:
            raise self._late() from None

    async def _take(self, method: str, until: float) -> int:
        """Take a request from the budget that other processes share. Raises TooLate."""
        assert self._budget_of_all is not None
        try:
            return await self._budget_of_all.take(method, until - self._clock.monotonic())
        except TimeoutError:
            raise TooLate from None

    async def _attempt(
        self, method: str, url: str, path: str, content: bytes | None, until: float, number: int, in_time: InTime
    ) -> AttemptOutcome:
        self._listener.queued()
        if self._places.locked() or until <= self._clock.monotonic():
            await self._wait_for_a_place(until)
        else:
            await self._places.acquire()
        try:
            ticket = await self._gate.enter(method, until, number)
            leave: int | None = None
            sent = self._clock.monotonic()
            status: int | None = None
            hints: Hints | None = None
            try:
                if self._budget_of_all is not None:
                    leave = await self._take(method, until)
                    sent = self._clock.monotonic()
                if sent >= until:
                    raise TooLate
                if not self._breaker.allows(sent):
                    raise _HeldBack("it was not sent, because the service keeps failing", id="RC-service-failing")
                if self._pace.is_hopeless(sent):
                    says = "it was not sent, because the service has refused all requests for 10 minutes (429)"
                    raise _HeldBack(says, id="RC-rate-limited")
                self.requests += 1
                self._listener.request(method, path, number)
                outcome = await self._exchange.run(
                    method, url, content,
                    seconds=min(self._timeout, until - sent), wall=self._clock.wall(),
                    in_time=lambda: self._clock.monotonic() < until and in_time(),
                )  # fmt: skip
                status, hints = outcome.status, outcome.hints
            finally:
                now = self._clock.monotonic()
                if status is None or hints is None:
                    self._pace.lost(ticket)
                else:
                    self._pace.answered(ticket, status, hints, now)
                if self._budget_of_all is not None and leave is not None:
                    self._budget_of_all.report(leave, status, hints)
        except TooLate:
            raise self._late() from None
        finally:
            self._places.release()
        if hints.date is not None:
            self.skew = hints.date.timestamp() - self._clock.wall()
        self._breaker.record(outcome.result, sent=sent, now=now)
        self._note_speed(status, now - sent)
        self._listener.answer(method, path, status, now - sent)
        return outcome

    def _note_speed(self, status: int | None, seconds: float) -> None:
        """An answer of the service itself took so many seconds; what is not one says nothing of its speed."""
        if status is not None and status < 429:
            self._answers += 1
            self._answer_seconds += seconds
            self._answer_seconds_min = min(self._answer_seconds_min, seconds)


def _error(retry: RetryClass, method: str, path: str, outcome: AttemptOutcome, in_doubt: bool, *, id: str) -> ServiceError:
    kind = error_for(retry, method, outcome.result, in_doubt=in_doubt)
    says, hint = outcome.says, LIMITED if id == "RC-rate-limited" else None
    if outcome.result == 401:
        says, hint = f"the token was refused ({says})", f"Check the token in {TOKEN_VARIABLE}."
    elif outcome.result == 403:
        says, hint = (
            f"the token's owner is not allowed to do this ({says})",
            f"Grant that permission to the owner of the token in {TOKEN_VARIABLE}.",
        )
    if kind is Ambiguous:
        says, hint, id = f"{says}; its outcome is unknown", None, "RC-outcome-unknown"
    return kind(f"{method} {path}: {says}", id=id, status=outcome.status, hint=hint)
