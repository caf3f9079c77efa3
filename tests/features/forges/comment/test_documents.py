"""Documents as parts of a comment: every deletion, exposure and failure is urgent, and a part is read again as it was written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from reconciler.features.forges.comment.body import CommentText, body, comment_of
from reconciler.features.forges.comment.part import Dialect, PartOrigin, part
from reconciler.report.reading import sheet_of
from reconciler.report.schemas.documents import documents, problem, schemas
from reconciler.report.sheet import Sheet
from tests.contains import assert_contains
from tests.features.forges.comment.made import EVIL
from tests.proofs import costly, sampled, tries
from tests.report.test_reading import AT, change, plan, urgent


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


def test_sensitive_values_and_unknown_ones_are_shown_as_such() -> None:
    fields = [{"name": "secret", "before": "(sensitive)", "after": "(sensitive)", "cause": "yours"}]
    _, rest = lines(sheet_of(plan(changes=[change("acme/integration/a", "update", fields=fields)])))
    assert "! ~ secret  (sensitive)" in rest
    assert "->" not in rest


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
