"""Times for people, in the reader's time zone. JSON documents keep UTC. The zone is an argument."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import Final

HERE: Final = None
"""The zone of this machine, or of the variable TZ."""


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
