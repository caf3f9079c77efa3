"""One gate for all workers: no request is sent before the service will accept it.

In: the rate limits in answers. Out: when the next request may be sent.
Forbidden: HTTP; the clock and randomness are arguments.

Three limits, whichever is the latest: the user's `max_rps`; the quota that the service reports (`X-RateLimit-*`, one for each limit it
names, since method families differ); and without one, a rate learned from its 429s: cut once for each wave of them, then raised slowly;
quickly, if the first wave came before there were successes to learn from.

Own code, because rate limiters (aiolimiter, pyrate-limiter) keep to a rate that is known in advance; this one learns it from answers.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from reconciler.client.quota import HOLD_MAX, POLL, Hints, Quota
from reconciler.model import Allowance

CATCH_UP: Final = 0.05  # seconds that may be made up for after a late timer
START: Final = 8  # requests of a method in flight before the first answer, which reports the limit
HOLD_FIRST: Final = 0.25  # seconds after a 429 without a hint; doubled until a request succeeds
CUT: Final = 0.8  # of the rate that succeeded
GROWTH: Final = 1.002  # for each success: back at the old rate after about 110
GROWTH_FIRST: Final = 1.1  # the same, if the first refusal came before enough successes
RATE_MIN: Final = 0.5  # requests a second
BUSY: Final = 20  # successes needed to measure a rate
SPAN: Final = 5.0  # seconds over which the rate of successes is measured
SPAN_FIRST: Final = 2.0  # seconds, while the rate is raised quickly
PATIENCE: Final = 600.0  # seconds of refusals only, after which no more requests are sent


class Clock:
    """The machine's time; tests pass a clock of their own."""

    monotonic = staticmethod(time.monotonic)
    wall = staticmethod(time.time)

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        await asyncio.sleep(seconds)


class TooLate(Exception):
    """The deadline has passed, or would pass while waiting at the gate; nothing was sent."""


@dataclass(eq=False)
class Ticket:
    """Permission to send one request."""

    method: str
    at: float
    quota: Quota | None


