"""The health of an organization for people and as data.

HealthReport -> health_sheet -> text, Markdown, HTML, annotations, JUnit, SARIF
             -> health_document
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, tzinfo
from typing import Final

from reconciler.features.health import documents as types
from reconciler.features.health.model import CheckResult, Concern, ConcernLevel, HealthReport, HealthStatus, Sort, level_of
from reconciler.report.documents import record
from reconciler.report.gathering import FULL, EntryPart, gathered
from reconciler.report.layout import Span, Style
from reconciler.report.sheet import Harm, PicturePart, Sheet, SheetEntry, SheetLine, Weight
from reconciler.report.words import count
from reconciler.text.names import clock_time, utc_text

IDS: Final = {
    Sort.EXPOSURE: "RC-exposed-outside",
    Sort.LINKS: "RC-broken-link",
    Sort.PROCESSING: "RC-not-processed",
    Sort.EXPIRY: "RC-ends-soon",
    Sort.PAYMENT: "RC-payment-required",
    Sort.BEHIND: "RC-behind-its-source",
    Sort.SEARCH: "RC-search-misses",
    Sort.STALE: "RC-stale-pages",
    Sort.REVIEWS: "RC-edits-wait",
    Sort.TOPICS: "RC-readers-ask",
}
UNREAD: Final = "RC-unread"
WORDS: Final = {
    HealthStatus.BROKEN: "Broken",
    HealthStatus.UNKNOWN: "Unknown",
    HealthStatus.WARNING: "Warning",
    HealthStatus.HEALTHY: "Healthy",
}
STYLES: Final = {
    ConcernLevel.BROKEN: Style.BLOCKED,
    ConcernLevel.WARNING: Style.UPDATE,
    ConcernLevel.INFORMATION: Style.DIM,
}
STATUS_STYLES: Final = {
    HealthStatus.BROKEN: Style.DELETE,
    HealthStatus.UNKNOWN: Style.BLOCKED,
    HealthStatus.WARNING: Style.UPDATE,
    HealthStatus.HEALTHY: Style.CREATE,
}
SECTIONS: Final = {0: "Information", 1: "Warnings", 2: "Not known", 3: "Broken"}
SIGNS: Final = {"!": "needs your attention", "?": "not known"}


def health_sheet(report: HealthReport, *, full: bool = False, zone: tzinfo | None = UTC, more: str = FULL) -> Sheet:
    """The whole report. `full`: equal entries are not folded. `zone`: of its times."""
    words = [(check, check.word(report.today)) for check in report.checks]
    entries = gathered([*concern_parts(report), *unknown_parts(report)], SECTIONS, full=full, more=more)
    parts = [
        PicturePart(word.value, number, STATUS_STYLES[word])
        for word in HealthStatus
        if (number := sum(other is word for _, other in words))
    ]
    return Sheet(
        "health",
        report.project,
        report.environment,
        f"Health: {health_headline(report)}",
        [*entries, checks_entry(report, zone)],
        report.notes,
        parts,
        headline=health_headline(report),
        consequences=(Span(STATUS_STYLES[report.word], f"{report.word.capitalize()}."),),
        signs=SIGNS,
        quiet=report.word is HealthStatus.HEALTHY,
    )


def health_headline(report: HealthReport) -> str:
    """`Broken; 2 concerns, 1 warning, 1 unknown. 16 requests beside the reading.`"""
    levels = [level_of(concern, report.today) for check in report.checks for concern in check.concerns]
    unknown = sum(len(check.unread) for check in report.checks)
    found = [
        count(number, word)
        for number, word in (
            (levels.count(ConcernLevel.BROKEN), "concern"),
            (levels.count(ConcernLevel.WARNING), "warning"),
        )
        if number
    ]
    found += [f"{unknown:,} unknown"] if unknown else []
    requests = sum(check.requests for check in report.checks)
    cost = f" {count(requests, 'request')} beside the reading." if requests else ""
    return f"{'; '.join(filter(None, [report.word.capitalize(), ', '.join(found)]))}.{cost}"


def concern_parts(report: HealthReport) -> Iterator[EntryPart]:
    """What is wrong, as parts of entries."""
    for check in report.checks:
        for concern in check.concerns:
            level = level_of(concern, report.today)
            if level is None:
                continue
            symbol = " " if level is ConcernLevel.INFORMATION else "!"
            harm = Harm.EXPOSURE if concern.sort is Sort.EXPOSURE else None
            text = concern.sentence_on(report.today)
            line = SheetLine(STYLES[level], symbol, concern.sort.value, text, id=IDS[concern.sort], harm=harm)
            rank = {ConcernLevel.BROKEN: 3, ConcernLevel.WARNING: 1, ConcernLevel.INFORMATION: 0}[level]
            weight = {3: Weight.URGENT, 1: Weight.HINDERED, 0: Weight.BACKGROUND}[rank]
            yield EntryPart(title=concern.address or check.name, lines=[line], weight=weight, rank=rank)


def unknown_parts(report: HealthReport) -> Iterator[EntryPart]:
    """What is not known, as parts of entries."""
    for check in report.checks:
        lines = [SheetLine(Style.BLOCKED, "?", "unknown", text, id=UNREAD) for text in check.unread]
        if lines:
            yield EntryPart(title=check.name, lines=lines, weight=Weight.HINDERED, rank=2)


def checks_entry(report: HealthReport, zone: tzinfo | None) -> SheetEntry:
    """What was looked at, when, and what it cost; of what was not, what it would."""
    lines = []
    for check in report.checks:
        word = check.word(report.today)
        if word is None:
            lines.append(SheetLine(Style.DIM, " ", check.name, f"off; {check.cost}"))
            continue
        requests = count(check.requests, "request") if check.operations else "no request"
        when = f"; {clock_time(check.at, zone)}" if check.at is not None else ""
        lines.append(SheetLine(Style.DIM, " ", check.name, f"{word}; {requests}{when}"))
    return SheetEntry("Checks", "", lines, Weight.BACKGROUND, section="Checks")


def health_document(report: HealthReport, *, created_at: datetime) -> types.HealthDocument:
    """The document."""
    return {
        "format": "reconciler.health/1",
        "project": report.project,
        "environment": report.environment,
        "createdAt": utc_text(created_at),
        "status": report.word.value,
        "checks": [check_data(check, report.today) for check in report.checks],
        "notes": list(report.notes),
    }


def check_data(check: CheckResult, today: date) -> types.HealthCheckData:
    """A check of a document."""
    word = check.word(today)
    return {
        "name": check.name,
        "status": word.value if word is not None else "off",
        "at": utc_text(check.at) if check.at is not None else None,
        "operations": list(check.operations),
        "cost": check.cost,
        "requests": check.requests,
        "concerns": [_concern(concern, today) for concern in check.concerns],
        "unknown": list(check.unread),
    }


def _concern(concern: Concern, today: date) -> types.HealthConcernData:
    level = level_of(concern, today)
    until = concern.until.isoformat() if concern.until is not None else None
    return record(types.HealthConcernData, concern, level=level.value if level is not None else "later", until=until, id=IDS[concern.sort])
