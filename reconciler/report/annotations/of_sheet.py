"""What a plan, an outcome or drift asks people to look at, as findings. Pure.

Errors: what is blocked, refused, failed or in doubt. Warnings: what destroys, exposes, breaks an address, drifts or could not be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from reconciler.model import Finding, Severity, Source
from reconciler.report.entries import Entry, Line, Sheet
from reconciler.report.layout import Style

LEVELS: Final = {Style.BLOCKED: Severity.ERROR, Style.DELETE: Severity.WARNING, Style.DRIFT: Severity.WARNING}
SAYS: Final = "!"  # the symbol of a line that tells of an exposure, a broken address or a warning
DESTROYS: Final = "destroys"
DRIFTS: Final = "changed"


def of_sheet(sheet: Sheet) -> tuple[Finding, ...]:
    """One finding for each such line, in the order of the report."""
    return tuple(finding for entry in sheet.entries for finding in _entry(sheet, entry))


def source_of(entry: Entry) -> Source | None:
    """Where the resource of an entry is declared; None where no line says it."""
    file, _, line = entry.where.rpartition(":")
    return Source(file, int(line), 0) if file and line.isascii() and line.isdecimal() else None


def _entry(sheet: Sheet, entry: Entry) -> Iterator[Finding]:
    for line in entry.lines:
        severity = Severity.WARNING if sheet.kind == "drift" and line.style is not Style.DIM else _severity(line)
        if severity is not None:
            text = f"{line.name}: {line.value}" + (f" ({line.note})" if line.note else "")
            yield Finding(f"{sheet.kind}/{_word(sheet, line)}", severity, text, entry.title, source_of(entry))


def _severity(line: Line) -> Severity | None:
    return LEVELS.get(line.style) or (Severity.WARNING if line.symbol.strip() == SAYS else None)


def _word(sheet: Sheet, line: Line) -> str:
    """What sort of finding it is: a word of the report, never the name of a field."""
    if line.symbol.strip() in (SAYS, "?"):
        return line.name.strip().replace(" ", "-")
    return DRIFTS if sheet.kind == "drift" else DESTROYS
