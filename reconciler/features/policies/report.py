"""What `reconciler explain` says of policies. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reconciler.features.policies.section.keys import EXAMPLES, NAMES, SECTIONS, TABLES
from reconciler.report.layout import ReportPage, Span, Style
from reconciler.run.explained import Explained

SECTION_COLUMN: Final = 30


def explained(name: str, width: int) -> list[Span]:
    """One of the sections of policies."""
    page = ReportPage(width)
    page.line(f"{name}: {SECTIONS[name]}", Style.HEAD)
    page.blank()
    _table(page, "Keys", TABLES[name])
    if name == "policies":
        _table(page, "Expressions can use", NAMES)
    page.line("Example")
    for line in EXAMPLES[name].splitlines():
        page.add(Style.PLAIN, f"  {line}\n")
    return page.spans


def _table(page: ReportPage, title: str, rows: Mapping[str, str]) -> None:
    page.line(title)
    for key, text in rows.items():
        page.field(Style.PLAIN, "", key, text, column=SECTION_COLUMN)
    page.blank()


EXPLAINED: Final = Explained(SECTIONS, explained)
