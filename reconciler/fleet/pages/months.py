"""A month as weeks, and the expiries of its days. Days are those of UTC. Pure."""

from __future__ import annotations

from calendar import Calendar
from collections.abc import Iterable
from datetime import UTC, date, datetime

from reconciler.fleet.pages.views import ExpiryView

FIRST, LAST = date(2000, 1, 1), date(2199, 12, 1)


def shown(month: date) -> date:
    """The first day of a month, or of the nearest one that the calendar shows."""
    return min(max(month, FIRST), LAST).replace(day=1)


def weeks(month: date) -> list[list[date]]:
    """The weeks that contain days of a month, from Monday to Sunday."""
    return Calendar().monthdatescalendar(month.year, month.month)


def by_day(items: Iterable[ExpiryView]) -> dict[date, list[ExpiryView]]:
    """The expiries of each day, sorted by time."""
    days: dict[date, list[ExpiryView]] = {}
    for item in sorted(items, key=lambda item: (item.at, item.project, item.what)):
        days.setdefault(day_of(item.at), []).append(item)
    return days


def day_of(at: datetime) -> date:
    return at.astimezone(UTC).date()


def clock(at: datetime) -> str:
    """`14:02 UTC`."""
    return f"{at.astimezone(UTC):%H:%M} UTC"


def shifted(month: date, by: int) -> date:
    """The first day of the month that is `by` months later."""
    number = month.year * 12 + month.month - 1 + by
    return date(number // 12, number % 12 + 1, 1)
