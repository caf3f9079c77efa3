"""Findings about a project: a line each with position and rule, the remedy below it; and the same as plain data. Pure.

In: findings, by place. Out: text, or the document `reconciler.findings/1`.

What `doctor` found: one line each, with a remedy where something is to be done. In: findings. Out: a sheet, or plain data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from reconciler.errors import Problem
from reconciler.model import Finding, Severity, Source, Violation
from reconciler.report.layout import Style
from reconciler.report.schemas.runs import CheckData, DoctorDocument, DoctorSummaryData, FindingData, FindingsDocument
from reconciler.report.sheet import Sheet, SheetEntry, SheetLine, Weight
from reconciler.report.words import Level, count
from reconciler.text.escape import terminal

_NOWHERE: Final = Source("", 0, 0)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings by place, then by rule."""
    return tuple(sorted(findings, key=lambda finding: (finding.source or _NOWHERE, finding.id, finding.address, finding.message)))


def of_problem(problem: Problem) -> Finding:
    """A problem that keeps a project from being loaded, as a finding."""
    source = Source(problem.file, problem.line, problem.column) if problem.line else Source(problem.file, 0, 0)
    return Finding(problem.id, Severity.ERROR, problem.message, source=source)


def of_violation(violation: Violation) -> Finding:
    """A rule of the project that its configuration violates, as a finding."""
    about = str(violation.address) if violation.address is not None else ""
    source = violation.declared or violation.source
    # Other programs group findings by a name without spaces.
    rule = violation.name.replace(" ", "/")
    return Finding(violation.id, violation.level, violation.message, about, source, violation.remedy, rule=rule)


def place(source: Source | None) -> str:
    """`sites/docs.yaml:12:3`, or only the file if no line is meant; "" without a position."""
    return str(source) if source is not None else ""


def findings_text(findings: Sequence[Finding]) -> str:
    """A line for each finding, its remedy below it."""
    lines = []
    for finding in findings:
        about = f"{finding.address}: " if finding.address else ""
        where = f"{place(finding.source)}  " if finding.source is not None else ""
        lines.append(f"{where}{finding.severity.value} {finding.name}  {about}{finding.message}")
        if finding.remedy:
            lines.append(f"  -> {finding.remedy}" + (" (validate --fix does it)" if finding.fix is not None else ""))
    return "".join(f"{terminal(line)}\n" for line in lines)


def summary(findings: Sequence[Finding]) -> str:
    """The number of findings of each severity."""
    fixes = sum(finding.fix is not None for finding in findings)
    return (_numbers(findings) if findings else "No findings.") + (f" validate --fix corrects {fixes} of them." if fixes else "")


def findings_sheet(findings: Sequence[Finding], *, project: str, environment: str | None) -> Sheet:
    """An entry for each finding, errors first."""
    entries = []
    for finding in sorted(findings, key=lambda finding: finding.severity is not Severity.ERROR):
        error, source = finding.severity is Severity.ERROR, finding.source
        # A finding about a whole file has no line.
        where = "" if source is None else source.file_and_line if source.line else source.file
        style = Style.BLOCKED if error else Style.UPDATE
        line = SheetLine(style, "!", finding.severity.value, f"{finding.name}: {finding.message}", finding.remedy, finding.id)
        weight = Weight.URGENT if error else Weight.HINDERED
        entries.append(SheetEntry(finding.address or where or "the project", where, [line], weight, source))
    return Sheet("findings", project, environment, summary(findings), entries, headline=_numbers(findings), quiet=not entries)


def _numbers(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.severity for finding in findings)
    return ", ".join(count(counts[level], level.value) for level in Severity if counts[level]) + "." if counts else "No problems."


def findings_document(findings: Sequence[Finding], *, project: str | None, environment: str | None) -> FindingsDocument:
    """The findings as plain data."""
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    return {
        "format": "reconciler.findings/1",
        "project": project,
        "environment": environment,
        "summary": {
            "error": errors,
            "warning": len(findings) - errors,
            "fixable": sum(finding.fix is not None for finding in findings),
        },
        "findings": [_data(finding) for finding in findings],
    }


def _data(finding: Finding) -> FindingData:
    source = finding.source
    return {
        "id": finding.id,
        "rule": finding.rule or None,
        "severity": finding.severity.value,
        "message": finding.message,
        "address": finding.address or None,
        "source": None if source is None else {"file": source.file, "line": source.line or None, "column": source.column or None},
        "remedy": finding.remedy or None,
        "fix": finding.fix.says if finding.fix is not None else None,
    }


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


def checks_sheet(findings: Sequence[Check]) -> Sheet:
    """A line for each finding, its remedy below it; how many problems and warnings at the end."""
    lines = []
    for finding in findings:
        text = f"{finding.text} [{finding.id}]" if finding.id else finding.text
        lines.append(SheetLine(_STYLES[finding.level], f"{finding.level.value:<8}", finding.check, text, id=finding.id))
        lines += [SheetLine(Style.DIM, "", "", f"-> {finding.remedy}")] if finding.remedy else []
    levels = Counter(finding.level for finding in findings)
    problems, warnings = levels[Level.PROBLEM], levels[Level.WARNING]
    summary = f"{count(problems, 'problem')}, {count(warnings, 'warning')}." if problems or warnings else "No problems found."
    return Sheet("checks", "", None, summary, [SheetEntry("", "", lines)])


def checks_document(findings: Sequence[Check]) -> DoctorDocument:
    """The same as plain data."""
    levels = Counter(finding.level for finding in findings)
    summary: DoctorSummaryData = {
        "ok": levels[Level.OK],
        "skipped": levels[Level.SKIPPED],
        "warning": levels[Level.WARNING],
        "problem": levels[Level.PROBLEM],
    }
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