class Pace:
    """The calculations of the gate, which do not wait."""

    def __init__(self, max_rps: float | None, jitter: Callable[[], float]) -> None:
        self._max_rps = max_rps
        self._jitter = jitter
        self._quotas: dict[int, Quota] = {}  # by limit: families that share a limit count as one, which is only slower
        self._of_method: dict[str, Quota] = {}
        self._held_until = float("-inf")
        self._next_slot = float("-inf")
        self._rate: float | None = None  # learned; None: no 429 so far
        self._cut_at = float("-inf")
        self._cuts = 0  # in a row without a success; while there are any, only one request at a time is sent
        self._trying: Ticket | None = None
        self._began: float | None = None
        self._round = 0  # successes since the last refusals
        self._round_began = 0.0
        self._successes: deque[float] = deque()
        self._unanswered: dict[str, set[Ticket]] = {}  # by method
        self._heard: set[str] = set()
        self._exploring = False
        self._refused_since: float | None = None
        self._ahead: float | None = None  # the service's epoch time less our monotonic time: a lower bound, its Date has whole seconds

    def is_hopeless(self, now: float) -> bool:
        """Whether all answers of the last 10 minutes were refusals."""
        return self.refused_for(now) > PATIENCE

    def refused_for(self, now: float) -> float:
        """For how many seconds there were only refusals."""
        return now - self._refused_since if self._refused_since is not None else 0.0

    @property
    def is_refused(self) -> bool:
        """Whether the last answers were refusals."""
        return self._refused_since is not None

    @property
    def is_trying(self) -> bool:
        """Whether nothing has succeeded since a 429 without a quota, so that one request at a time is sent."""
        return self._cuts > 0

    def allowance(self, now: float) -> Allowance | None:
        """The quota with the least left; None if the service reports none, or all of them have expired."""
        reported = [quota for quota in self._quotas.values() if quota.reported_reset is not None and quota.reported_reset > now]
        scarcest = min(reported, key=lambda quota: (quota.remaining, quota.limit), default=None)
        if scarcest is None or scarcest.reported_reset is None:
            return None
        return Allowance(scarcest.limit, scarcest.remaining, scarcest.reported_reset - now, scarcest.window)

    @property
    def rate(self) -> float | None:
        """Requests a second, at most: what the user allows, or what the service's refusals taught; None without either."""
        return min((rate for rate in (self._max_rps, self._rate) if rate is not None), default=None)

    def ready_at(self, method: str, now: float) -> float:
        """When a request may be sent, in monotonic seconds; not later than `now` if at once."""
        # Before the first answer the limit is unknown: 64 requests at once could all be refused. Methods differ, so each starts by itself.
        if method not in self._heard and len(self._unanswered.get(method, ())) >= START:
            return now + POLL
        # After a refusal without a hint, one request at a time finds out whether the limit has ended; more would prolong it.
        if self._cuts and self._trying:
            return now + POLL
        quota = self._of_method.get(method)
        return max(self._held_until, self._next_slot, quota.ready_at(now) if quota else now)

    def take(self, method: str, now: float) -> Ticket:
        """Permission to send now; `answered` or `lost` must follow, exactly once."""
        quota = self._of_method.get(method)
        if quota:
            quota.take(now)
        if self._began is None:
            self._began = self._round_began = now
        # A timer that wakes late must not cost throughput, but what was missed is not made up for in one burst either.
        if (rate := self.rate) is not None:
            self._next_slot = max(self._next_slot, now - CATCH_UP) + 1.0 / rate
        ticket = Ticket(method, now, quota)
        self._unanswered.setdefault(method, set()).add(ticket)
        if self._cuts:
            self._trying = ticket
        return ticket

    def lost(self, ticket: Ticket) -> None:
        """Record that no answer came: the service may have counted the request."""
        self._back(ticket)
        # Whether it arrived is not known. Counting one too many waits a moment; counting one too few is refused.
        if ticket.quota:
            ticket.quota.remaining -= 1

    def answered(self, ticket: Ticket, status: int, hints: Hints, now: float) -> None:
        """Learn from an answer."""
        self._back(ticket)
        if status < 500:  # a proxy's 5xx does not lift the limit on first requests
            self._heard.add(ticket.method)
        self._tell_time(hints, now)
        quota, current = self._told_quota(ticket, status, hints, now)
        if status == 429:
            self._refused_since = self._refused_since or now
            self._slow_down(ticket, quota, current, hints, now)
            return
        if status >= 500:
            self._held_until = max(self._held_until, now + (hints.retry_after or 0.0))
            return
        if self._refused_since is not None and ticket.at >= self._refused_since:  # an earlier request proves nothing about the time since
            self._refused_since = None
        self._round += 1
        if self._cuts and ticket.at >= self._cut_at:
            self._cuts = 0
            self._settle(now)
        # The rate is what really went through lately, not what was allowed: a plan that waits for something else proves nothing.
        self._successes.append(now)
        while self._successes[0] < now - SPAN:
            self._successes.popleft()
        if self._rate is not None:
            self._rate *= GROWTH_FIRST if self._exploring else GROWTH

    def _settle(self, now: float) -> None:
        """Learn a rate after refusals: the successes before them, averaged over the whole time, are what a service with windows allows."""
        if self._rate is not None and self._round >= BUSY:
            self._rate = max(RATE_MIN, min(self._rate, self._round / (now - self._round_began)))
        self._round, self._round_began = 0, now

    def _back(self, ticket: Ticket) -> None:
        self._unanswered[ticket.method].remove(ticket)
        if ticket.quota:
            ticket.quota.under_way -= 1
        if ticket is self._trying:
            self._trying = None

    def _tell_time(self, hints: Hints, now: float) -> None:
        if hints.date is None:
            return
        # Resets are times of the service, and our clock may be wrong by minutes. `Date` has whole seconds, so the largest difference that
        # was seen is the nearest: that answer was sent right after the service's second began.
        ahead = hints.date.timestamp() - now
        if self._ahead is None or not self._ahead - 2.0 < ahead <= self._ahead:  # far below: the service's clock was set back
            self._ahead = ahead

    def _told_quota(self, ticket: Ticket, status: int, hints: Hints, now: float) -> tuple[Quota | None, bool]:
        """The quota that an answer names, and whether it applies to the present window."""
        if hints.limit is None or self._ahead is None:
            if ticket.quota:
                ticket.quota.remaining -= 1
            if status < 500:  # a proxy's answer does not report the service's limits
                self._of_method.pop(ticket.method, None)
            return None, False
        quota = self._quotas.setdefault(hints.limit, Quota(hints.limit))
        self._of_method[ticket.method] = quota
        for other in self._unanswered[ticket.method]:
            if other.quota is None:  # sent before the quota was known: the service counts it too
                other.quota = quota
                quota.under_way += 1
        self._rate = None
        return quota, quota.learn(hints.remaining, hints.reset - self._ahead, now)

    def _slow_down(self, ticket: Ticket, quota: Quota | None, current: bool, hints: Hints, now: float) -> None:
        # The most precise first: a wait that the answer names, then the reset of the quota, then a rate that is learned.
        if quota and hints.retry_after is not None:
            quota.refused(now + hints.retry_after)
            return
        if quota and quota.resets_at is not None:
            if current:
                quota.refused(None)
            return
        if hints.retry_after is not None:
            self._held_until = max(self._held_until, now + hints.retry_after)
        if ticket.at < self._cut_at:
            return  # sent before the last cut: the same wave
        if hints.retry_after is None:
            self._held_until = max(self._held_until, now + (0.5 + 0.5 * self._jitter()) * min(HOLD_MAX, HOLD_FIRST * 2.0**self._cuts))
        # Only the first refusal of a wave measures: during the wave nothing succeeds, and the rate would fall to its minimum.
        if not self._cuts:
            span = min(SPAN_FIRST if self._exploring else SPAN, max(POLL, now - max(self._cut_at, self._began or 0.0)))
            seen = sum(1 for at in self._successes if at >= now - span)
            went_well = seen / span
            if self._exploring:
                self._round, self._round_began = 0, now
            self._exploring = self._rate is None and seen < BUSY
            self._rate = max(RATE_MIN, CUT * min(went_well, self._rate or went_well))
        self._cut_at, self._cuts = now, self._cuts + 1


