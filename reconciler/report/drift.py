"""The sheet of drift: objects changed or deleted outside Reconciler, unmanaged objects, and a summary."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, tzinfo
from typing import Final

from reconciler.address import Address
from reconciler.model import Cause, Delta, Unmanaged
from reconciler.model.drift import Drift, Drifted, DriftWord
from reconciler.plan.matching.missing import left_over
from reconciler.report.consequences import gained
from reconciler.report.gathering import FOLD, EntryPart, gathered
from reconciler.report.layout import Style
from reconciler.report.plan import SECTIONS as PLAN_SECTIONS, Rank, exposure_parts, violation_parts
from reconciler.report.sheet import Harm, PicturePart, Sheet, SheetEntry, SheetLine, Weight
from reconciler.report.words import HIDDEN, count, difference_lines, id_and_title, listed, shown
from reconciler.text.names import clock_time, minute

SYMBOLS: Final = {DriftWord.CHANGED: "~", DriftWord.MOVED: ">", DriftWord.DELETED: "-"}
STYLES: Final = {DriftWord.CHANGED: Style.UPDATE, DriftWord.MOVED: Style.MOVE, DriftWord.DELETED: Style.DELETE}
NAMED: Final = 5
ACCEPTING: Final = "apply restores what is exposed; accepting it requires --allow-exposure ADDRESS"
SECTIONS: Final = {
    **PLAN_SECTIONS,
    Rank.CHANGE: "Changed outside Reconciler",
    Rank.HELD: "Not known",
    Rank.VIOLATION: "Assertions that are not met",
    Rank.DELETE: "Deleted outside Reconciler",
}
SIGNS: Final = {"~": "changed", ">": "moved", "-": "deleted", "!": "needs your attention", "?": "not known"}


def drift_sheet(drift: Drift, *, full: bool = False, zone: tzinfo | None = UTC) -> Sheet:
    """The whole report. `full`: all unmanaged objects are listed. `zone`: of its times."""
    found = [
        *(_drifted(resource, within, full, zone) for resource, within in _outermost(drift.resources)),
        *exposure_parts(drift.exposures),
        *violation_parts(drift.violations, remedies=True),
        *_unknown(drift, full),
    ]
    entries = [*gathered(found, SECTIONS, full=full), *_unmanaged(drift.unmanaged, full)]
    parts = [PicturePart(status.value, number, STYLES[status]) for status in DriftWord if (number := drift.count(status))]
    parts += [PicturePart("exposures", len(drift.exposures), Style.DELETE)] if drift.exposures else []
    parts += [PicturePart("assertions not met", len(drift.violations), Style.BLOCKED)] if drift.violations else []
    parts += [PicturePart("unmanaged", len(drift.unmanaged), Style.DIM)] if drift.unmanaged else []
    unchanged = drift.managed - len(drift.resources)
    # One green bar alone would say less than the sentence above it.
    parts += [PicturePart("as applied", unchanged, Style.CREATE)] if parts and unchanged > 0 else []
    return Sheet(
        "drift",
        drift.project,
        drift.environment,
        summary(drift),
        entries,
        (*drift.notes, ACCEPTING) if drift.exposures else drift.notes,
        parts,
        drift.coverage if drift.whole else None,
        headline=summary(drift).removeprefix("Drift: "),
        consequences=gained(drift.exposures),
        signs=SIGNS,
        quiet=all(entry.weight is Weight.BACKGROUND for entry in entries),
    )


def _unknown(drift: Drift, full: bool) -> Iterator[EntryPart]:
    for title, reason in [
        *((str(unread.address), unread.reason) for unread in (*drift.unread, *drift.undecided)),
        *((unread.what, unread.reason) for unread in drift.unknown),
    ]:
        line = SheetLine(Style.BLOCKED, "?", "unknown", f"{reason}; not reported as drift", id="RC-unread")
        yield EntryPart(title=title, lines=[line], weight=Weight.HINDERED, rank=Rank.HELD)
    if drift.unjudged:
        names = listed([str(address) for address in drift.unjudged], len(drift.unjudged) if full else NAMED)
        line = SheetLine(Style.BLOCKED, "?", "unknown", f"{names}; not judged", id="RC-not-judged")
        title = f"{count(len(drift.unjudged), 'resource')} not tracked"
        yield EntryPart(title=title, lines=[line], weight=Weight.HINDERED, rank=Rank.HELD)


def _outermost(resources: Sequence[Drifted]) -> Iterator[tuple[Drifted, list[Address]]]:
    """Each object with the addresses deleted with it: an object whose container was deleted too has no entry of its own."""
    deleted = {resource.address for resource in resources if resource.status is DriftWord.DELETED}
    within: dict[Address, list[Address]] = defaultdict(list)
    for address in deleted:
        at = address
        while at.container is not None and at.container in deleted:
            at = at.container
        if at != address:
            within[at].append(address)
    # The outermost deleted container names all that it took with it.
    for resource in resources:
        if resource.status is not DriftWord.DELETED or resource.address.container not in deleted:
            yield resource, sorted(within[resource.address])


def _drifted(resource: Drifted, within: Sequence[Address], full: bool, zone: tzinfo | None) -> EntryPart:
    lines = []
    style, symbol = STYLES[resource.status], SYMBOLS[resource.status]
    deletion = resource.status is DriftWord.DELETED
    if deletion:
        lines.append(SheetLine(style, symbol, "deleted", _deleted(resource, zone), harm=Harm.DELETION))
        if within:
            names = listed([str(address) for address in within], len(within) if full else NAMED)
            lines.append(SheetLine(style, symbol, "with it", names))
    for delta in resource.fields:
        style, symbol = (Style.MOVE, ">") if delta.container else (Style.UPDATE, "~")
        pairs = [(delta.name, HIDDEN)] if delta.sensitive else difference_lines(delta.name, delta.last, delta.before)
        for number, (name, value) in enumerate(pairs):
            note = _remark(delta) if number == 0 else ""
            lines.append(SheetLine(style, symbol, name, value, note, note_style=Style.DRIFT))
    if resource.place is not None:
        then, now = (f"after {spot.previous}" if spot.previous is not None else "first" for spot in resource.place)
        lines.append(SheetLine(Style.MOVE, ">", "position", f"{then} -> {now}"))
    return EntryPart(
        title=str(resource.address),
        lines=lines,
        weight=Weight.URGENT if deletion else Weight.CHANGE,
        rank=Rank.DELETE if deletion else Rank.CHANGE,
        source=resource.source,
    )


def _deleted(resource: Drifted, zone: tzinfo | None) -> str:
    """`outside Reconciler, 2026-11-18 15:02:11 CET; it can be restored for 4 days (until 22 Nov 2026, 15:02 CET)`."""
    # The service shows deleted objects of some kinds only.
    if resource.deleted_at is None:
        return "outside Reconciler"
    again = f"it can be restored for {left_over(resource.left)}" if resource.left else "it can no longer be restored"
    if resource.left and resource.until is not None:
        again += f" (until {minute(resource.until, zone)})"
    return f"outside Reconciler, {clock_time(resource.deleted_at, zone)}; {again}"


def _remark(delta: Delta) -> str:
    """A note on a field besides its values; often empty."""
    remarks = []
    if delta.cause is Cause.BOTH:
        remarks.append("the YAML changed too" if delta.sensitive else f"the YAML changed too: {shown(delta.after)}")
    if delta.note is not None:
        remarks.append(delta.note)
    return "; ".join(remarks)


def _unmanaged(unmanaged: Sequence[Unmanaged], full: bool) -> list[SheetEntry]:
    lines = []
    for kind, number in Counter(item.kind for item in unmanaged).items():
        names = [id_and_title(item.id, item.title) for item in unmanaged if item.kind == kind]
        more = "" if full or number <= FOLD else "; --full shows each"
        lines.append(SheetLine(Style.DIM, " ", kind, listed(names, number if full or number <= FOLD else NAMED) + more))
    return [SheetEntry(f"{count(len(unmanaged), 'object')} unmanaged", "", lines, Weight.BACKGROUND, section="Unmanaged")] if lines else []


def summary(drift: Drift) -> str:
    """`Drift: 2 changed, 1 deleted; 14 objects unmanaged. 40 objects managed.`"""
    # "Drift is unknown" where nothing could be read: "No drift" would be a claim.
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
