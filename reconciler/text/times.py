"""Times, days and durations in texts for people. Times are in the reader's time zone, which is an argument; JSON documents keep UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from typing import Final

HERE: Final = None
"""The zone of this machine, or of the variable TZ."""

SECONDS_MAX: Final = 120  # longer durations are in minutes
_UNTIL: Final = re.compile(r"\buntil (\d{4}-\d{2}-\d{2})\b", re.ASCII | re.IGNORECASE)


def utc_text(moment: datetime) -> str:
    """`2026-11-18T14:02:11Z`, as documents have it."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def clock_time(moment: datetime, zone: tzinfo | None) -> str:
    """`2026-11-18 15:02:11 CET`."""
    local = moment.astimezone(zone)
    return f"{local:%Y-%m-%d %H:%M:%S} {local.tzname()}"


def minute(moment: datetime, zone: tzinfo | None) -> str:
    """`29 Nov 2026, 22:10 CET`: for times days ahead."""
    local = moment.astimezone(zone)
    return f"{local.day} {local:%b %Y, %H:%M} {local.tzname()}"


def clock_time_of(text: str, zone: tzinfo | None) -> str:
    """The same for a time in ISO 8601; any other text unchanged."""
    try:
        return clock_time(datetime.fromisoformat(text), zone)
    except (ValueError, OverflowError):
        return text


def duration(seconds: float) -> str:
    """`40 s`, `8 min`, `1 h 20 min`."""
    if seconds < SECONDS_MAX:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def until(text: str) -> str | None:
    """The day after the last word `until` in a text; the day may not exist in the calendar."""
    days = _UNTIL.findall(text)
    return days[-1] if days else None
