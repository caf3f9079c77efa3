"""Drift as people read it: objects changed or deleted outside Reconciler, unmanaged objects, and a summary."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, tzinfo
from typing import Final

from reconciler.address import Address
from reconciler.model import Cause, Delta, Position, Unmanaged
from reconciler.plan.drift import Drift, Drifted, DriftWord
from reconciler.plan.matching.earlier_runs import left_over
from reconciler.report import warnings
from reconciler.report.layout import VALUE, ReportPage, Span, Style, environment_header
from reconciler.report.text import FOLD, WIDTH
from reconciler.report.values import HIDDEN, difference_lines, shown
from reconciler.report.words import count, id_and_title, listed
from reconciler.text.times import clock_time, minute

SYMBOLS: Final = {DriftWord.CHANGED: "~", DriftWord.MOVED: ">", DriftWord.DELETED: "-"}
STYLES: Final = {DriftWord.CHANGED: Style.UPDATE, DriftWord.MOVED: Style.MOVE, DriftWord.DELETED: Style.DELETE}
NAMED: Final = 5
COVERAGE: Final = "Coverage"


def drift_text(drift: Drift, *, width: int = WIDTH, full: bool = False, zone: tzinfo | None = UTC) -> tuple[Span, ...]:
    """The whole report. `full`: all unmanaged objects are listed."""
    page = ReportPage(width)
    write(page, drift, full=full, zone=zone)
    return (*environment_header(drift.environment), *page.spans)


def write(page: ReportPage, drift: Drift, *, full: bool, zone: tzinfo | None = UTC) -> None:
    """Write the report to a page of any kind."""
    for resource, within in gathered(drift.resources):
        _write(page, resource, within, full, zone)
    warnings.exposures(page, drift.exposures, full=full, consent=warnings.ACCEPTING)
    warnings.violations(page, drift.violations, full=full, remedies=True)
    for unread in (*drift.unread, *drift.undecided):
        page.head(str(unread.address))
        page.field(Style.BLOCKED, "?", "unknown", f"{unread.reason}; not reported as drift")
        page.cause("RC-unread")
    for unknown in drift.unknown:
        page.head(unknown.what)
        page.field(Style.BLOCKED, "?", "unknown", f"{unknown.reason}; not reported as drift")
        page.cause("RC-unread")
    if drift.unjudged:
        page.head(f"{count(len(drift.unjudged), 'resource')} not tracked")
        names = listed([str(address) for address in drift.unjudged], len(drift.unjudged) if full else NAMED)
        page.field(Style.BLOCKED, "?", "unknown", f"{names}; not judged")
        page.cause("RC-not-judged")
    if drift.unmanaged:
        _unmanaged(page, drift.unmanaged, full)
    for note in drift.notes:
        page.line(note, Style.DIM)
    page.blank()
    if drift.whole:
        _coverage(page, drift)
    page.line(summary(drift))


def gathered(resources: Sequence[Drifted]) -> Iterator[tuple[Drifted, list[Address]]]:
    """Each object with the addresses deleted with it: an object whose container was deleted too has no entry of its own."""
    gone = {resource.address for resource in resources if resource.status is DriftWord.DELETED}
    within: dict[Address, list[Address]] = defaultdict(list)
    for address in gone:
        at = address
        while at.container is not None and at.container in gone:
            at = at.container
        if at != address:
            within[at].append(address)
    for resource in resources:
        if resource.status is not DriftWord.DELETED or resource.address.container not in gone:
            yield resource, sorted(within[resource.address])


def _write(page: ReportPage, resource: Drifted, within: Sequence[Address], full: bool, zone: tzinfo | None) -> None:
    page.head(str(resource.address), resource.source.file_and_line if resource.source is not None else "")
    column = max([VALUE, *(len(delta.name) + 6 for delta in resource.fields)])
    style, symbol = STYLES[resource.status], SYMBOLS[resource.status]
    if resource.status is DriftWord.DELETED:
        page.field(style, symbol, "deleted", deleted(resource, zone), column=column)
        if within:
            page.field(
                style, symbol, "with it", listed([str(address) for address in within], len(within) if full else NAMED), column=column
            )
    for delta in resource.fields:
        moves = delta.container
        style, symbol = (Style.MOVE, ">") if moves else (Style.UPDATE, "~")
        for number, (name, value) in enumerate(values(delta)):
            page.field(style, symbol, name, value, remark(delta) if number == 0 else "", column=column, mark=Style.DRIFT)
    if resource.place is not None:
        page.field(Style.MOVE, ">", "position", f"{where(resource.place[0])} -> {where(resource.place[1])}", column=column)


def deleted(resource: Drifted, zone: tzinfo | None = UTC) -> str:
    """`outside Reconciler, 2026-11-18 15:02:11 CET; it can be restored for 4 days (until 22 Nov 2026, 15:02 CET)`."""
    if resource.deleted_at is None:
        return "outside Reconciler"
    again = f"it can be restored for {left_over(resource.left)}" if resource.left else "it can no longer be restored"
    if resource.left and resource.until is not None:
        again += f" (until {minute(resource.until, zone)})"
    return f"outside Reconciler, {clock_time(resource.deleted_at, zone)}; {again}"


def values(delta: Delta) -> list[tuple[str, str]]:
    """The field, or each path in it, with `last applied -> now`."""
    return [(delta.name, HIDDEN)] if delta.sensitive else difference_lines(delta.name, delta.last, delta.before)


def remark(delta: Delta) -> str:
    """A note on a field besides its values; often empty."""
    remarks = []
    if delta.cause is Cause.BOTH:
        remarks.append("the YAML changed too" if delta.sensitive else f"the YAML changed too: {shown(delta.after)}")
    if delta.note is not None:
        remarks.append(delta.note)
    return "; ".join(remarks)


def where(spot: Position) -> str:
    """`first`, or `after acme/space/guides`."""
    return "first" if spot.previous is None else f"after {spot.previous}"


def _unmanaged(page: ReportPage, unmanaged: Sequence[Unmanaged], full: bool) -> None:
    page.head(f"{count(len(unmanaged), 'object')} unmanaged")
    for kind, number in Counter(item.kind for item in unmanaged).items():
        names = [id_and_title(item.id, item.title) for item in unmanaged if item.kind == kind]
        more = "" if full or number <= FOLD else "; --full shows each"
        page.field(Style.DIM, " ", kind, listed(names, number if full or number <= FOLD else NAMED) + more)


def _coverage(page: ReportPage, drift: Drift) -> None:
    page.head(COVERAGE)
    column = max([VALUE, *(len(kind) + 6 for kind in drift.coverage)])
    for kind, share in drift.coverage.items():
        page.field(Style.PLAIN, " ", kind, f"{share.managed:,} of {share.seen:,} managed ({share.percent} %)", column=column)
    page.blank()


def summary(drift: Drift) -> str:
    """`Drift: 2 changed, 1 deleted; 14 objects unmanaged. 40 objects managed.`"""
    counts = ", ".join(f"{number:,} {status}" for status in DriftWord if (number := drift.count(status)))
    unknown = len(drift.unknown) + len(drift.unread)
    rest = [
        f"{count(len(drift.exposures), 'exposure')}" if drift.exposures else "",
        f"{count(len(drift.violations), 'assertion')} not met" if drift.violations else "",
        f"{count(len(drift.undecided), 'assertion')} not checked" if drift.undecided else "",
        f"{count(len(drift.unjudged), 'resource')} cannot be judged" if drift.unjudged else "",
        f"{count(len(drift.unmanaged), 'object')} unmanaged" if drift.unmanaged else "",
        f"{len(drift.ignored):,} known and ignored" if drift.ignored else "",
        f"{count(drift.left_alone_count, 'difference')} ignored" if drift.left_alone else "",
        f"{count(unknown, 'reading')} failed" if unknown else "",
    ]
    line = "; ".join(filter(None, [f"Drift: {counts}" if counts else "Drift is unknown" if drift.blind else "No drift", *rest]))
    return f"{line}. {count(drift.managed, 'object')} managed."
