"""What tests found: as a sheet; as findings; as plain data; as JUnit, with a case for each test. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from xml.etree import ElementTree

from reconciler.features.testing.documents import MismatchData, ProjectTestData, TestsDocument
from reconciler.features.testing.model import Mismatch, ProjectTestResult
from reconciler.model import Finding, Severity
from reconciler.report.formats.annotations import path_of
from reconciler.report.layout import Style, cells
from reconciler.report.sheet import Sheet, SheetEntry, SheetLine, Weight
from reconciler.report.words import count
from reconciler.text.escape import xml

FORMAT: Final = "reconciler.tests/1"
NOT_MET: Final = Mismatch.id
SIGNS: Final = {"-": Style.DELETE, "+": Style.CREATE}
"""Of the lines of a difference."""


def tests_sheet(results: Sequence[ProjectTestResult], *, project: str) -> Sheet:
    """An entry for each test, with what is not as expected below those that failed."""
    entries = [_entry(result) for result in results]
    columns = max((cells(entry.title) for entry in entries), default=0)
    passed = all(result.passed for result in results)
    return Sheet("tests", project, None, summary(results), entries, headline=summary(results), quiet=passed, address_columns=columns)


def _entry(result: ProjectTestResult) -> SheetEntry:
    word, weight, style = ("passed", Weight.CHANGE, Style.CREATE) if result.passed else ("failed", Weight.URGENT, Style.BLOCKED)
    environment = f" ({result.environment})" if result.environment and result.environment not in result.name else ""
    lines = [line for mismatch in result.mismatches for line in _lines(mismatch)]
    lines += [SheetLine(Style.DIM, "?", "", f"{left.source}  left to plan: {left.message}", source=left.source) for left in result.left]
    where = f"{word}  {result.name}{environment}"
    return SheetEntry(result.source.file_and_line, where, lines, weight, result.source, style)


def _lines(mismatch: Mismatch) -> Iterator[SheetLine]:
    # That an expectation is not met needs no explanation; another cause has a page.
    cause = "" if mismatch.id == NOT_MET else f" [{mismatch.id}]"
    yield SheetLine(Style.BLOCKED, "!", "", f"{mismatch.source}  {mismatch.message}{cause}", id=mismatch.id, source=mismatch.source)
    if mismatch.expected or mismatch.actual:
        yield SheetLine(Style.DELETE, "-", "expected", mismatch.expected)
        yield SheetLine(Style.CREATE, "+", "actual", mismatch.actual)
    for line in mismatch.lines:
        sign, rest = (line[0], line[1:]) if line[:1] in SIGNS else (" ", line)
        yield SheetLine(SIGNS.get(sign, Style.DIM), sign, "", rest)


def summary(results: Sequence[ProjectTestResult]) -> str:
    """How many tests passed and failed."""
    failed = sum(not result.passed for result in results)
    return f"{count(len(results) - failed, 'test')} passed" + (f", {failed:,} failed." if failed else ".")


def findings(results: Sequence[ProjectTestResult]) -> tuple[Finding, ...]:
    """An error for each expectation that is not met, at its position."""
    return tuple(
        Finding(mismatch.id, Severity.ERROR, f"{result.name}: {mismatch.message}{_difference(mismatch)}", source=mismatch.source)
        for result in results
        for mismatch in result.mismatches
    )


def _difference(mismatch: Mismatch) -> str:
    return f" (expected: {mismatch.expected}; actual: {mismatch.actual})" if mismatch.expected or mismatch.actual else ""


def tests_document(results: Sequence[ProjectTestResult], *, project: str) -> TestsDocument:
    """The same as plain data."""
    failed = sum(not result.passed for result in results)
    return {
        "format": FORMAT,
        "project": project,
        "summary": {"passed": len(results) - failed, "failed": failed},
        "tests": [_test(result) for result in results],
    }


def _test(result: ProjectTestResult) -> ProjectTestData:
    return {
        "name": result.name,
        "sort": result.sort,
        "environment": result.environment,
        "source": {"file": result.source.file, "line": result.source.line},
        "passed": result.passed,
        "mismatches": [_data(mismatch) for mismatch in result.mismatches],
        "left": [_data(mismatch) for mismatch in result.left],
    }


def _data(mismatch: Mismatch) -> MismatchData:
    source = mismatch.source
    return {
        "message": mismatch.message,
        "expected": mismatch.expected or None,
        "actual": mismatch.actual or None,
        "lines": list(mismatch.lines),
        "source": {"file": source.file, "line": source.line, "column": source.column},
        "id": mismatch.id,
    }


def tests_junit(results: Sequence[ProjectTestResult], *, project: str, folder: str) -> str:
    """The file: a suite for each file of tests. `folder`: the project's, from the root of the repository."""
    failed = sum(not result.passed for result in results)
    suites = ElementTree.Element("testsuites", {"name": xml(project), "tests": str(len(results)), "failures": str(failed), "errors": "0"})
    for file in dict.fromkeys(result.source.file for result in results):
        cases = [result for result in results if result.source.file == file]
        wrong = sum(not result.passed for result in cases)
        counts = {"tests": str(len(cases)), "failures": str(wrong), "errors": "0", "skipped": "0"}
        suite = ElementTree.SubElement(suites, "testsuite", {"name": xml(file), **counts})
        for result in cases:
            _case(suite, result, folder)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, result: ProjectTestResult, folder: str) -> None:
    place = {"file": xml(path_of(result.source, folder)), "line": str(result.source.line)}
    case = ElementTree.SubElement(suite, "testcase", {"classname": xml(result.source.file), "name": xml(result.name), **place})
    for mismatch in result.mismatches:
        failure = ElementTree.SubElement(case, "failure", {"type": mismatch.id, "message": xml(mismatch.message)})
        differing = [f"- expected: {mismatch.expected}", f"+ actual:   {mismatch.actual}"] if mismatch.expected or mismatch.actual else []
        lines = [f"{path_of(mismatch.source, folder)}:{mismatch.source.line}", *differing, *mismatch.lines]
        failure.text = "\n".join(map(xml, lines))
