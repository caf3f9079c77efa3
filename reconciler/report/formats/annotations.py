"""The items of a plan, an outcome or drift that need attention, as findings. Pure.

Errors: what is blocked, refused, failed or in doubt, and assertions that fail. Warnings: what destroys, exposes, breaks a URL, drifts or
could not be read.

A report as annotations of GitHub: one workflow command a line, with its file and line if known. Pure.

Errors: what is blocked, failed or in doubt, and errors of a project. Warnings: what destroys, exposes, breaks a URL, drifts or could not be
read. The last line is a summary, as a notice. No text of the service or the YAML can start a command.

Findings as JUnit: one test case each, an error fails. Pure.

GitLab and Jenkins show the failed ones beside a merge request. A report without errors still has a test, which passed.

Findings as SARIF 2.1.0, which GitHub's code scanning and many editors show at their lines, with what they can correct. Pure.

A rule is a cause, with its page as help, or a rule of the project.

Findings as GitLab's Code Quality report: a list, each with its file and line, shown beside the merge request. Pure.

Findings without a line are reported at the first line of the project file, because each entry needs a position.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from posixpath import normpath
from typing import Any, Final
from xml.etree import ElementTree

from reconciler import __version__
from reconciler.model import Edit, Finding, Fix, Severity, Source, Violation
from reconciler.report.layout import Style
from reconciler.report.sheet import Sheet, SheetEntry, SheetLine
from reconciler.text import escape
from reconciler.text.escape import xml
from reconciler.text.pages import IN_REPOSITORY, LINK, CausePage, pages

# By style, because that is how a sheet says how bad a line is; drift has levels of its own below.
LEVELS: Final = {Style.BLOCKED: Severity.ERROR, Style.DELETE: Severity.WARNING, Style.DRIFT: Severity.WARNING}
CHANGES: Final = {Style.BLOCKED: "RC-waits", Style.DELETE: "RC-destructive", Style.DRIFT: "RC-drift"}
SAYS: Final = "!"  # the symbol of a line about an exposure, a broken URL or a warning


def of_sheet(sheet: Sheet) -> tuple[Finding, ...]:
    """One finding for each such line, in the order of the report."""
    return tuple(finding for entry in sheet.entries for finding in _entry(sheet, entry))


def _entry(sheet: Sheet, entry: SheetEntry) -> Iterator[Finding]:
    for line in entry.lines:
        # A line of a report has a whole line of a file as its position.
        at = line.source or entry.source
        source = at._replace(column=0) if at is not None else None
        severity = _of_drift(line) if sheet.kind == "drift" else _severity(line)
        if severity is not None:
            value = line.value.removesuffix(f" [{line.id}]")
            text = f"{line.name}: {value}" + (f" ({line.note})" if line.note else "")
            yield Finding(line.id or _cause(sheet, line), severity, text, entry.title, source)


def _of_drift(line: SheetLine) -> Severity | None:
    """The severity of a line of drift: an assertion that fails is an error."""
    if line.style is Style.DIM:
        return None
    return Severity.ERROR if line.style is Style.BLOCKED and line.symbol == SAYS else Severity.WARNING


def _severity(line: SheetLine) -> Severity | None:
    return LEVELS.get(line.style) or (Severity.WARNING if line.symbol.strip() == SAYS else None)


def _cause(sheet: Sheet, line: SheetLine) -> str:
    """The cause of a line that names none: a difference, a delete or a replacement."""
    if sheet.kind == "drift":
        return "RC-drift"
    return "RC-changed-during-run" if line.style is Style.DRIFT and sheet.kind == "outcome" else CHANGES[line.style]


def path_of(source: Source, folder: str) -> str:
    """The path of a file of the project from the root of the repository. `folder`: the project's, "" if it is the root."""
    return f"{folder}/{source.file}" if folder and not source.file.startswith("/") else source.file


def with_fingerprints(findings: Iterable[Finding], folder: str) -> Iterator[tuple[Finding, str]]:
    """Each finding with a text that stays the same when lines above it move; equal ones are numbered."""
    # Without the line: a forge follows a finding over commits by its fingerprint, and lines above it come and go.
    met: Counter[str] = Counter()
    for finding in findings:
        file = path_of(finding.source, folder) if finding.source is not None else ""
        text = "\n".join((finding.name, finding.address, finding.message, file))
        met[text] += 1
        yield finding, sha256(f"{text}\n{met[text]}".encode("utf-8", "surrogatepass")).hexdigest()


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


def junit(findings: Sequence[Finding], *, title: str, summary: str, folder: str = "") -> str:
    """The file. `title`: of the report; `summary`: its last line. `folder`: the project's, from the root of the repository."""
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    counts = {"tests": str(len(findings) + 1), "failures": str(len(errors)), "errors": "0", "skipped": "0"}
    suites = ElementTree.Element("testsuites", {"name": "reconciler", **counts})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": xml(title), **counts})
    # A report without any test looks like one that was not written.
    whole = ElementTree.SubElement(suite, "testcase", {"classname": "reconciler", "name": xml(title)})
    ElementTree.SubElement(whole, "system-out").text = xml(summary)
    for finding in findings:
        _case(suite, finding, folder)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, finding: Finding, folder: str) -> None:
    attributes = {
        "classname": xml(finding.name),
        "name": xml(f"{finding.address}: {finding.message}" if finding.address else finding.message),
    }
    if finding.source is not None:
        attributes |= {"file": xml(path_of(finding.source, folder))} | ({"line": str(finding.source.line)} if finding.source.line else {})
    case = ElementTree.SubElement(suite, "testcase", attributes)
    details = "\n".join(xml(part) for part in (_place(finding, folder), finding.message, finding.remedy) if part)
    if finding.severity is Severity.ERROR:
        ElementTree.SubElement(case, "failure", {"type": xml(finding.name), "message": xml(finding.message)}).text = details
    else:
        ElementTree.SubElement(case, "system-out").text = details


