"""The page that `explain` shows for the cause of an error, a blocked resource or a warning. Pure.

In: a page of the documentation. Out: spans.
"""

from __future__ import annotations

from reconciler.report.layout import ReportPage, Span, Style
from reconciler.text import pages


def explain_cause(cause: pages.CausePage, *, width: int) -> list[Span]:
    """The page of one cause."""
    page = ReportPage(width)
    page.line(f"{cause.id}: {cause.summary}", Style.HEAD)
    page.blank()
    for line in cause.example.splitlines():
        page.add(Style.DIM, f"  {line}\n")
    page.blank()
    for text in (cause.why, f"What to do: {cause.remedy}"):
        page.line(text.replace("`", ""))
    return page.spans
