"""The health of an organization, independent of its status, and what expires when. Pure; times are arguments.

A run reports what is broken and what expires (`features/health/plan.py`); the displayed health follows from that, its age and the day.
Missing information is Unknown, never Healthy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from reconciler.features.health.model import SOON_DEFAULT as SOON_DEFAULT, CheckResult, Concern, ConcernLevel, Sort, level_of
from reconciler.fleet.schedule import stale_after

CONCERNS_MAX: Final = 200  # number kept of one reading: what is broken, then what expires first
UNREAD_MAX: Final = 20
SHOWN_MAX: Final = 3  # sentences; the rest is counted
SEVERITY: Final = {sort: rank for rank, sort in enumerate(Sort)}  # 0 for the worst


class HealthWord(StrEnum):
    """The health as displayed; the worst first."""

    BROKEN = "Broken"
    UNKNOWN = "Unknown"
    WARNING = "Warning"
    HEALTHY = "Healthy"


PASSING: Final = frozenset({HealthWord.HEALTHY, HealthWord.WARNING})
"""With these, the next wave may follow."""


@dataclass(frozen=True)
class HealthReading:
    """The health in a reading. `unread`: what is unknown. `more`: how many concerns were dropped. `checks`: those that cost requests."""

    concerns: tuple[Concern, ...] = ()
    unread: tuple[str, ...] = ()
    more: int = 0
    checks: tuple[TimedCheck, ...] = ()


@dataclass(frozen=True)
class TimedCheck:
    """A check that costs requests, so that it is not made in each run. `every`: seconds until it is made again. `digest`: of its limits."""

    result: CheckResult
    every: int
    digest: str

    def is_due(self, now: datetime, digest: str) -> bool:
        """Whether it must be made again: it is old, its limits changed, or it could not be made completely."""
        at = self.result.at
        return at is None or digest != self.digest or bool(self.result.unread) or now - at >= timedelta(seconds=self.every)

    def unread(self, now: datetime) -> tuple[str, ...]:
        """What it could not know; that it is too old is one of these."""
        if self.result.at is None or now - self.result.at > timedelta(seconds=2 * self.every):
            return (f"the check {self.result.name} was made too long ago",)
        return tuple(f"{self.result.name}: {sentence}" for sentence in self.result.unread)


@dataclass(frozen=True)
class ProjectHealth:
    """`broken`: present concerns, the worst one first; `ending`: upcoming ones, and other warnings. `sentences`: why it is not Healthy."""

    word: HealthWord
    broken: tuple[Concern, ...] = ()
    ending: tuple[Concern, ...] = ()
    sentences: tuple[str, ...] = ()


def health(checked: HealthReading | None, at: datetime | None, now: datetime, *, every: int, soon: int = SOON_DEFAULT) -> ProjectHealth:
    """The health at a time. `at`: of the reading. `every`: seconds from one run to the next; `soon`: before an expiry."""
    if checked is None or at is None:
        return ProjectHealth(HealthWord.UNKNOWN, sentences=("its health was never read",))
    today = now.date()
    concerns = (*checked.concerns, *(concern for check in checked.checks for concern in check.result.concerns))
    worst_first = sorted(concerns, key=lambda concern: SEVERITY[concern.sort])
    broken = tuple(concern for concern in worst_first if level_of(concern, today, soon) is ConcernLevel.BROKEN)
    ending = tuple(concern for concern in concerns if level_of(concern, today, soon) is ConcernLevel.WARNING)
    sentences = [sentence_of(concern, today) for concern in (*broken, *ending)]
    unread = [*checked.unread] if now - at <= stale_after(every) else ["its health was read too long ago"]
    unread += [sentence for check in checked.checks for sentence in check.unread(now)]
    word = HealthWord.BROKEN if broken else HealthWord.UNKNOWN if unread else HealthWord.WARNING if ending else HealthWord.HEALTHY
    shown = [*sentences[: len(broken)], *unread, *sentences[len(broken) :]]
    more = [f"and {checked.more:,} more concerns"] if checked.more else []
    return ProjectHealth(word, broken, ending, (*shown, *more))


def sentence_of(concern: Concern, today: date) -> str:
    """`acme/saml/okta: its certificate ends on 2026-12-01, in 8 days`."""
    text = concern.sentence_on(today)
    return f"{concern.address}: {text}" if concern.address else text


def shortened(sentences: Iterable[str]) -> tuple[str, ...]:
    """The first sentences, and the number of the others."""
    every = tuple(sentences)
    rest = len(every) - SHOWN_MAX
    return every if rest <= 1 else (*every[:SHOWN_MAX], f"and {rest} more")


def of_document(document: Mapping[str, Any]) -> HealthReading:
    """The health in the document of a run."""
    concerns = sorted(
        (_concern(data) for data in document["concerns"]), key=lambda concern: (concern.until or date.min, SEVERITY[concern.sort])
    )
    kept = tuple(concerns[:CONCERNS_MAX])
    return HealthReading(kept, tuple(document["unread"][:UNREAD_MAX]), len(concerns) - len(kept), checks_of(document.get("checks", ())))


def as_data(checked: HealthReading) -> dict[str, Any]:
    """The JSON form, in the database and in a run's document."""
    return {
        "concerns": [concern_data(concern) for concern in checked.concerns],
        "unread": list(checked.unread),
        "more": checked.more,
        "checks": [_check_data(check) for check in checked.checks],
    }


def _check_data(check: TimedCheck) -> dict[str, Any]:
    result = check.result
    return {
        "name": result.name,
        "at": result.at.isoformat() if result.at is not None else None,
        "requests": result.requests,
        "every": check.every,
        "digest": check.digest,
        "concerns": [concern_data(concern) for concern in result.concerns],
        "unread": list(result.unread[:UNREAD_MAX]),
    }


def checks_of(data: Iterable[Mapping[str, Any]]) -> tuple[TimedCheck, ...]:
    """The checks in such data; concerns of sorts that this version does not know are left out."""
    known = {sort.value for sort in Sort}
    return tuple(
        TimedCheck(
            CheckResult(
                item["name"],
                at=datetime.fromisoformat(item["at"]) if item["at"] is not None else None,
                requests=item["requests"],
                concerns=tuple(_concern(concern) for concern in item["concerns"] if concern["sort"] in known),
                unread=tuple(item["unread"]),
            ),
            item["every"],
            item["digest"],
        )
        for item in data
    )


def of_data(data: Mapping[str, Any]) -> HealthReading:
    known = {sort.value for sort in Sort}
    concerns = tuple(_concern(concern) for concern in data["concerns"] if concern["sort"] in known)
    others = sorted({concern["sort"] for concern in data["concerns"]} - known)
    newer = (f"a newer version of Reconciler found concerns of the sort {', '.join(others)}",) if others else ()
    return HealthReading(concerns, (*data["unread"], *newer), data["more"], checks_of(data.get("checks", ())))


def concern_data(concern: Concern) -> dict[str, Any]:
    until = concern.until.isoformat() if concern.until is not None else None
    return {"sort": concern.sort.value, "address": concern.address, "sentence": concern.sentence, "until": until}


def _concern(data: Mapping[str, Any]) -> Concern:
    until = date.fromisoformat(data["until"]) if data["until"] is not None else None
    return Concern(Sort(data["sort"]), data["address"], data["sentence"], until)
