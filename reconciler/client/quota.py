"""What is left of a limit that the service tells, and when the next request may go. Pure; times are arguments.

What is left is what the last answer said, less everything that is under way.
"""

from __future__ import annotations

from typing import Final

from reconciler.client.hints import HOLD_MAX

SCARCE: Final = 0.25  # of a quota; below it the rest is spread over the time left, so that nobody waits long for the reset
SPREAD_MAX: Final = 60.0  # seconds; a quota of an hour is not spread: most runs end before it does
GROWTH: Final = 2  # how many times more is sent at a reset than at the last, before an answer says what it brought
ROUNDING: Final = 1.5  # seconds; resets and the clock are told in whole ones
POLL: Final = 0.02  # seconds; while an answer that is under way will say how much is left


class Quota:
    """What is left of one limit until it is reset; times are monotonic seconds."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.remaining = limit  # the least that an answer said in this window
        self.under_way = 0
        self.resets_at: float | None = None  # None: a new window nobody has told us about yet
        self.reset_told: float | None = None  # the same as the service says it, however far away
        self.window = 0.0  # seconds, at least: the longest time to a reset that was told
        self._refill = 1  # what a reset brings; 1, a probe, until one was seen
        self._over = limit  # the least that an answer said in the window before
        self._reset_at = float("-inf")
        self._shortest = float("inf")  # seconds from one reset to the next
        self._trusted = True
        self._taken_at = float("-inf")

    def ready_at(self, now: float) -> float:
        """When the next request may go; not later than `now` when it may go at once."""
        if self.resets_at is not None and now >= self.resets_at:
            self._reset(self.resets_at)
        left = self.remaining - self.under_way
        if left < 1:
            if self.resets_at is not None:
                return self.resets_at
            return now + POLL if self.under_way else now
        if self.resets_at is not None and left < self.limit * SCARCE and self.resets_at - now <= SPREAD_MAX:
            return self._taken_at + (self.resets_at - now) / max(2, left)  # the last one goes before the reset, and not with it
        return now

    def _reset(self, at: float) -> None:
        """A window is over. One that was shorter than all before it brings less: what slides is free again as it was used."""
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
        """Learn what an answer said; False where it speaks of a window that is over."""
        self.reset_told, self.window = resets_at, max(self.window, resets_at - now)
        resets_at = min(resets_at, now + HOLD_MAX)
        if self.resets_at is None and resets_at > now:
            if self._was_reset and self._trusted:
                self._refill = min(max(1, remaining + 1), self._refill * GROWTH)
            self.remaining, self.resets_at = remaining, resets_at
        elif self.resets_at is None:
            self.remaining = self._over = min(self._over, remaining)  # answers may overtake each other
            return False
        elif resets_at > self.resets_at + 0.5:  # the next window; half of the header's resolution
            self.remaining, self.resets_at = remaining, resets_at
        elif resets_at >= self.resets_at - ROUNDING:  # this window
            if remaining <= self.remaining:  # else it was overtaken by a later answer
                self.remaining, self.resets_at = remaining, min(self.resets_at, resets_at)
        else:
            return False
        return True

    def refused(self, until: float | None) -> None:
        """Learn of a 429: nothing is left, until `until` where that is told."""
        self.remaining = 0
        if self._was_reset:
            self._trusted, self._refill = False, 1  # it does not refill at once; from now on each reset is probed
        if until is not None:
            self.resets_at = until
