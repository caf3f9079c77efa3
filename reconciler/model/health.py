"""Whether an organization works for its readers: what is looked at, and what each check showed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Final

from reconciler.model.policy import Concern, ConcernLevel, Source

SOON_DEFAULT: Final = 30 * 86_400  # seconds before something ends from which that is a warning


class HealthStatus(StrEnum):
    """What a check, or all of them, showed; the worst first."""

    BROKEN = "broken"
    UNKNOWN = "unknown"
    WARNING = "warning"
    HEALTHY = "healthy"


@dataclass(frozen=True)
class GoldenSearch:
    """`site`: the key or the address of a site. `finds`: the path of a page in it, or a pattern."""

    site: str
    query: str
    finds: str
    source: Source | None = field(default=None, compare=False)


@dataclass(frozen=True)
class HealthChecks:
    """The checks that cost requests, with their limits. None, False or (): nobody looks. Each is the key of the same name in
    `reconciler.config.keys.HEALTH`; `every`: hours."""

    broken_links: int | None = None
    start_pages: bool | None = None
    stale_pages: int | None = None
    change_requests: int | None = None
    outdated: bool | None = None
    topics: int | None = None
    every: int = 24
    searches: tuple[GoldenSearch, ...] = ()


@dataclass(frozen=True)
class CheckResult:
    """What one check showed.

    `operations`: the requests that it sends. `cost`: how many, in words. `on`: whether it was made. `at`: when; None if it was not made.
    `requests`: how many it sent. `unread`: why it is not known whether all is well, one sentence each.
    """

    name: str
    operations: tuple[str, ...] = ()
    cost: str = "no request"
    on: bool = True
    at: datetime | None = None
    requests: int = 0
    concerns: tuple[Concern, ...] = ()
    unread: tuple[str, ...] = ()

    def word(self, today: date, soon: int = SOON_DEFAULT) -> HealthStatus | None:
        """What it showed; None if it was not made. What it could not know is never healthy."""
        return worst(self.concerns, self.unread, today, soon) if self.on else None


@dataclass(frozen=True)
class HealthReport:
    """The checks of one organization's project. `today`: the day of the reading."""

    project: str
    environment: str | None
    today: date
    checks: tuple[CheckResult, ...]
    notes: tuple[str, ...] = ()

    @property
    def word(self) -> HealthStatus:
        """That of the worst check."""
        words = [word for check in self.checks if (word := check.word(self.today)) is not None]
        return min(words, key=list(HealthStatus).index, default=HealthStatus.UNKNOWN)


def level_of(concern: Concern, today: date, soon: int = SOON_DEFAULT) -> ConcernLevel | None:
    """How bad a concern is on a day; None for what ends later than soon."""
    if concern.until is None:
        return concern.sort.level
    if concern.until < today:
        return ConcernLevel.BROKEN
    return ConcernLevel.WARNING if concern.until <= today + timedelta(seconds=soon) else None


def worst(concerns: Iterable[Concern], unread: Iterable[str], today: date, soon: int = SOON_DEFAULT) -> HealthStatus:
    """The health that concerns and what is unknown amount to."""
    levels = {level_of(concern, today, soon) for concern in concerns}
    if ConcernLevel.BROKEN in levels:
        return HealthStatus.BROKEN
    if any(True for _ in unread):
        return HealthStatus.UNKNOWN
    return HealthStatus.WARNING if ConcernLevel.WARNING in levels else HealthStatus.HEALTHY
