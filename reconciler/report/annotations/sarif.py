"""Findings as SARIF 2.1.0, which GitHub's code scanning and many editors show at their lines, with what they can correct. Pure.

A rule is a cause, with its page as help, or a rule of the project.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from posixpath import normpath
from typing import Any, Final

from reconciler import __version__
from reconciler.model import Edit, Finding, Fix, Severity, Source
from reconciler.report.annotations.findings import path_of, with_fingerprints
from reconciler.text import escape
from reconciler.text.pages import IN_REPOSITORY, LINK, CausePage, pages

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
