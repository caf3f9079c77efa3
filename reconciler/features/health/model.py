"""Whether an organization works for its readers: what is looked at, and what each check showed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Final

from reconciler.model.desired import SectionKey
from reconciler.model.findings import Source

SOON_DEFAULT: Final = 30 * 86_400  # seconds before something ends from which that is a warning


class ConcernLevel(StrEnum):
    """How bad a concern is; the worst first."""

    BROKEN = "broken"
    WARNING = "warning"
    INFORMATION = "information"


class Sort(StrEnum):
    """The subject of a concern; the worst first."""

    EXPOSURE = "exposure"  # somebody can do or read more than was consented to
    LINKS = "links"  # a published URL that does not work, or shows nothing
    PROCESSING = "processing"  # the service has not finished with something
    EXPIRY = "expiry"  # something that expires on a date
    PAYMENT = "payment"  # something about payments limits what may be done
    BEHIND = "behind"  # a copy that the service keeps is older than what it copies
    SEARCH = "search"  # a search does not find what its readers need
    STALE = "stale"  # pages that nobody changed for long
    REVIEWS = "reviews"  # proposed edits that wait for a decision
    TOPICS = "topics"  # what readers ask about

    @property
    def level(self) -> ConcernLevel:
        """How bad a concern without a day is."""
        if self is Sort.TOPICS:
            return ConcernLevel.INFORMATION
        return ConcernLevel.WARNING if self in (Sort.PAYMENT, Sort.STALE, Sort.REVIEWS) else ConcernLevel.BROKEN


@dataclass(frozen=True)
class Concern:
    """Something in an organization that is broken or expires, whether or not it is as declared.

    `address`: of the object; for an unmanaged one, the address it would have. `sentence`: without its full stop. `until`: the last day on
    which it works; None where it is broken now.
    """

    sort: Sort
    address: str
    sentence: str
    until: date | None = None

    def sentence_on(self, today: date) -> str:
        """`its certificate ends on 2026-12-01, in 8 days`."""
        if self.until is None:
            return self.sentence
        days = (self.until - today).days
        if days < 0:
            return f"{self.sentence}, which has passed"
        return f"{self.sentence}, today" if days == 0 else f"{self.sentence}, in {days:,} day{'s' if days != 1 else ''}"


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


CHECKS: Final = SectionKey("health", HealthChecks())
"""The checks of a project."""


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