def _place(finding: Finding, folder: str) -> str:
    return f"{path_of(finding.source, folder)}:{finding.source.line}" if finding.source is not None and finding.source.line else ""


SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
FINGERPRINT: Final = "reconciler/v1"


def sarif(findings: Sequence[Finding], *, folder: str = "", repository: str = "") -> dict[str, Any]:
    """The log, with one run. `folder`: the project's, from the root of the repository. `repository`: where this version of the
    documentation is on the web; "" if unknown."""
    # The first finding of a rule describes it.
    rules = {finding.name: finding for finding in reversed(findings)}
    places = {name: index for index, name in enumerate(sorted(rules))}
    results = [_result(finding, places[finding.name], fingerprint, folder) for finding, fingerprint in with_fingerprints(findings, folder)]
    described = [_rule(rules[name], repository) for name in places]
    driver = {"name": "Reconciler", "semanticVersion": __version__, "rules": described}
    # Columns of ours count characters; the default of SARIF is UTF-16 units.
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(finding: Finding, repository: str) -> dict[str, Any]:
    """The description of a cause without a finding."""
    page = pages().get(finding.id)
    if page is None:
        return {"id": finding.name}
    about = {
        "shortDescription": {"text": page.summary},
        "help": {"text": f"{page.why}\n{page.remedy}", "markdown": _linked(page, repository)},
    }
    where = {"helpUri": f"{repository}/{page.path}"} if repository else {}
    return {"id": finding.name, **about, **where}


def _linked(page: CausePage, repository: str) -> str:
    """A page whose relative links are made absolute; without a repository they become text."""

    def linked(link: re.Match[str]) -> str:
        text, target = link.groups()
        if "://" in target:
            return link[0]
        return f"[{text}]({repository}/{normpath(f'{IN_REPOSITORY}/{target}')})" if repository else text

    return LINK.sub(linked, page.markdown)


def _result(finding: Finding, index: int, fingerprint: str, folder: str) -> dict[str, Any]:
    about = f"{finding.address}: " if finding.address else ""
    then = f"\n{finding.remedy}" if finding.remedy else ""
    place: dict[str, Any] = {}
    if finding.source is not None:
        place["physicalLocation"] = {"artifactLocation": _artifact(finding.source, folder)}
        if finding.source.line:
            place["physicalLocation"]["region"] = {"startLine": finding.source.line, "startColumn": max(finding.source.column, 1)}
    if finding.address:
        place["logicalLocations"] = [{"fullyQualifiedName": finding.address}]
    fixes = {"fixes": [_fix(finding.fix, folder)]} if finding.fix is not None and finding.fix.edits else {}
    return {
        "ruleId": finding.name,
        "ruleIndex": index,
        "level": "error" if finding.severity is Severity.ERROR else "warning",
        "message": {"text": f"{about}{finding.message}{then}"},
        "partialFingerprints": {FINGERPRINT: fingerprint},
        **({"locations": [place]} if place else {}),
        **fixes,
        "properties": {"cause": finding.id},
    }


def _artifact(source: Source, folder: str) -> dict[str, str]:
    return {"uri": escape.uri(path_of(source, folder))}


def _fix(fix: Fix, folder: str) -> dict[str, Any]:
    """The corrections of `validate --fix`, as replacements of text."""
    changes = [{"artifactLocation": _artifact(edit.start, folder), "replacements": [_replacement(edit)]} for edit in fix.edits]
    return {"description": {"text": fix.says}, "artifactChanges": changes}


def _replacement(edit: Edit) -> dict[str, Any]:
    region = {
        "startLine": edit.start.line,
        "startColumn": edit.start.column,
        "endLine": edit.end.line,
        "endColumn": edit.end.column,
    }
    return {"deletedRegion": region} | ({"insertedContent": {"text": edit.text}} if edit.text else {})


SEVERITIES: Final = {Severity.ERROR: "critical", Severity.WARNING: "minor"}
# GitLab drops an entry without a position.
PROJECT: Final = Source("reconciler.yaml", 1)


def code_quality(findings: Sequence[Finding], *, folder: str = "") -> list[dict[str, Any]]:
    """The report. `folder`: the project's, from the root of the repository."""
    return [_issue(finding, fingerprint, folder) for finding, fingerprint in with_fingerprints(findings, folder)]


def _issue(finding: Finding, fingerprint: str, folder: str) -> dict[str, Any]:
    source = finding.source or PROJECT
    about = f"{finding.address}: " if finding.address else ""
    then = f" ({finding.remedy})" if finding.remedy else ""
    return {
        "type": "issue",
        "check_name": finding.name,
        "description": f"{about}{finding.message}{then}",
        "severity": SEVERITIES[finding.severity],
        "fingerprint": fingerprint,
        "location": {"path": path_of(source, folder), "lines": {"begin": max(source.line, 1)}},
    }
