"""The items of a plan, an outcome or drift that need attention, as findings. Pure.

Errors: what is blocked, refused, failed or in doubt, and assertions that fail. Warnings: what destroys, exposes, breaks a URL, drifts or
could not be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from reconciler.model import Finding, Severity, Source
from reconciler.report.entries import ReportEntry, ReportLine, Sheet
from reconciler.report.layout import Style

LEVELS: Final = {Style.BLOCKED: Severity.ERROR, Style.DELETE: Severity.WARNING, Style.DRIFT: Severity.WARNING}
CHANGES: Final = {Style.BLOCKED: "RC-waits", Style.DELETE: "RC-destructive", Style.DRIFT: "RC-drift"}
SAYS: Final = "!"  # the symbol of a line about an exposure, a broken URL or a warning


def of_sheet(sheet: Sheet) -> tuple[Finding, ...]:
    """One finding for each such line, in the order of the report."""
    return tuple(finding for entry in sheet.entries for finding in _entry(sheet, entry))


def source_of(entry: ReportEntry) -> Source | None:
    """The position of the declaration of an entry's resource; None if it has none."""
    file, _, line = entry.where.rpartition(":")
    return Source(file, int(line), 0) if file and line.isascii() and line.isdecimal() else None


def _entry(sheet: Sheet, entry: ReportEntry) -> Iterator[Finding]:
    for line in entry.lines:
        severity = _of_drift(line) if sheet.kind == "drift" else _severity(line)
        if severity is not None:
            value = line.value.removesuffix(f" [{line.id}]")
            text = f"{line.name}: {value}" + (f" ({line.note})" if line.note else "")
            yield Finding(line.id or _cause(sheet, line), severity, text, entry.title, source_of(entry))


def _of_drift(line: ReportLine) -> Severity | None:
    """The severity of a line of drift: an assertion that fails is an error."""
    if line.style is Style.DIM:
        return None
    return Severity.ERROR if line.style is Style.BLOCKED and line.symbol == SAYS else Severity.WARNING


def _severity(line: ReportLine) -> Severity | None:
    return LEVELS.get(line.style) or (Severity.WARNING if line.symbol.strip() == SAYS else None)


def _cause(sheet: Sheet, line: ReportLine) -> str:
    """The cause of a line that names none: a difference, a delete or a replacement."""
    if sheet.kind == "drift":
        return "RC-drift"
    return "RC-changed-during-run" if line.style is Style.DRIFT and sheet.kind == "outcome" else CHANGES[line.style]
