"""Findings as GitLab's Code Quality report: a list, each with its file and line, shown beside the merge request. Pure.

Findings without a line are reported at the first line of the project file, because each entry needs a position.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from reconciler.model import Finding, Severity, Source
from reconciler.report.annotations.findings import path_of, with_fingerprints

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