class SharedBudget(Protocol):
    """A budget that this process shares with other processes that use the same token; requested before each request, after the gate."""

    async def take(self, method: str, seconds: float) -> int:
        """Permission to send one request now; raises TimeoutError if that would take longer than `seconds`."""

    def report(self, ticket: int, status: int | None, hints: Hints | None) -> None:
        """Report the result of a request: called once for each ticket. `status`: None if no answer came."""


class Gate:
    """Where every request waits for its turn."""

    def __init__(self, clock: Clock, pace: Pace, waiting: Callable[[float, str], None]) -> None:
        self._clock = clock
        self._pace = pace
        self._waiting = waiting
        self._here: list[int] = []  # the numbers of attempts of the waiting requests
        self._announced = float("-inf")  # the end of the wait that was reported last

    async def enter(self, method: str, until: float, attempt: int = 1) -> Ticket:
        """Permission to send; raises TooLate at once if the wait would end after `until` (monotonic).

        While one request at a time is sent, the one with the fewest attempts goes first, so that none uses up all its attempts.
        """
        self._here.append(attempt)
        try:
            while True:
                now = self._clock.monotonic()
                wait = self._pace.ready_at(method, now) - now
                if wait <= 0 and self._pace.is_trying and attempt > min(self._here):
                    wait = POLL
                # Said at once, and not when the deadline has passed: until then the worker can do something else.
                if now + max(0.0, wait) > until:
                    raise TooLate
                if wait <= 0:
                    return self._pace.take(method, now)
                # Shorter waits are normal pacing, and every request in flight waits for the same limit: it is reported once.
                if wait >= 1.0 and now >= self._announced:
                    self._announced = now + wait
                    self._waiting(wait, "the service's rate limit")
                await self._clock.sleep(wait)
        finally:
            self._here.remove(attempt)
