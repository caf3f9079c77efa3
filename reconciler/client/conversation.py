"""One operation, from its first attempt to its answer or error.

In: an operation and its retry class. Out: an `Answer`, or the error that says what is known about its effect.
Forbidden: knowledge of the operation's purpose.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import nullcontext
from itertools import count
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from reconciler.client.answers import Answer
from reconciler.client.exchange import AttemptOutcome, Exchange
from reconciler.client.pacing import Clock, Gate, Pace, TooLate
from reconciler.client.paths import PREFIX, checked
from reconciler.client.quota import Hints
from reconciler.client.retry import (
    ATTEMPTS_MAX,
    REFUSALS_MAX,
    WINDOW_MAX,
    AttemptFault,
    Breaker,
    RetryBudget,
    RetryClass,
    backoff,
    cause_of,
    classify,
    error_for,
)
from reconciler.client.settings import ClientSettings
from reconciler.client.token_check import TokenCheck
from reconciler.client.transport import InTime, Transport, always
from reconciler.errors import Ambiguous, Rejected, ServiceError
from reconciler.model import Allowance, Listener, ServiceSpeed
from reconciler.text.service_url import TOKEN_VARIABLE

_as_json: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
NOT_SENT: Final = AttemptFault.NOT_SENT
LATE: Final = "its deadline passed before it could be sent"
LIMITED: Final = "The rate limit of the service is used up. Run it again later, or use --max-rps to send requests more slowly."


class _Request(NamedTuple):
    """What every attempt sends. `until`: the time of a monotonic clock after which nothing is sent."""

    method: str
    path: str
    url: str
    content: bytes | None
    until: float
    in_time: InTime


class Conversation:
    """All that the operations of one run share: the gate, the retry budget, the circuit breaker."""

    def __init__(
        self, settings: ClientSettings, transport: Transport, listener: Listener, clock: Clock, jitter: Callable[[], float]
    ) -> None:
        self.requests = 0
        self._answers, self._answer_seconds, self._answer_seconds_min = 0, 0.0, float("inf")
        self.skew: float | None = None  # seconds that the service's clock is ahead of ours
        self._base, self._timeout, self._concurrency = settings.base_url + PREFIX, settings.timeout, settings.max_concurrency
        self._listener, self._clock, self._jitter = listener, clock, jitter
        self._exchange = Exchange(settings, transport)
        self._pace = Pace(settings.max_rps, jitter)
        self._gate = Gate(clock, self._pace, listener.waiting)
        self._shared = settings.budget
        self._places = asyncio.Semaphore(settings.max_concurrency)
        self._retries = RetryBudget()
        self._breaker = Breaker()
        self._token = TokenCheck(self._clock, self._reads)

    def note_root(self, path: str) -> None:
        """Note a path that every accepted token may read."""
        self._token.root = path

    async def _reads(self, path: str) -> bool:
        """Whether the token is not refused on a path that is read once."""
        outcome = await self._attempt(_Request("GET", path, self._base + checked(path), None, float("inf"), always), 1)
        return outcome.result != 401

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

    async def ask(
        self,
        method: str,
        path: str,
        sent: Any | None = None,
        *,
        retry: RetryClass,
        deadline: float | None = None,
        in_time: InTime = always,
    ) -> Answer:
        """Send attempts until there is an answer, or retrying is useless. `sent`: the query of a GET, the body of any other request.
        `deadline`: seconds for everything, waiting included.

        No more attempts are sent once `in_time` returns False.
        """
        # What was not made by `encode` is a defect of ours, and could address another object than the one that was meant.
        url = self._base + checked(path) + (f"?{urlencode(sent)}" if method == "GET" and sent else "")
        content = None if method == "GET" or sent is None else _as_json(sent).encode("ascii")
        until = float("inf") if deadline is None else self._clock.monotonic() + deadline
        request = _Request(method, path, url, content, until, in_time)
        in_doubt, spent = False, 0
        for attempt in count(1):
            sent_at = self._clock.monotonic()
            outcome = await self._attempt(request, attempt)
            if outcome.held_by:
                raise _error(retry, method, path, outcome, in_doubt, id=outcome.held_by)
            effect, again = classify(retry, outcome.result)
            if outcome.result == 401 and await self._token.is_accepted(path, sent_at):
                raise _refused_here(method, path, outcome)
            if effect == "done" and (status := outcome.status) is not None:
                self._token.note_accepted(path if method == "GET" else "", sent_at)
                return Answer(status, outcome.body, outcome.hints.date)
            # It stays in doubt whatever later answers say: a second move may be refused because the first one was done.
            in_doubt = in_doubt or effect == "unknown"
            # A limit of a minute that no answer names ends within a minute: until then a refusal says nothing about the next attempt.
            waits = outcome.result == 429 and attempt < REFUSALS_MAX and self._pace.refused_for(self._clock.monotonic()) < WINDOW_MAX
            spent += not waits
            # While the breaker is open all other operations fail at once, so this one does not wait for the service either.
            if not again or spent >= ATTEMPTS_MAX or self._breaker.is_open or not await self._back_off(outcome, attempt, until):
                raise _error(retry, method, path, outcome, in_doubt, id=cause_of(outcome.result))
        raise AssertionError("unreachable")

    async def _back_off(self, outcome: AttemptOutcome, attempt: int, until: float) -> bool:
        """Wait before the next attempt; False if that would be too late or one attempt too many."""
        if outcome.result == 429:
            return True  # the gate delays all requests until the service is ready
        if not self._retries.grant(self.requests):
            return False
        if outcome.status is not None and outcome.hints.retry_after:
            return True  # the gate delays this one too
        seconds = backoff(attempt, self._jitter())
        if self._clock.monotonic() + seconds >= until:
            return False
        self._listener.waiting(seconds, outcome.says)
        await self._clock.sleep(seconds)
        return True

    def _late(self) -> AttemptOutcome:
        """Nothing was sent, and nothing will be: the deadline has passed."""
        # The deadline passed because of the limit: the user can do something about that, and nothing about a lost second.
        if self._pace.is_refused:
            return AttemptOutcome(NOT_SENT, f"{LATE}: the service's rate limit is used up (429)", held_by="RC-rate-limited")
        return AttemptOutcome(NOT_SENT, LATE, held_by="RC-too-late-to-send")

    async def _attempt(self, request: _Request, number: int) -> AttemptOutcome:
        """Wait for a place, for the gate and for the budget of other processes, in this order; then send once.

        A place comes first, because whoever holds a ticket of the gate must use it at once: the gate counts it as a request in flight.
        The shared budget comes last, because what was taken from it is missing elsewhere until it is reported.
        """
        method, path, url, content, until, in_time = request
        self._listener.queued()
        # Only who has to wait gets a timeout: it takes longer than everything else here.
        limit = asyncio.timeout(until - self._clock.monotonic()) if until < float("inf") and self._places.locked() else nullcontext()
        try:
            async with limit:
                await self._places.acquire()
        except TimeoutError:
            return self._late()
        leave: int | None = None
        status: int | None = None
        hints: Hints | None = None
        try:
            ticket = await self._gate.enter(method, until, number)
            try:
                if self._shared is not None:
                    leave = await self._shared.take(method, until - self._clock.monotonic())
                sent = self._clock.monotonic()
                if sent >= until:
                    return self._late()
                if not self._breaker.allows(sent):
                    return AttemptOutcome(NOT_SENT, "it was not sent, because the service keeps failing", held_by="RC-service-failing")
                if self._pace.is_hopeless(sent):
                    says = "it was not sent, because the service has refused all requests for 10 minutes (429)"
                    return AttemptOutcome(NOT_SENT, says, held_by="RC-rate-limited")
                self.requests += 1
                self._listener.request(method, path, number)
                outcome = await self._exchange.run(
                    method,
                    url,
                    content,
                    seconds=min(self._timeout, until - sent),
                    wall=self._clock.wall(),
                    in_time=lambda: self._clock.monotonic() < until and in_time(),
                )
                status, hints = outcome.status, outcome.hints
            finally:
                now = self._clock.monotonic()
                # However it ended, also by a cancellation: a ticket that is not given back would slow down the rest of the run.
                if status is None or hints is None:
                    self._pace.lost(ticket)
                else:
                    self._pace.answered(ticket, status, hints, now)
                if self._shared is not None and leave is not None:
                    self._shared.report(leave, status, hints)
        except (TooLate, TimeoutError):  # at the gate or on the wire; at the shared budget
            return self._late()
        finally:
            self._places.release()
        if hints.date is not None:
            self.skew = hints.date.timestamp() - self._clock.wall()
        self._breaker.record(outcome.result, sent=sent, now=now)
        if status is not None and status < 429:  # a proxy's answer, or one that delays us, says nothing of the service's speed
            self._answers += 1
            self._answer_seconds += now - sent
            self._answer_seconds_min = min(self._answer_seconds_min, now - sent)
        self._listener.answer(method, path, status, now - sent)
        return outcome


def _refused_here(method: str, path: str, outcome: AttemptOutcome) -> Rejected:
    says = f"the token is refused here, and accepted elsewhere ({outcome.says})"
    hint = f"Grant that permission to the owner of the token in {TOKEN_VARIABLE}; some paths take only the token of an integration."
    return Rejected(f"{method} {path}: {says}", id="RC-not-permitted", status=outcome.status, hint=hint)


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
