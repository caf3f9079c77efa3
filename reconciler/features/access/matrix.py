"""The access review for whoever has to sign it: a row for each reader of each object, and a matrix of readers and objects. Pure.

    object                    title       anyone    ada@acme.example    linus@acme.example and 2 more
    acme/space/guides         Guides      read      admin               edit
    acme/space/salaries       Salaries    no        admin               perhaps

*No* is only said where it is certain: what was not read, or cannot be decided, is `perhaps`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from reconciler.address import Address
from reconciler.features.access.review import NONE, ReaderLine, Review, ReviewRow
from reconciler.features.access.verdicts import ADMIN
from reconciler.plan.audience.people import some
from reconciler.report.layout import Style
from reconciler.report.sheet import SheetTable, TableCell, TableGroup
from reconciler.report.words import count

COLUMNS: Final = ("address", "kind", "title", "managed", "reader", "who", "now", "after the plan", "because", "way", "doubt")
PERSON: Final = "person"
READERS: Final = "readers"
ADMINS: Final = "admins"
GIVEN: Final = "whoever was given access one by one"
PERHAPS: Final = "perhaps"
ABSENT: Final = "does not exist"


def access_rows(review: Review) -> Iterator[Sequence[str]]:
    """The review as the rows of a CSV file: one for each reader of each object, one for each person and object where people were read, and
    one for each reading that failed."""
    yield COLUMNS
    people = {row.address: row for row in review.people}
    for row in review.examples if review.readers else review.rows:
        lines = [_pairs(row, lambda line: not (people and line.person)), _pairs(people[row.address]) if people else {}]
        if not review.readers and review.about is None:
            admins = ReaderLine(ADMINS, ADMIN, reason=ADMIN)
            lines.append({ADMINS: (None if row.before is None else admins, None if row.after is None else admins)})
        if unread := _unread(review, row):
            lines.append({GIVEN: (unread if row.before is not None else None, unread if row.after is not None else None)})
        for name, (now, then) in ((name, pair) for pairs in lines for name, pair in pairs.items()):
            line = then or now
            assert line is not None
            yield (
                *(str(row.address), row.kind, row.title, "yes" if row.managed else "no", name, PERSON if line.person else READERS),
                *(may(now, row.before), may(then, row.after)),
                *(line.reason, " -> ".join(line.path) if len(line.path) > 1 else "", line.doubt),
            )
    for item in review.unknown:
        yield (item.what, item.kind, "", "", "unknown", READERS, PERHAPS, PERHAPS, "", "", f"not read: {item.reason}")


def _pairs(row: ReviewRow, wanted: Callable[[ReaderLine], bool] = lambda _: True) -> dict[str, tuple[ReaderLine | None, ReaderLine | None]]:
    """What each reader may do now and after the plan."""
    sides: list[dict[str, ReaderLine]] = [{}, {}]
    for side, lines in zip(sides, (row.before, row.after), strict=True):
        for line in filter(wanted, lines or ()):
            side.setdefault(line.reader, line)
    return {name: (sides[0].get(name), sides[1].get(name)) for name in dict.fromkeys((*sides[0], *sides[1]))}


def _unread(review: Review, row: ReviewRow) -> ReaderLine | None:
    """Whoever may have been given access to an object; None where that was read, or where nobody is given any."""
    doubt = f"that was not read of {count(review.unasked, 'person', 'people')}"
    return ReaderLine(GIVEN, "", doubt=doubt) if row.given and review.unasked and not review.readers else None


def may(line: ReaderLine | None, side: object) -> str:
    """`edit`, `read, perhaps admin`, `perhaps`, `no`. `side`: the readers of the object; None where it does not exist."""
    if side is None:
        return ABSENT
    return NONE if line is None else f"{PERHAPS} {line.may}".rstrip() if line.doubt else line.may


# -- the matrix --------------------------------------------------------------------------------------------------------------------

WIDE: Final = 10  # columns of one table
CELLS_MOST: Final = 40_000
OTHERS: Final = "and others"
STYLES: Final = {NONE: Style.DIM, PERHAPS: Style.UPDATE}


def matrices(review: Review, branches: Sequence[tuple[str, Sequence[tuple[int, ReviewRow]]]]) -> Iterator[SheetTable]:
    """Tables of what each reader may do with each object. `branches`: the objects, as the review arranges them.

    Readers who may do the same everywhere share a column. The last column says who else may, where nobody in the table is an example of
    them. Nothing where the tables would be too large for a page.
    """
    columns = _columns(review) if review.examples else {}
    if not columns or len(columns) * len(review.rows) > CELLS_MOST:
        return
    others = {
        row.address: ", ".join(dict.fromkeys(line.reader for line in (*(row.before or ()), *(row.after or ())) if line.unnamed))
        for row in review.examples
    }
    titles = [*columns]
    for at in range(0, len(titles), WIDE):
        part = titles[at : at + WIDE]
        also = any(others.values()) and at == 0

        def cells(depth: int, row: ReviewRow, part: Sequence[str] = part, also: bool = also) -> list[list[TableCell]]:
            shown = [[TableCell(text := columns[name][row.address], _style(text))] for name in part]
            named = [[TableCell(str(row.address), Style.HEAD, depth=depth)], [TableCell(row.title)]]
            return [*named, *shown, *([[TableCell(others[row.address])]] if also else [])]

        numbered = f", {at // WIDE + 1} of {-(-len(titles) // WIDE)}" if len(titles) > WIDE else ""
        yield SheetTable(
            f"Who may do what{numbered}",
            ("object", "title", *part, *([OTHERS] if also else [])),
            [TableGroup(title, [cells(*pair) for pair in rows]) for title, rows in branches],
            matrix=True,
        )


def _columns(review: Review) -> Mapping[str, Mapping[Address, str]]:
    """What the readers of each column may do with each object: examples of readers, then people."""
    marks: dict[str, dict[Address, str]] = defaultdict(dict)
    for row in (*review.examples, *review.people):
        for name, (now, then) in _pairs(row, lambda line: not line.unnamed).items():
            before, after = (NONE if side is None else may(line, side) for line, side in ((now, row.before), (then, row.after)))
            marks[name][row.address] = after if before == after else f"{before} -> {after}"
    unread = {row.address: PERHAPS for row in review.rows if _unread(review, row)}
    if unread:
        marks[GIVEN] = unread
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, known in marks.items():
        alike[tuple(known.get(row.address, NONE) for row in review.rows)].append(name)
    return {some(names): dict(zip((row.address for row in review.rows), texts, strict=True)) for texts, names in alike.items()}


def _style(text: str) -> Style:
    return Style.MOVE if "->" in text else next((style for word, style in STYLES.items() if text.startswith(word)), Style.CREATE)
