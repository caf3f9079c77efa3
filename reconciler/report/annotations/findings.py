"""The items of a plan, an outcome or drift that need attention, as findings. Pure.

Errors: what is blocked, refused, failed or in doubt, and assertions that fail. Warnings: what destroys, exposes, breaks a URL, drifts or
could not be read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final

from reconciler.model import Finding, Severity, Source
from reconciler.report.layout import Style
from reconciler.report.sheet import Sheet, SheetEntry, SheetLine

# By style, because that is how a sheet says how bad a line is; drift has levels of its own below.
LEVELS: Final = {Style.BLOCKED: Severity.ERROR, Style.DELETE: Severity.WARNING, Style.DRIFT: Severity.WARNING}
CHANGES: Final = {Style.BLOCKED: "RC-waits", Style.DELETE: "RC-destructive", Style.DRIFT: "RC-drift"}
SAYS: Final = "!"  # the symbol of a line about an exposure, a broken URL or a warning


def of_sheet(sheet: Sheet) -> tuple[Finding, ...]:
    """One finding for each such line, in the order of the report."""
    return tuple(finding for entry in sheet.entries for finding in _entry(sheet, entry))


def _entry(sheet: Sheet, entry: SheetEntry) -> Iterator[Finding]:
    # A line of a report has a whole line of a file as its position.
    source = entry.source._replace(column=0) if entry.source is not None else None
    for line in entry.lines:
        severity = _of_drift(line) if sheet.kind == "drift" else _severity(line)
        if severity is not None:
            value = line.value.removesuffix(f" [{line.id}]")
            text = f"{line.name}: {value}" + (f" ({line.note})" if line.note else "")
            yield Finding(line.id or _cause(sheet, line), severity, text, entry.title, source)


def _of_drift(line: SheetLine) -> Severity | None:
    """The severity of a line of drift: an assertion that fails is an error."""
    if line.style is Style.DIM:
        return None
    return Severity.ERROR if line.style is Style.BLOCKED and line.symbol == SAYS else Severity.WARNING


def _severity(line: SheetLine) -> Severity | None:
    return LEVELS.get(line.style) or (Severity.WARNING if line.symbol.strip() == SAYS else None)


def _cause(sheet: Sheet, line: SheetLine) -> str:
    """The cause of a line that names none: a difference, a delete or a replacement."""
    if sheet.kind == "drift":
        return "RC-drift"
    return "RC-changed-during-run" if line.style is Style.DRIFT and sheet.kind == "outcome" else CHANGES[line.style]


def path_of(source: Source, folder: str) -> str:
    """The path of a file of the project from the root of the repository. `folder`: the project's, "" if it is the root."""
    return f"{folder}/{source.file}" if folder and not source.file.startswith("/") else source.file


def with_fingerprints(findings: Iterable[Finding], folder: str) -> Iterator[tuple[Finding, str]]:
    """Each finding with a text that stays the same when lines above it move; equal ones are numbered."""
    # Without the line: a forge follows a finding over commits by its fingerprint, and lines above it come and go.
    met: Counter[str] = Counter()
    for finding in findings:
        file = path_of(finding.source, folder) if finding.source is not None else ""
        text = "\n".join((finding.name, finding.address, finding.message, file))
        met[text] += 1
        yield finding, sha256(f"{text}\n{met[text]}".encode("utf-8", "surrogatepass")).hexdigest()
