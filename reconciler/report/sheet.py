r"""The sheet of a report: what people see and in which order, independent of any format.

    Plan    -> plan.plan_sheet        -.
    Outcome -> outcome.outcome_sheet    \            text.sheet_text   spans for a screen
    Drift   -> drift.drift_sheet         >  Sheet ->  markdown, html    a file, a page
    Finding -> findings.findings_sheet  /             annotations       other programs, line by line
    a document -> reading.sheet_of    -'              comment           a part of a pull request's comment

Everything to the left decides, everything to the right prints: a printer may leave entries out for lack of room, and may color, escape and
wrap, but it has no sentence about a plan of its own. All texts of a sheet are unescaped; each printer has its own encoder.

    Sheet
      title, summary, headline           who it is about, and its numbers in one sentence
      entries                            SheetEntry: one address, its position, how urgent it is
        lines                            SheetLine: `  ~ title       Guide -> Guides      (note)`
      notes                              sentences below the entries
      parts, coverage                    numbers for pictures and tables

A sheet as text for a screen: an address and its position on a line, its lines below it, the summary at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from reconciler.model import Source
from reconciler.plan.drift import Share
from reconciler.report.layout import VALUE, ReportPage, Span, Style, environment_header


class Weight(IntEnum):
    """What is shown first, and left out last, where not everything fits."""

    # Deletes, exposes, breaks a URL, violates a rule or failed: a comment never leaves one out without counting it.
    URGENT = 0
    # Cannot be done now, or could not be read.
    HINDERED = 1
    CHANGE = 2
    # True whether or not anything changes, such as unmanaged objects: a comment does not show it.
    BACKGROUND = 3


@dataclass(frozen=True)
class SheetLine:
    """One line of an entry."""

    style: Style
    symbol: str
    name: str
    value: str
    # Shown in parentheses, where a format has room for it.
    note: str = ""
    # Of the cause, for formats that list causes; "" if the line has none.
    id: str = ""
    note_style: Style = Style.DIM


@dataclass(frozen=True)
class SheetEntry:
    """What a report says about one address, or about several that share their lines."""

    title: str
    # The position in the files as people read it, or a remark instead of it.
    where: str
    lines: Sequence[SheetLine]
    weight: Weight = Weight.CHANGE
    # The same position as data, for formats that open the file there; None where `where` is a remark.
    source: Source | None = None
    where_style: Style = Style.DIM
    # Where values begin in a text: after the longest name of a field.
    column: int = VALUE

    @property
    def destructive(self) -> bool:
        """Whether it reports a deletion or another destructive change."""
        return any(line.style is Style.DELETE for line in self.lines)


@dataclass(frozen=True)
class PicturePart:
    """One part of the summary's picture."""

    word: str
    number: int
    style: Style


@dataclass(frozen=True)
class Sheet:
    """A report."""

    # `plan`, `outcome`, `drift` or `findings`; a comment calls the plan of a comparison of files `diff`.
    kind: str
    project: str
    environment: str | None
    # The last line of the report.
    summary: str
    entries: Sequence[SheetEntry]
    notes: Sequence[str] = ()
    parts: Sequence[PicturePart] = ()
    # By kind, of drift; None where not everything was read.
    coverage: Mapping[str, Share] | None = None
    # The numbers of the summary alone, for a printer whose title says already which report it is. It contains only numbers and our own
    # words, and nothing that a document does not carry.
    headline: str = ""
    # Nothing needs attention: a forge hides a comment of such reports.
    quiet: bool = False
    # The columns of the longest address that the report is about. Folded ones count: positions begin in one column with and without --full.
    address_columns: int = field(default=0, compare=False)

    @property
    def title(self) -> str:
        """`Plan for acme-docs (staging)`."""
        return f"{self.kind.capitalize()} for {self.project}" + (f" ({self.environment})" if self.environment else "")


WIDTH: Final = 100  # columns if the width of the reader's screen is unknown
SOURCE_MIN: Final = 41  # positions begin at one of these columns, so that most reports look alike
SOURCE_MAX: Final = 60


def sheet_text(sheet: Sheet, *, width: int = WIDTH) -> tuple[Span, ...]:
    """The report. A narrow screen gets the same words, wrapped."""
    page = ReportPage(width, source=max(SOURCE_MIN, min(sheet.address_columns + 2, SOURCE_MAX, width // 2)))
    for entry in sheet.entries:
        page.head(entry.title, entry.where, entry.where_style)
        for line in entry.lines:
            page.field(line.style, line.symbol, line.name, line.value, line.note, column=entry.column, note_style=line.note_style)
    for note in sheet.notes:
        page.line(note, Style.DIM)
    page.blank()
    if sheet.coverage is not None:
        page.head("Coverage")
        column = max([VALUE, *(len(kind) + 6 for kind in sheet.coverage)])
        for kind, share in sheet.coverage.items():
            page.field(Style.PLAIN, " ", kind, f"{share.managed:,} of {share.seen:,} managed ({share.percent} %)", column=column)
        page.blank()
    page.line(sheet.summary)
    # The outcome follows its plan on the same screen, which named the environment already.
    header = () if sheet.kind == "outcome" else environment_header(sheet.environment)
    return (*header, *page.spans)
