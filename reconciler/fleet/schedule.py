"""When a project is due again, and whether its windows are open. Pure; times are arguments."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from reconciler.fleet.model import Window

BACKOFF_FIRST: Final = 30  # seconds after the first failure; doubled by each that follows
BACKOFF_MAX: Final = 1_800
STALE_TIMES: Final = 3  # intervals after which a reading is too old
STALE_MIN: Final = 300  # seconds; even for a shorter interval
AHEAD_MAX: Final = timedelta(minutes=1)  # by which a time of the database may be in the future


def delay(every: int, failures: int) -> int:
    """Seconds from the end of a run to the next. `failures`: runs in a row, this one included, that ended without a reading."""
    if failures <= 0:
        return every
    # Never more seldom than every BACKOFF_MAX, unless the project asks for that: a service that is back must be noticed.
    return min(max(every, BACKOFF_MAX), BACKOFF_FIRST << min(failures - 1, 12))


def stale_after(every: int) -> timedelta:
    """The age at which a reading no longer counts."""
    return timedelta(seconds=max(STALE_MIN, STALE_TIMES * every))


def is_open(windows: Sequence[Window], now: datetime) -> bool:
    """Whether changes may be applied at a time; always, without windows."""
    return not windows or any(_is_open(window, now) for window in windows)


def _is_open(window: Window, now: datetime) -> bool:
    local = now.astimezone(ZoneInfo(window.zone))
    clock, today = local.time(), local.weekday()
    if window.opens < window.closes:
        return today in window.days and window.opens <= clock < window.closes
    yesterday = (today - 1) % 7  # it closes after midnight
    return (today in window.days and clock >= window.opens) or (yesterday in window.days and clock < window.closes)
