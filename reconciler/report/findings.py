"""Findings about a project: a line each with position and rule, the remedy below it; and the same as plain data. Pure.

In: findings, by place. Out: text, or the document `reconciler.findings/1`.
"""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.errors import Problem
from reconciler.model import Finding, Severity, Source, Violation
from reconciler.report.schemas.findings import FindingData, FindingsDocument
from reconciler.report.words import count
from reconciler.text.escape import terminal


def of_problem(problem: Problem) -> Finding:
    """A problem that keeps a project from being loaded, as a finding."""
    source = Source(problem.file, problem.line, problem.column) if problem.line else Source(problem.file, 0, 0)
    return Finding(problem.id, Severity.ERROR, problem.message, source=source)


def of_violation(violation: Violation) -> Finding:
    """A rule of the project that its configuration violates, as a finding."""
    about = str(violation.address) if violation.address is not None else ""
    source = violation.declared or violation.source
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
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    warnings = len(findings) - errors
    fixes = sum(finding.fix is not None for finding in findings)
    if not findings:
        return "No findings."
    parts = [count(number, word) for number, word in ((errors, "error"), (warnings, "warning")) if number]
    return f"{', '.join(parts)}." + (f" validate --fix corrects {fixes} of them." if fixes else "")


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
