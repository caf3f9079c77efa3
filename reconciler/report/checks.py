"""What `doctor` found: one line each, with a remedy where something is to be done. In: findings. Out: spans, or plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reconciler.report.layout import ReportPage, Span, Style
from reconciler.report.schemas.runs import CheckData, DoctorDocument, DoctorSummaryData
from reconciler.report.words import Level, count


@dataclass(frozen=True)
class Check:
    """The result of one check. `check`: its name; `text`: the finding; `remedy`: what to do, "" if nothing. `id`: of the cause of a problem
    or a warning."""

    check: str
    level: Level
    text: str
    remedy: str = ""
    id: str = ""


_STYLES: Final = {Level.OK: Style.CREATE, Level.SKIPPED: Style.DIM, Level.WARNING: Style.UPDATE, Level.PROBLEM: Style.BLOCKED}


def checks_text(findings: Sequence[Check], *, width: int) -> list[Span]:
    """A line for each finding, its remedy below it; how many problems and warnings at the end."""
    page = ReportPage(width)
    for finding in findings:
        page.field(
            _STYLES[finding.level],
            f"{finding.level.value:<8}",
            finding.check,
            f"{finding.text} [{finding.id}]" if finding.id else finding.text,
            column=24,
        )
        if finding.remedy:
            page.field(Style.DIM, "", "", f"-> {finding.remedy}", column=24)
    page.blank()
    problems, warnings = (sum(finding.level is level for finding in findings) for level in (Level.PROBLEM, Level.WARNING))
    page.line(f"{count(problems, 'problem')}, {count(warnings, 'warning')}." if problems or warnings else "No problems found.")
    return page.spans


def checks_document(findings: Sequence[Check]) -> DoctorDocument:
    """The same as plain data."""
    levels = Counter(finding.level for finding in findings)
    summary: DoctorSummaryData = {
        "ok": levels[Level.OK], "skipped": levels[Level.SKIPPED], "warning": levels[Level.WARNING], "problem": levels[Level.PROBLEM],
    }  # fmt: skip
    checks: list[CheckData] = [
        {
            "check": finding.check,
            "status": finding.level.value,
            "message": finding.text,
            "remedy": finding.remedy or None,
            "id": finding.id or None,
        }
        for finding in findings
    ]
    return {"format": "reconciler.doctor/1", "summary": summary, "checks": checks}
