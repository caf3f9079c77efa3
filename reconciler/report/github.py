"""A report as annotations of GitHub: one workflow command a line, at file and line where it has one. Pure.

Errors: what is blocked, failed or in doubt, and what is wrong in a project. Warnings: what destroys, exposes, breaks an address, drifts or
could not be read. The last line sums up, as a notice. Below them no text from the service or the YAML begins a command of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from reconciler.model import INVALID, Finding, Violation
from reconciler.report.entries import Entry, Line, Sheet
from reconciler.report.layout import Style
from reconciler.text import escape

LEVELS: Final = {Style.BLOCKED: "error", Style.DELETE: "warning", Style.DRIFT: "warning"}
EXPOSES: Final = "!"  # the symbol of a line that tells of an exposure or a broken address


def github(sheet: Sheet, *, folder: str = "") -> str:
    """The annotations of a plan, an outcome or drift. `folder`: the project's, from the repository's root, "" where it is that."""
    lines = [command for entry in sheet.entries for command in _entry(sheet, entry, folder)]
    lines += [_command("notice", sheet.title, note) for note in sheet.notes]
    return "".join([*lines, _command("notice", sheet.title, sheet.summary)])


def github_findings(findings: Iterable[Finding], *, folder: str = "") -> str:
    """An annotation for each finding about a project, at its line."""
    return "".join(
        _command(
            finding.severity.value,
            "reconciler" if finding.id == INVALID else finding.id,
            (f"{finding.address}: " if finding.address else "") + finding.message,
            file=_path(folder, finding.source.file) if finding.source is not None else "",
            line=finding.source.line if finding.source is not None else 0,
            column=finding.source.column if finding.source is not None else 0,
        )
        for finding in findings
    )


def github_violations(violations: Iterable[Violation], *, folder: str = "") -> str:
    """An annotation for each rule that the configuration violates, where the resource is declared, else where the rule is written."""
    return "".join(_violation(violation, folder) for violation in violations)


def _violation(violation: Violation, folder: str) -> str:
    place = violation.declared or violation.source
    message = f"{violation.name}: {violation.message}"
    title = str(violation.address or violation.name)
    if place is None:
        return _command(violation.level.value, title, message)
    return _command(violation.level.value, title, message, file=_path(folder, place.file), line=place.line, column=place.column)


def _entry(sheet: Sheet, entry: Entry, folder: str) -> Iterator[str]:
    file, _, line = entry.where.rpartition(":")
    placed = bool(file) and line.isascii() and line.isdecimal()
    for part in entry.lines:
        level = "warning" if sheet.kind == "drift" and part.style is not Style.DIM else _level(part)
        if level is not None:
            text = f"{part.name}: {part.value}" + (f" ({part.note})" if part.note else "")
            yield _command(level, entry.title, text, file=_path(folder, file) if placed else "", line=int(line) if placed else 0)


def _level(line: Line) -> str | None:
    return LEVELS.get(line.style) or ("warning" if line.symbol.strip() == EXPOSES else None)


def _path(folder: str, file: str) -> str:
    return f"{folder}/{file}" if folder and file and not file.startswith("/") else file


def _command(level: str, title: str, message: str, *, file: str = "", line: int = 0, column: int = 0) -> str:
    place = {"file": file, "line": str(line) if line else "", "col": str(column) if column else "", "title": title}
    properties = ",".join(f"{name}={escape.github_property(value)}" for name, value in place.items() if value)
    return f"::{level} {properties}::{escape.github(message)}\n"
