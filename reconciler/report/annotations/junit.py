"""Findings as JUnit: one test case each, an error fails. Pure.

GitLab and Jenkins show the failed ones beside a merge request. A report without errors still has a test, which passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from reconciler.model import Finding, Severity
from reconciler.report.annotations.findings import path_of
from reconciler.text.escape import xml


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
