"""A sheet as text for a screen: an address and its position on a line, its lines below it, the summary at the end."""

from __future__ import annotations

from typing import Final

from reconciler.report.layout import VALUE, ReportPage, Span, Style, environment_header
from reconciler.report.sheet import Sheet

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
