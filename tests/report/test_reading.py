"""Documents as sheets: every deletion, exposure and failure is urgent, and the headline counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.report.formats.markdown import entry_text
from reconciler.report.reading import formats, sheet_of
from reconciler.report.schemas.documents import documents
from reconciler.report.sheet import Sheet, SheetEntry, Weight

FOLDER = Path(__file__).parent / "documents_of_0_1"
AT = {"file": "sites/docs.yaml", "line": 12}


def change(address: str, *actions: str, **more: Any) -> dict[str, Any]:
    return {"address": address, "kind": "space", "actions": list(actions), "fields": [], "place": None, "reason": "", "source": AT, **more}


def plan(**parts: Any) -> dict[str, Any]:
    names = ("create", "update", "move", "replace", "delete", "adopt", "forget", "restore", "blocked", "requests", "outside", "unmanaged")
    summary = dict.fromkeys(names, 0)
    for made in parts.get("changes", []):
        for action in made["actions"]:
            summary[action] = summary.get(action, 0) + 1
    lists = ("changes", "steps", "exposures", "broken", "forbidden", "violations", "unmanaged", "unknown", "inDoubt", "blocked", "notes")
    document: dict[str, Any] = {name: [] for name in lists}
    document |= {"format": "reconciler.plan/1", "project": "acme", "environment": None, "createdAt": "", "forecast": None}
    return document | parts | {"summary": summary | parts.get("summary", {})}


def urgent(sheet: Sheet) -> list[SheetEntry]:
    return [entry for entry in sheet.entries if entry.weight is Weight.URGENT]


def test_a_plan_without_changes_is_quiet_and_a_comparison_of_files_is_a_diff() -> None:
    unchanged = sheet_of(plan())
    assert (unchanged.kind, unchanged.headline, unchanged.quiet, unchanged.entries) == ("plan", "No changes.", True, [])
    assert sheet_of(plan(summary={"unmanaged": None})).kind == "diff"
    assert not sheet_of(plan(unknown=[{"kind": "space", "reason": "403"}])).quiet
    assert sheet_of(plan(changes=[change("acme/space/s", "transfer")], summary={"requests": 1})).headline == "1 to transfer."


def test_failed_requests_of_an_apply_are_serious() -> None:
    steps = [
        {"id": number, "address": f"acme/space/s{number}", "verb": "update", "status": status, "error": error}
        for number, (status, error) in enumerate([("done", None), ("failed", "400"), ("in-doubt", None), ("skipped", "waits")], 1)
    ]
    document = {
        "format": "reconciler.outcome/1",
        "project": "acme",
        "environment": "prod",
        "summary": {"done": 1, "failed": 1, "skipped": 1, "inDoubt": 1, "stale": 0, "requests": 4, "outside": 0},
        "steps": steps,
        "edited": [],
    }
    document |= {
        "leftover": ["acme/space/x"],
        "unverified": [],
        "savedPlan": {"refused": [{"address": "acme/space/r", "reason": "it changed"}], "new": []},
    }
    made = sheet_of(document)
    assert [entry.title for entry in urgent(made)] == ["acme/space/s2", "acme/space/s3", "acme/space/r"]
    assert made.headline == "Applied 1 of 4 requests: 1 failed, 1 in doubt, 1 skipped, 1 refused."
    assert (made.project, made.environment) == ("acme", "prod")


def test_problems_of_a_project_are_serious_where_they_are_errors() -> None:
    finding = {"id": "invalid", "severity": "error", "message": 'unknown field "titel"', "address": None, "remedy": None, "fix": None}
    findings = [finding | {"severity": "warning", "id": "emoji", "source": None}, finding | {"source": {**AT, "column": 1}}]
    summary = {"error": 1, "warning": 1, "fixable": 0}
    made = sheet_of({"format": "reconciler.findings/1", "project": None, "environment": None, "summary": summary, "findings": findings})
    assert [entry.title for entry in urgent(made)] == ["sites/docs.yaml:12"]
    assert made.headline == "1 error, 1 warning."


@pytest.mark.parametrize("name", ["plan", "saved-plan", "outcome", "drift"])
def test_documents_of_every_version_are_shown(name: str) -> None:
    made = sheet_of(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))
    assert made.headline.endswith(".")
    assert made.kind == ("plan" if name == "saved-plan" else name)
    assert all(entry_text(entry) for entry in made.entries)


def test_every_format_is_that_of_a_document() -> None:
    known = {shape.__annotations__.get("format") for shape in (row.shape for row in documents().values())}
    assert all(any(name in str(format) for format in known) for name in formats() if name != "reconciler.plan/1")
