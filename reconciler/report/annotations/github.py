"""A report as annotations of GitHub: one workflow command a line, with its file and line if known. Pure.

Errors: what is blocked, failed or in doubt, and errors of a project. Warnings: what destroys, exposes, breaks a URL, drifts or could not be
read. The last line is a summary, as a notice. No text of the service or the YAML can start a command.
"""

from __future__ import annotations

from collections.abc import Iterable

from reconciler.model import Finding, Violation
from reconciler.report.annotations.findings import of_sheet, path_of
from reconciler.report.sheet import Sheet
from reconciler.text import escape


def github(sheet: Sheet, *, folder: str = "") -> str:
    """The annotations of a plan, an outcome or drift. `folder`: the project's, from the repository's root, "" if it is the root."""
    lines = [_annotation(finding, finding.address, finding.message, folder) for finding in of_sheet(sheet)]
    lines += [_command("notice", sheet.title, note) for note in sheet.notes]
    return "".join([*lines, _command("notice", sheet.title, sheet.summary)])


def github_findings(findings: Iterable[Finding], *, folder: str = "") -> str:
    """An annotation for each finding about a project, at its line."""
    return "".join(
        _annotation(
            finding,
            finding.name,
            (f"{finding.address}: " if finding.address else "") + finding.message,
            folder,
        )
        for finding in findings
    )


def _annotation(finding: Finding, title: str, message: str, folder: str) -> str:
    if finding.source is None:
        return _command(finding.severity.value, title, message)
    file = path_of(finding.source, folder)
    return _command(finding.severity.value, title, message, file=file, line=finding.source.line, column=finding.source.column)


def github_violations(violations: Iterable[Violation], *, folder: str = "") -> str:
    """An annotation for each rule that the configuration violates, at the declaration of the resource, else at the rule."""
    return "".join(_violation(violation, folder) for violation in violations)


def _violation(violation: Violation, folder: str) -> str:
    place = violation.declared or violation.source
    message = f"{violation.name}: {violation.message}"
    title = str(violation.address or violation.name)
    if place is None:
        return _command(violation.level.value, title, message)
    return _command(violation.level.value, title, message, file=path_of(place, folder), line=place.line, column=place.column)


def _command(level: str, title: str, message: str, *, file: str = "", line: int = 0, column: int = 0) -> str:
    place = {"file": file, "line": str(line) if line else "", "col": str(column) if column else "", "title": title}
    properties = ",".join(f"{name}={escape.github_property(value)}" for name, value in place.items() if value)
    return f"::{level} {properties}::{escape.github(message)}\n"
