"""Findings as SARIF 2.1.0, which GitHub's code scanning and many editors show at their lines. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from reconciler import __version__
from reconciler.model import RULES, Finding, Severity
from reconciler.report.annotations.place import path_of, with_fingerprints

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
FINGERPRINT: Final = "reconciler/v1"
MEANINGS: Final = {
    "invalid": "The project cannot be loaded.",
    "plan/exposure": "More people can read something, or a protection is removed.",
    "plan/breaks": "A published URL stops working.",
    "plan/destroys": "Something is deleted or replaced.",
    "plan/blocked": "A resource cannot be changed as it is declared.",
    "plan/violation": "The plan violates a rule of the project.",
    "drift/changed": "Something was changed outside Reconciler.",
}


def sarif(findings: Sequence[Finding], *, folder: str = "") -> dict[str, Any]:
    """The log, with one run. `folder`: the project's, from the root of the repository."""
    places = {id: index for index, id in enumerate(dict.fromkeys(finding.id for finding in findings))}
    results = [_result(finding, places[finding.id], fingerprint, folder) for finding, fingerprint in with_fingerprints(findings, folder)]
    driver = {"name": "Reconciler", "semanticVersion": __version__, "rules": [_rule(id) for id in places]}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(id: str) -> dict[str, Any]:
    summary = RULES[id].summary if id in RULES else MEANINGS.get(id)
    return {"id": id} | ({"shortDescription": {"text": summary}} if summary is not None else {})


def _result(finding: Finding, index: int, fingerprint: str, folder: str) -> dict[str, Any]:
    about = f"{finding.address}: " if finding.address else ""
    then = f"\n{finding.remedy}" if finding.remedy else ""
    place: dict[str, Any] = {}
    if finding.source is not None:
        place["physicalLocation"] = {"artifactLocation": {"uri": quote(path_of(finding.source, folder))}}
        if finding.source.line:
            place["physicalLocation"]["region"] = {"startLine": finding.source.line, "startColumn": max(finding.source.column, 1)}
    if finding.address:
        place["logicalLocations"] = [{"fullyQualifiedName": finding.address}]
    return {
        "ruleId": finding.id,
        "ruleIndex": index,
        "level": "error" if finding.severity is Severity.ERROR else "warning",
        "message": {"text": f"{about}{finding.message}{then}"},
        "partialFingerprints": {FINGERPRINT: fingerprint},
    } | ({"locations": [place]} if place else {})
