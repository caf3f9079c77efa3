"""What answers say about time and rate limits, and when the next request may be sent. Pure; clocks are arguments.

In: headers. Out: `Hints`, every value plausible or None; a `Quota`, in which what remains is the number in the last answer, less all
requests in flight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Final

# -- Headers -------------------------------------------------------------------------------------------------------------------------

HOLD_MAX: Final = 120.0  # seconds; whatever the service requests, users should not wait longer without a message


@dataclass(frozen=True)
class Hints:
    """`retry_after`: seconds, 0 to 120. `remaining` of `limit` requests are left until `reset` (UTC epoch seconds); all three or none."""

    date: datetime | None = None
    retry_after: float | None = None
    limit: int | None = None
    remaining: int = 0
    reset: int = 0


def read_hints(headers: Mapping[str, str], wall: float) -> Hints:
    """The hints in `headers`, whose names are looked up in lower case; `wall`: local epoch seconds, used if there is no Date header."""
    # Retry-After may be a date (RFC 9110). It is by the clock of the service, so it is compared with its Date and not with our clock.
    date = _date(headers.get("date"))
    later = headers.get("retry-after")
    retry_after = None if later is None else _retry_after(later, date.timestamp() if date else wall)
    # All three or nothing: one number alone cannot tell a full quota from an empty one.
    limit = _number(headers.get("x-ratelimit-limit"))
    if not limit:
        return Hints(date, retry_after)
    remaining, reset = _number(headers.get("x-ratelimit-remaining")), _number(headers.get("x-ratelimit-reset"))
    if remaining is None or reset is None or reset > 10**11:  # milliseconds, or invalid: year 5138
        return Hints(date, retry_after)
    return Hints(date, retry_after, limit, remaining, reset)


def _retry_after(text: str, service_now: float) -> float | None:
    seconds: float | None = _number(text)
    if seconds is None:
        date = _date(text)
        if date is None:
            return None
        seconds = date.timestamp() - service_now
    return min(HOLD_MAX, max(0.0, seconds))


def _number(text: str | None) -> int | None:
    # `int` accepts more: signs, underscores, digits of other scripts, and millions of them, which take seconds.
    text = (text or "").strip()
    return int(text) if 0 < len(text) <= 15 and text.isascii() and text.isdigit() else None


@lru_cache(maxsize=16)  # hundreds of answers have the same second
def _date(text: str | None) -> datetime | None:
    if not text or len(text) > 40:
        return None
    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        return None


# -- The rest of a limit -------------------------------------------------------------------------------------------------------------

SCARCE: Final = 0.25  # of a quota; below it requests are spread over the time left, so that none waits long for the reset
SPREAD_MAX: Final = 60.0  # seconds; a quota of an hour is not spread: most runs end before it does
GROWTH: Final = 2  # how many times more requests are sent at a reset than at the last one, before an answer reports its size
ROUNDING: Final = 1.5  # seconds; resets and the clock are reported in whole ones
POLL: Final = 0.02  # seconds; while an answer in flight will report the rest


class Quota:
    """The rest of one limit until it is reset; times are monotonic seconds."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.remaining = limit  # the lowest number that an answer reported in this window
        self.under_way = 0
        self.resets_at: float | None = None  # None: a new window, not reported yet
        self.reported_reset: float | None = None  # the same as the service says it, however far away
        self.window = 0.0  # seconds, at least: the longest time to a reset that was reported
        self._refill = 1  # the size of a reset; 1, a probe, until one was seen
        self._over = limit  # the lowest number that an answer reported in the window before
        self._reset_at = float("-inf")
        self._shortest = float("inf")  # seconds from one reset to the next
        self._trusted = True
        self._taken_at = float("-inf")

    def ready_at(self, now: float) -> float:
        """When a request may be sent; not later than `now` if at once."""
        if self.resets_at is not None and now >= self.resets_at:
            self._reset(self.resets_at)
        # Requests in flight count as used: their answers have not reported it yet.
        left = self.remaining - self.under_way
        if left < 1:
            if self.resets_at is not None:
                return self.resets_at
            return now + POLL if self.under_way else now
        if self.resets_at is not None and left < self.limit * SCARCE and self.resets_at - now <= SPREAD_MAX:
            return self._taken_at + (self.resets_at - now) / max(2, left)  # the last one is sent before the reset, not at the same time
        return now

    def _reset(self, at: float) -> None:
        """Begin a new window. One that was shorter than all before it restores less: a sliding limit frees what was used earlier."""
        # A service may say that it resets in a second, again and again: it counts the last minute, and frees what is older. Then a reset
        # restores a few requests, not the whole limit, and each must be probed with one request.
        lasted, self._reset_at = at - self._reset_at, at
        if ROUNDING < self._shortest - lasted < float("inf"):
            self._refill = 1
        self._shortest = min(self._shortest, lasted)
        self.resets_at, self.remaining, self._over = None, self._refill, self.remaining

    @property
    def _was_reset(self) -> bool:
        return self._reset_at > float("-inf")

    def take(self, now: float) -> None:
        """Count a request that is sent at `now`."""
        self.under_way += 1
        self._taken_at = now

    def learn(self, remaining: int, resets_at: float, now: float) -> bool:
        """Learn the numbers in an answer; False if they belong to an expired window."""
        # For the forecast of a plan, however far away it is. Waiting ends earlier: a wrong reset must not stop a run for a day.
        self.reported_reset, self.window = resets_at, max(self.window, resets_at - now)
        resets_at = min(resets_at, now + HOLD_MAX)
        # The first answer after a reset shows how much it restored. The next one is expected to restore at most twice as much as the last:
        # a number that was wrong once then costs a few refusals and not hundreds.
        if self.resets_at is None and resets_at > now:
            if self._was_reset and self._trusted:
                self._refill = min(max(1, remaining + 1), self._refill * GROWTH)
            self.remaining, self.resets_at = remaining, resets_at
        elif self.resets_at is None:
            self.remaining = self._over = min(self._over, remaining)  # answers may overtake one another
            return False
        elif resets_at > self.resets_at + 0.5:  # the next window; half of the header's resolution
            self.remaining, self.resets_at = remaining, resets_at
        elif resets_at >= self.resets_at - ROUNDING:  # this window
            if remaining <= self.remaining:  # else a later answer overtook it
                self.remaining, self.resets_at = remaining, min(self.resets_at, resets_at)
        else:
            return False
        return True

    def refused(self, until: float | None) -> None:
        """Learn of a 429: nothing is left, until `until` if that is reported."""
        self.remaining = 0
        if self._was_reset:
            self._trusted, self._refill = False, 1  # it does not refill at once; from now on each reset is probed
        if until is not None:
            self.resets_at = until
