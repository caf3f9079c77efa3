"""What the headers of an answer say about time and rate limits.

In: headers. Out: `Hints`, every value plausible or None. Forbidden: I/O; the local clock is an argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Final

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
