"""The access review as people and programs read it: a table, and a JSON document. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from reconciler.model import Violation
from reconciler.plan.access.review import ReaderLine, Review, ReviewRow
from reconciler.report.documents import record, unknown_data, violation_data
from reconciler.report.layout import table
from reconciler.report.schemas.plan import AccessDocument, ReaderData, ReviewedData
from reconciler.report.words import RULES, count
from reconciler.text.escape import UNLIMITED
from reconciler.text.times import utc_text

# An empty cell could also mean that nobody looked.
NOBODY: Final = "nobody"
NOTHING: Final = "-"
SAME: Final = "the same"
READ: Final = "read"


def access_text(review: Review, *, width: int = UNLIMITED) -> str:
    """A row for each object, and a summary. `width`: the last column ends there."""
    titles = ("object", "can be read by") if not review.steps else ("object", "can be read now by", "after the plan by")
    rows: list[tuple[str, ...]] = [titles]
    for row in review.rows:
        name = str(row.address) if row.managed else f"{row.address} (unmanaged)"
        before, after = names(row.before), names(row.after)
        rows.append((name, before) if not review.steps else (name, before, after if row.changed else SAME))
    lines = [f"{RULES[item.level][1]}: {named(item)}: {item.message}\n" for item in review.violations]
    shown = table(rows, width=width) + "\n" if review.rows else ""
    return shown + "".join(lines) + ("\n" if lines else "") + summary(review) + "\n"


def names(lines: Sequence[ReaderLine] | None) -> str:
    """`anyone, members (edit)`."""
    if lines is None:
        return NOTHING
    return ", ".join(reader_text(line) for line in lines) or NOBODY


def reader_text(line: ReaderLine) -> str:
    """One reader, with the level if it is more than reading, and with what is uncertain."""
    level = f" ({line.level})" if line.level not in ("", READ) else ""
    return f"{line.reader}{level}" if not line.doubt else f"perhaps {line.reader}{level}: {line.doubt}"


def named(item: Violation) -> str:
    """`access anyone at acme/space/salaries`."""
    return f"{item.name} at {item.address}" if item.address is not None else item.name


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
    return {
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


def _lines(lines: Sequence[ReaderLine] | None) -> list[ReaderData] | None:
    if lines is None:
        return None
    return [record(ReaderData, line) for line in lines]


def by_kind(rows: Sequence[ReviewRow]) -> dict[str, list[ReviewRow]]:
    """The rows of each kind, in their order."""
    result: dict[str, list[ReviewRow]] = {}
    for row in rows:
        result.setdefault(row.kind, []).append(row)
    return result
