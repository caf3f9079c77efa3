"""Rows as a CSV file for people, who open it in a spreadsheet. Pure.

Every text passes `escape.spreadsheet`: a cell that begins with `=`, `+`, `-` or `@` would be a formula there.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from reconciler.text import escape


def spreadsheet(rows: Iterable[Sequence[str]]) -> str:
    """The file, with a line for each row."""
    return csv_text([escape.spreadsheet(cell) for cell in row] for row in rows)


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    """Rows as CSV for programs."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
