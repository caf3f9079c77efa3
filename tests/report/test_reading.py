"""Documents as sheets and parts of a comment: every deletion, exposure and failure is urgent, and the headline counts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from reconciler.features.forges.comment.body import CommentText, body, comment_of
from reconciler.features.forges.comment.part import Dialect, PartOrigin, part
from reconciler.report.formats.markdown import entry_text
from reconciler.report.reading import formats, sheet_of
from reconciler.report.schemas.documents import documents, problem, schemas
from reconciler.report.sheet import Sheet, SheetEntry, Weight
from tests.contains import assert_contains
from tests.features.forges.comment.made import EVIL
from tests.proofs import costly, sampled, tries

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


def lines(sheet: Sheet) -> tuple[str, str]:
    written = part(sheet, "acme", PartOrigin((1, 1)))
    return "\n".join(written.urgent), "\n".join(written.others)


def test_a_plan_says_first_what_destroys_exposes_breaks_and_violates() -> None:
    title = {"name": "title", "before": "Guide", "after": "Guides", "cause": "drift"}
    exposed = {"address": "acme/site/docs", "kind": "site", "field": "visibility", "before": "private", "after": "public", "says": "anyone"}
    exposed |= {
        "readers": ["anyone"],
        "path": ["a", "b"],
        "cause": None,
        "reaches": ["acme/space/x"],
        "window": 0,
        "asked": True,
        "source": AT,
    }
    broken = {"address": "acme/site/docs", "kind": "site", "before": "https://a", "after": None, "reason": "the path changes", "source": AT}
    violated = {
        "sort": "policy",
        "rule": "two-admins",
        "address": None,
        "level": "error",
        "message": "one admin",
        "path": [],
        "remedy": "add",
    }
    violated |= {"source": None, "declared": None}
    made = sheet_of(
        plan(
            changes=[
                change("acme/space/new", "create", fields=[title | {"before": None}]),
                change("acme/space/old", "delete", reason="no longer declared"),
                change("acme/space/other", "replace"),
                change("acme/space/moved", "update", "move", fields=[title], place={
                    "before": {"parent": None, "previous": None}, "after": {"parent": None, "previous": "acme/space/new"}}),
            ],
            exposures=[exposed], broken=[broken], violations=[violated, violated | {"level": "warning", "rule": "emoji"}],
            blocked=[{"address": "acme/space/b", "reason": "is protected", "remedy": "protect: false", "cause": None}],
            summary={"blocked": 1},
        )
    )  # fmt: skip
    serious, rest = lines(made)
    assert [entry.title for entry in urgent(made)] == [
        "acme/site/docs",
        "the whole plan",
        "acme/space/other",
        "acme/space/old",
    ]
    assert_contains(
        serious,
        "visibility private -> public: anyone",
        "https://a  (the path changes)",
        "policy two-admins: one admin",
    )
    assert_contains(
        rest,
        "! ~ title  Guide -> Guides  (drift)\n! > after  acme/space/new",
        "+ title  Guides",
        "blocked  is protected\n    protect: false",
    )
    assert made.headline == (
        "1 to create, 1 to update, 1 to move, 1 to replace, 1 to delete; "
        "1 blocked, 1 exposure, 1 published URL broken, 1 violation, 1 warning."
    )
    assert not made.quiet


def test_a_plan_without_changes_is_quiet_and_a_comparison_of_files_is_a_diff() -> None:
    unchanged = sheet_of(plan())
    assert (unchanged.kind, unchanged.headline, unchanged.quiet, unchanged.entries) == ("plan", "No changes.", True, [])
    assert sheet_of(plan(summary={"unmanaged": None})).kind == "diff"
    assert not sheet_of(plan(unknown=[{"kind": "space", "reason": "403"}])).quiet
    assert sheet_of(plan(changes=[change("acme/space/s", "transfer")], summary={"requests": 1})).headline == "1 to transfer."


def test_sensitive_values_and_unknown_ones_are_shown_as_such() -> None:
    fields = [{"name": "secret", "before": "(sensitive)", "after": "(sensitive)", "cause": "yours"}]
    _, rest = lines(sheet_of(plan(changes=[change("acme/integration/a", "update", fields=fields)])))
    assert "! ~ secret  (sensitive)" in rest
    assert "->" not in rest


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


def value(schema: Mapping[str, Any], random: Random, definitions: Mapping[str, Any]) -> Any:
    """Anything that a schema allows, with texts that nobody expects."""
    if "$ref" in schema:
        return value(definitions[schema["$ref"].rpartition("/")[2]], random, definitions)
    if "anyOf" in schema:
        return value(random.choice(schema["anyOf"]), random, definitions)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return random.choice(schema["enum"])
    if "stable name" in schema.get("description", ""):  # its pattern allows more than an address does
        return random.choice(["acme", "acme/space/x-1", "acme/site/docs/section/a"])
    if "pattern" in schema:
        matching = [
            text
            for text in ("/v1/x", "space", "acme/space/x-1", "0" * 40, "0" * 64, "hmac-sha256:" + "0" * 64, "RC-waits")
            if re.search(schema["pattern"], text)
        ]
        return random.choice(matching)
    match schema.get("type"):
        case "object":
            required = schema.get("required", ())
            wanted = [name for name in schema.get("properties", {}) if name in required or random.random() < 0.5]
            return {name: value(schema["properties"][name], random, definitions) for name in wanted}
        case "array":
            made = [value(schema["items"], random, definitions) for _ in range(random.randint(schema.get("minItems", 0), 3))]
            return made if not schema.get("uniqueItems") else list(dict.fromkeys(made))
        case "string":
            return {"date-time": "2026-11-23T08:00:00Z", "date": "2026-11-23"}.get(
                schema.get("format", ""), random.choice(["", "x", *EVIL])
            )
        case "integer" | "number":
            return random.randint(int(schema.get("minimum", 0)), int(schema.get("maximum", 9)))
        case "boolean":
            return random.random() < 0.5
        case "null":
            return None
        case _:
            return random.choice([None, 7, "(sensitive)", random.choice(EVIL), [1, "a"], {"a": {"b": [1, {"c": None}]}}, [{"x": 1}], {}])


@costly
@sampled
@pytest.mark.parametrize("name", ["plan", "saved-plan", "outcome", "drift", "findings"])
def test_every_document_that_is_valid_is_shown_and_read_again(name: str) -> None:
    schema = schemas()[f"{name}.schema.json"]
    for seed in range(tries(1_000, 12)):
        document = value(schema, Random(seed), schema.get("$defs", {}))
        assert problem(documents()[name].shape, document) is None
        made = part(sheet_of(document), "acme", PartOrigin((seed, 1)))
        written = comment_of(body(CommentText("", (made,)), Dialect(65_500))[0])
        assert written is not None
        assert [again.version for again in written.parts] == [made.version]


def test_every_format_is_that_of_a_document() -> None:
    known = {shape.__annotations__.get("format") for shape in (row.shape for row in documents().values())}
    assert all(any(name in str(format) for format in known) for name in formats() if name != "reconciler.plan/1")
