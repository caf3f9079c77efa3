"""The access review as people and programs read it: a sheet with a table of every object, and a JSON document. Pure.

acme/site/docs                 anyone             what contains it is above it, one level less indented: first whatever has addresses
  acme/site/docs/section/api   anyone             below it (a site), each with everything in it, then the rest (collections and spaces)
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from reconciler.address import Address
from reconciler.features.access.documents import AccessDocument, ReaderData, ReviewedData
from reconciler.features.access.matrix import matrices
from reconciler.features.access.review import ReaderLine, Review, ReviewRow
from reconciler.model import Severity
from reconciler.report.documents import record, unknown_data, violation_data
from reconciler.report.gathering import FULL, EntryPart, gathered
from reconciler.report.layout import Style
from reconciler.report.plan import violation_parts
from reconciler.report.sheet import Harm, Sheet, SheetEntry, SheetLine, SheetTable, TableCell, TableGroup, Weight
from reconciler.report.words import RULES, count
from reconciler.resource.risks import ANYONE, LINK_HOLDERS, MEMBERS, VISITORS
from reconciler.text.names import utc_text

# An empty cell could also mean that nobody looked.
ADMINS: Final = "admins only"
NONE: Final = "none of them"  # of the readers of --as
FEW: Final = 3  # admins that are named
REMARK: Final = "Admins can read everything."
UNREAD: Final = (
    "So may whoever was given access one by one: that was not read of {}. reconciler access --who ADDRESS reads it, and so does "
    "service.readPeople."
)
GUARDED: Final = "Pages with conditions of their own may be hidden from readers of what contains them."
CERTAIN: Final = "No is only said where it is certain. Perhaps: it could not be read, or cannot be decided."
TOO_LARGE: Final = "The page has no matrix of so many objects and readers. reconciler access --format csv has a row for each."
NOTHING: Final = "does not exist"
SAME: Final = "the same"
READ: Final = "read"
SECTIONS: Final = {2: "Violations and warnings", 1: "Changed by the plan"}
LINK: Final = "\0"  # in no address


# Who looks at a review wants to see first what everybody can read.
RANKS: Final = (ANYONE, VISITORS, "claims", LINK_HOLDERS, "link", "agent", MEMBERS, "role")  # widest readers first
STYLES: Final = {
    **dict.fromkeys((ADMINS, NONE, NOTHING), Style.DIM),
    **dict.fromkeys(("signed-in", "whoever", "agent", "claims", "link"), Style.UPDATE),
    ANYONE: Style.DELETE,
}


def access_sheet(review: Review, *, full: bool = False, more: str = FULL) -> Sheet:
    """The review as entries: violations, objects whose readers the plan changes, then objects with the same readers; and as a table of all
    objects. `full`: each entry alone."""
    entries = gathered([*_violated(review), *_readable(review)], SECTIONS, full=full, more=more)
    nothing = SheetLine(Style.DIM, " ", "", "Nothing that has readers was found.")
    unread = tuple(f"{item.what}: not read, {item.reason}" for item in review.unknown)
    unasked = f" {UNREAD.format(count(review.unasked, 'person', 'people'))}" if review.unasked else ""
    remark: tuple[str, ...] = () if review.readers or review.about or not review.rows else (REMARK + unasked,)
    remark += (GUARDED,) if review.guarded and review.rows else ()
    tables = [_people(review)] if review.about else [_table(review), _counts(review)] if review.rows else []
    if review.examples:
        matrix = [*matrices(review, branches(review.rows))]
        tables += reversed(matrix)
        remark += (CERTAIN if matrix else TOO_LARGE,)
    asked = (f"Asked for: {', '.join(review.readers)}.",) if review.readers else ()
    return Sheet(
        "access",
        review.project,
        review.environment,
        summary(review),
        entries or [SheetEntry(review.project, "", [nothing])],
        (*asked, *unread, *remark),
        tables=tables,
    )


def _violated(review: Review) -> Iterator[EntryPart]:
    for item, part in zip(review.violations, violation_parts(review.violations, remedies=False), strict=True):
        # What somebody must not see, and does.
        harm = Harm.EXPOSURE if item.level is Severity.ERROR else None
        first, *others = part.lines
        title = part.title if item.address is not None else item.name
        yield replace(part, title=title, lines=[replace(first, harm=harm), *others], weight=Weight.URGENT, rank=2, likeness=None)


def _readable(review: Review) -> Iterator[EntryPart]:
    for row in review.rows:
        title = " ".join(filter(None, [str(row.address), _remark(row)]))
        now, then = names(row.before, row, review), names(row.after, row, review)
        if not row.changed:
            line = SheetLine(Style.PLAIN, " ", "readers", now)
            yield EntryPart(title=title, lines=[line], weight=Weight.BACKGROUND, kind=row.kind, likeness=(row.kind, now, row.managed))
            continue
        known = {(line.reader, line.may) for line in row.before or ()}
        gains = row.before is not None and any((line.reader, line.may) not in known for line in row.after or ())
        style, harm = (Style.DELETE, Harm.EXPOSURE) if gains else (Style.UPDATE, None)
        line = SheetLine(style, "~", "readers", f"{now} -> {then}", harm=harm)
        yield EntryPart(title=title, lines=[line], rank=1, kind=row.kind, likeness=(row.kind, now, then, row.managed))


def names(lines: Sequence[ReaderLine] | None, row: ReviewRow, review: Review) -> str:
    """`anyone, members (edit)`; holders of several links are one reader."""
    return ", ".join(cell.text for cell in _cells(lines, row, review))


def _cells(lines: Sequence[ReaderLine] | None, row: ReviewRow, review: Review) -> list[TableCell]:
    """Each reader, and how they reach it; what a review says of an object without readers."""
    alike: dict[tuple[str, str, str], list[ReaderLine]] = {}
    for line in lines or ():
        form = line.reader if line.via is None else line.reader.replace(str(line.via), LINK)
        alike.setdefault((form, line.may, line.doubt), []).append(line)
    cells = []
    for (form, may, doubt), same in alike.items():
        links = " or ".join(sorted(link_name(line.via, row) for line in same if line.via is not None))
        paths = dict.fromkeys(f"by {' -> '.join(line.path)}" for line in same if len(line.path) > 1)
        reason = f", {same[0].reason}" if same[0].reason else ""
        cells.append(TableCell(reader_text(form.replace(LINK, links), may, doubt) + reason, _style(form), tuple(paths)))
    return cells or [_said(NOTHING if lines is None else nobody(review))]


def _said(word: str) -> TableCell:
    return TableCell(word, Style.DIM)


def _style(reader: str) -> Style:
    return next((style for word, style in STYLES.items() if reader.startswith(word)), Style.CREATE)


def nobody(review: Review) -> str:
    """What a review says of an object without readers."""
    named = f": {', '.join(review.admins)}" if 0 < len(review.admins) <= FEW else ""
    return NONE if review.readers else f"{ADMINS}{named}"


def link_name(via: Address, row: ReviewRow) -> str:
    """The key of a link; elsewhere than in what it opens, after the key of that: `resellers`, `partners/resellers`."""
    inside = via.container is not None and via.container in (row.address, *row.address.containers)
    return via.key if inside else "/".join(via.parts[2::2])


def reader_text(reader: str, may: str, doubt: str) -> str:
    """One reader, with what they may do if it is more than reading, and with what is uncertain."""
    shown = f" ({may})" if may not in ("", READ) else ""
    return f"{reader}{shown}" if not doubt else f"perhaps {reader}{shown}: {doubt}"


def _remark(row: ReviewRow) -> str:
    """What a row says of an object that is not declared."""
    if row.managed:
        return ""
    return "(no longer declared)" if row.tracked else " ".join(filter(None, [f'"{row.title}"' if row.title else "", "(unmanaged)"]))


def summary(review: Review) -> str:
    """`12 objects; the plan changes the readers of 2. 1 violation. 1 warning. 1 reading failed.`"""
    parts = [count(len(review.rows), "object")]
    changed = sum(row.changed for row in review.rows)
    parts += [f"the plan changes the readers of {changed:,}"] if changed else ["the plan changes no readers"] if review.steps else []
    levels = Counter(item.level for item in review.violations)
    ends = [count(levels[level], word) for level, (_, word) in RULES.items() if levels[level]]
    ends += [f"{count(len(review.unknown), 'reading')} failed: what it would have shown counts as unknown"] if review.unknown else []
    return ". ".join(["; ".join(parts), *ends]) + "."


def access_document(review: Review, *, created_at: datetime) -> AccessDocument:
    """The review as data."""
    document: AccessDocument = {
        "format": "reconciler.access/1",
        "project": review.project,
        "environment": review.environment,
        "createdAt": utc_text(created_at),
        "readers": list(review.readers),
        "objects": [
            record(ReviewedData, row, id=row.id or None, before=_lines(row.before), after=_lines(row.after)) for row in review.rows
        ],
        "violations": [violation_data(item) for item in review.violations],
        "unknown": unknown_data(review.unknown),
    }
    if review.people:
        document["people"] = [
            {"address": str(row.address), "before": _lines(row.before), "after": _lines(row.after)} for row in review.people
        ]
    return document


def _lines(lines: Sequence[ReaderLine] | None) -> list[ReaderData] | None:
    if lines is None:
        return None
    return [record(ReaderData, line) for line in lines]


def _table(review: Review) -> SheetTable:
    """Every object, and who can read it."""
    columns = ("object", "can be read now by", "after the plan by") if review.steps else ("object", "can be read by")

    def row(depth: int, row: ReviewRow) -> list[list[TableCell]]:
        title = (row.title,) if row.managed and row.title else ()
        name = TableCell(" ".join(filter(None, [str(row.address), _remark(row)])), Style.HEAD, title, depth)
        after = _cells(row.after, row, review) if row.changed else [_said(SAME)]
        return [[name], _cells(row.before, row, review), after][: len(columns)]

    return SheetTable("Every object", columns, [TableGroup(title, [row(*pair) for pair in rows]) for title, rows in branches(review.rows)])


def _people(review: Review) -> SheetTable:
    """Everybody who can read one object, now and after the plan."""
    columns = ("who", "may now", "after the plan", "because") if review.steps else ("who", "may", "because")
    (row,) = review.rows
    sides = [{line.reader: line for line in lines or ()} for lines in ((row.before, row.after) if review.steps else (row.before,))]

    def cells(name: str) -> list[list[TableCell]]:
        lines = [side.get(name) for side in sides]
        line = next(line for line in reversed(lines) if line is not None)
        why = [line.reason, *([f"by {' -> '.join(line.path)}"] if len(line.path) > 1 else [])]
        may = [_said("no") if at is None else TableCell(f"perhaps: {at.doubt}" if at.doubt and not at.level else at.may) for at in lines]
        return [[TableCell(name, Style.HEAD)], *([cell] for cell in may), [TableCell(", ".join(filter(None, why)))]]

    people = dict.fromkeys(name for side in sides for name in side)
    return SheetTable(f"Who can read {row.address}", columns, [TableGroup("", [cells(name) for name in people])])


def _counts(review: Review) -> SheetTable:
    """How many objects each class of readers can read, now and after the plan."""
    sides = [[row.before for row in review.rows], *([[row.after for row in review.rows]] if review.steps else [])]
    # What does not exist has no readers, not even admins.
    numbers = [
        Counter(name for lines in side if lines is not None for name in {_class(line) for line in lines} or {nobody(review)})
        for side in sides
    ]
    names = sorted({name for counter in numbers for name in counter}, key=_rank)
    rows = [[[TableCell(name, _style(name))], *([TableCell(f"{counter[name]:,}")] for counter in numbers)] for name in names]
    return SheetTable("Objects by reader", ("reader", "objects now", "after the plan")[: 1 + len(sides)], [TableGroup("", rows)])


def _rank(name: str) -> tuple[int, str]:
    return next((at for at, word in enumerate(RANKS) if name.startswith(word)), len(RANKS)), name


def _class(line: ReaderLine) -> str:
    """Holders of links are counted together."""
    return " ".join(word for word in line.reader.split(" ") if "/" not in word) if line.reader.startswith("whoever") else line.reader


def branches(rows: Sequence[ReviewRow]) -> list[tuple[str, list[tuple[int, ReviewRow]]]]:
    """Every row once, with its depth: a branch for each object that has addresses below it, then everything else."""
    addresses = {row.address for row in rows}
    children: dict[Address | None, list[ReviewRow]] = defaultdict(list)
    for row in rows:
        children[row.parent if row.parent in addresses else None].append(row)

    def below(row: ReviewRow, depth: int) -> Iterator[tuple[int, ReviewRow]]:
        yield depth, row
        for child in children[row.address]:
            yield from below(child, depth + 1)

    above = {row.address.container for row in rows}
    kinds = list(dict.fromkeys(row.kind for row in rows if row.address in above))
    result = [(f"{row.kind} {row.address}", [*below(row, 0)]) for row in children[None] if row.kind in kinds]
    rest = [pair for row in children[None] if row.kind not in kinds for pair in below(row, 0)]
    # What contains itself, as a service may show it, is below nothing.
    listed = {row.address for _, inside in result for _, row in inside} | {row.address for _, row in rest}
    rest += [(0, row) for row in rows if row.address not in listed]
    return [*result, *([(f"in no {' or '.join(kinds)}" if kinds else "every object", rest)] if rest else [])]
