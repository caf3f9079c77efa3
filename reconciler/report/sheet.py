r"""The sheet of a report: what people see and in which order, independent of any format.

    Plan    -> plan.plan_sheet        -.
    Outcome -> outcome.outcome_sheet    \            text.sheet_text   spans for a screen
    Drift   -> drift.drift_sheet         >  Sheet ->  markdown, html    a file, a page
    Finding -> findings.findings_sheet  /             annotations       other programs, line by line
    Review  -> access.access_sheet     /              brief             8 KB, whatever the size of the organization
    Runs    -> history.history_sheet  /               comment           a part of a pull request's comment
    a document -> reading.sheet_of   -'

Everything to the left decides, everything to the right prints: a printer may leave entries out for lack of room, and may color, escape and
wrap, but it has no sentence about a plan of its own. All texts of a sheet are unescaped; each printer has its own encoder.

    Sheet
      title, summary, headline           who it is about, and its numbers in one sentence
      consequences                       sentences about readers, URLs and what is deleted, above the entries
      entries                            SheetEntry: one address, its position, how urgent it is, under which heading it belongs
        lines                            SheetLine: `  ~ title       Guide -> Guides      (note)`
      notes                              sentences below the entries
      legend                             the signs of the lines, with their words
      parts, figures, coverage           numbers for pictures
      tables                             rows of everything that the report looked at

A sheet as text for a screen: the consequences, an address and its position on a line, its lines below it, the summary at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Final

from reconciler.model import Source
from reconciler.report.layout import VALUE, ReportPage, Span, Style, cells, environment_header, table


class Weight(IntEnum):
    """What is shown first, and left out last, where not everything fits."""

    # Deletes, exposes, breaks a URL, violates a rule or failed: a comment never leaves one out without counting it.
    URGENT = 0
    # Cannot be done now, or could not be read.
    HINDERED = 1
    CHANGE = 2
    # True whether or not anything changes, such as unmanaged objects: a comment does not show it.
    BACKGROUND = 3


class Harm(StrEnum):
    """What a line is about that nobody may miss, however short the report is. Whoever composes the line decides it, not who prints it."""

    DELETION = "deletion"
    EXPOSURE = "exposure"
    DEAD_URL = "URL that stops working"


@dataclass(frozen=True)
class Share:
    """Of the objects of a kind that were seen, how many are managed."""

    managed: int
    seen: int

    @property
    def percent(self) -> int:
        """From 0 to 100, never rounded up."""
        return 100 * self.managed // self.seen if self.seen else 100

    @property
    def ratio(self) -> float:
        """From 0 to 1, two digits, never rounded up."""
        return self.percent / 100


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
    # Its position as data, where that is not the position of its entry.
    source: Source | None = None
    harm: Harm | None = None


@dataclass(frozen=True)
class SheetEntry:
    """What a report says about one address, or about several that share their lines."""

    # "" of lines that belong together and need no heading.
    title: str
    # The position in the files as people read it, or a remark instead of it.
    where: str
    lines: Sequence[SheetLine]
    weight: Weight = Weight.CHANGE
    # The same position as data, for formats that open the file there; None where `where` is a remark.
    source: Source | None = None
    where_style: Style = Style.DIM
    # The heading that it belongs under in a report with headings; "" where it needs none.
    section: str = ""

    @property
    def harms(self) -> tuple[Harm, ...]:
        """What its lines are about that nobody may miss, the worst first; () for an ordinary entry."""
        return tuple(harm for harm in Harm if any(line.harm is harm for line in self.lines))

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
class FigureRow:
    """A row of a tree. `depth`: from 0. `number`: None where it is not known."""

    depth: int
    name: str
    number: int | None
    note: str = ""


@dataclass(frozen=True)
class NumberTree:
    """A picture of parts inside each other, each with a number. `noun`: what is counted."""

    title: str
    noun: str
    rows: Sequence[FigureRow]


@dataclass(frozen=True)
class Trend:
    """A picture of a number over time, the same until the next point. `points`: at least one, the oldest first. `end`: now."""

    title: str
    noun: str
    points: Sequence[tuple[datetime, int]]
    end: datetime


Figure = NumberTree | Trend


@dataclass(frozen=True)
class TableCell:
    """A text of a cell, which may have several. `notes`: below it, where a format has room for them. `depth`: how far it is indented."""

    text: str
    style: Style = Style.PLAIN
    notes: Sequence[str] = ()
    depth: int = 0


@dataclass(frozen=True)
class TableGroup:
    """Rows that belong together. `title`: what they have in common."""

    title: str
    rows: Sequence[Sequence[Sequence[TableCell]]]


@dataclass(frozen=True)
class SheetTable:
    """Rows in columns. `matrix`: many short columns after two that name the row, for formats with room for them."""

    title: str
    columns: Sequence[str]
    groups: Sequence[TableGroup]
    matrix: bool = False


@dataclass(frozen=True)
class Sheet:
    """A report."""

    # `plan`, `outcome`, `drift` or `findings`; a comment calls the plan of a comparison of files `diff`.
    kind: str
    # "" of a report that has no title.
    project: str
    environment: str | None
    # The last line of the report; "" where its rows say everything.
    summary: str
    entries: Sequence[SheetEntry] = ()
    notes: Sequence[str] = ()
    parts: Sequence[PicturePart] = ()
    # By kind, of drift; None where not everything was read.
    coverage: Mapping[str, Share] | None = None
    # The numbers of the summary alone, for a printer whose title says already which report it is. It contains only numbers and our own
    # words, and nothing that a document does not carry.
    headline: str = ""
    # What it means for readers, a sentence each, above everything else.
    consequences: Sequence[Span] = ()
    # The words of its signs; what a sign means depends on the report.
    signs: Mapping[str, str] = field(default_factory=dict)
    # Nothing needs attention: a forge hides a comment of such reports.
    quiet: bool = False
    # The columns of the longest address that the report is about. Folded ones count: positions begin in one column with and without --full.
    address_columns: int = field(default=0, compare=False)
    # For formats that can show pictures; the entries say the same.
    figures: Sequence[Figure] = ()
    # For formats with room for rows. They show these instead of the entries that are background, which say the same.
    tables: Sequence[SheetTable] = ()
    # The order of the entries: the most serious ones first; otherwise last, where a terminal is read.
    worst_first: bool = False

    @property
    def title(self) -> str:
        """`Plan for acme-docs (staging)`."""
        return f"{self.kind.capitalize()} for {self.project}" + (f" ({self.environment})" if self.environment else "")

    @property
    def beside_tables(self) -> Sequence[SheetEntry]:
        """The entries of a format that shows the tables."""
        return [entry for entry in self.entries if not (self.tables and entry.weight is Weight.BACKGROUND)]

    @property
    def legend(self) -> tuple[tuple[str, str], ...]:
        """The signs of its lines and their words, in the order of the words of all signs; () for a single one, which its lines explain."""
        used = {line.symbol for entry in self.entries for line in entry.lines}
        signs = tuple((sign, word) for sign, word in self.signs.items() if sign in used)
        return signs if len(signs) > 1 else ()


WIDTH: Final = 100  # columns if the width of the reader's screen is unknown
SOURCE_MIN: Final = 41  # positions begin at one of these columns, so that most reports look alike
SOURCE_MAX: Final = 60
VALUE_MAX: Final = 24  # values begin in this column at the latest; a longer name pushes only its own value
SHORT: Final = 4  # entries; a report with fewer is read as a whole, so that a screen explains neither its signs nor that it is harmless


def sheet_text(sheet: Sheet, *, width: int = WIDTH) -> tuple[Span, ...]:
    """The report. A narrow screen gets the same words, wrapped."""
    page = ReportPage(width, source=max(SOURCE_MIN, min(sheet.address_columns + 2, SOURCE_MAX, width // 2)))
    entries = sheet.beside_tables
    is_short = len(entries) < SHORT
    for sentence in sheet.consequences:
        # That nothing serious happens is visible in a short report.
        if not (is_short and sentence.style is Style.DIM):
            page.line(sentence.text, sentence.style)
    for shown in (shown for shown in sheet.tables if not shown.matrix):
        page.blank()
        page.add(Style.PLAIN, _rows(shown, page.width))
    if entries:
        page.blank()
    column = _column(line for entry in entries for line in entry.lines)
    for entry in entries:
        if entry.title:
            page.head(entry.title, entry.where, entry.where_style)
        for line in entry.lines:
            page.field(line.style, line.symbol, line.name, line.value, line.note, column=column, note_style=line.note_style)
    for note in sheet.notes:
        page.line(note, Style.DIM)
    if sheet.summary:
        page.blank()
    if sheet.legend and not is_short:
        page.line("Signs: " + "   ".join(f"{sign} {word}" for sign, word in sheet.legend), Style.DIM)
        page.blank()
    if sheet.coverage is not None:
        page.head("Coverage")
        wide = max([VALUE, *(len(kind) + 6 for kind in sheet.coverage)])
        for kind, share in sheet.coverage.items():
            page.field(Style.PLAIN, " ", kind, f"{share.managed:,} of {share.seen:,} managed ({share.percent} %)", column=wide)
        page.blank()
    if sheet.summary:
        page.line(sheet.summary)
    # The outcome follows its plan on the same screen, which named the environment already.
    header = () if sheet.kind == "outcome" else environment_header(sheet.environment)
    return (*header, *page.spans)


def _rows(shown: SheetTable, width: int) -> str:
    """A table as text, with an empty line between its groups."""
    rows: list[Sequence[str]] = [shown.columns]
    for number, group in enumerate(shown.groups):
        rows += [("",) * len(shown.columns)] if number else []
        for (first, *_), *others in group.rows:
            rows.append(["  " * first.depth + first.text, *(", ".join(cell.text for cell in texts) for texts in others)])
    return table(rows, width=width)


def _column(lines: Iterable[SheetLine]) -> int:
    """Where the values of all lines begin: after the longest name that leaves them room; beside their signs if none has a name."""
    ends = [cells(f"  {line.symbol} {line.name}") + 2 for line in lines if line.value and line.name]
    return max([VALUE, *(end for end in ends if end <= VALUE_MAX)]) if ends else 0
