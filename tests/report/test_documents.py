"""The documents, their order, and their schemas."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from reconciler.model import Action, Blocked, StepStatus, Unknown
from reconciler.report.documents import outcome_document, path_text, plan_document
from reconciler.report.schemas.documents import schemas
from reconciler.report.words import data
from reconciler.resource import UNSET, Foreign
from tests.documents import valid
from tests.report.made import at, change, delta, outcome, plan, result, the_example

NOW = datetime(2026, 11, 21, 8, 0, 30, 5, tzinfo=timezone(timedelta(hours=1)))
SCHEMAS = Path(__file__).parents[2] / "schemas"


def test_the_plan_of_the_design_has_its_keys_in_their_order() -> None:
    document = valid(plan_document(the_example(), created_at=NOW), "plan")
    assert list(document) == [
        "format", "project", "environment", "createdAt", "summary", "forecast", "changes", "steps", "exposures", "broken",
        "forbidden", "violations", "unmanaged", "unknown", "inDoubt", "blocked", "notes",
    ]  # fmt: skip
    assert document["format"] == "reconciler.plan/1"
    assert document["createdAt"] == "2026-11-21T07:00:30Z"
    assert list(document["summary"].items()) == [
        ("create", 0), ("update", 1), ("move", 1), ("replace", 0), ("delete", 0), ("adopt", 1), ("forget", 0), ("restore", 1),
        ("unmanaged", 14), ("blocked", 0), ("requests", 3), ("outside", 0),
    ]  # fmt: skip
    assert document["changes"][0] == {
        "address": "acme/site/docs/section/guides",
        "kind": "section",
        "actions": ["update", "move"],
        "fields": [{"name": "title", "before": "Guide", "after": "Guides", "cause": "yours"}],
        "place": {
            "before": {"parent": "acme/site/docs", "previous": None},
            "after": {"parent": "acme/site/docs", "previous": "acme/site/docs/section/start"},
        },
        "reason": "",
        "source": {"file": "sites/docs.yaml", "line": 12},
    }
    assert list(document["changes"][0]) == ["address", "kind", "actions", "fields", "place", "reason", "source"]
    assert document["steps"][0] == {
        "id": 1,
        "address": "acme/site/docs/section/guides",
        "verb": "update",
        "method": "PATCH",
        "path": "/v1/orgs/org_acme/sites/{acme/site/docs}/sections/sec_1",
        "fields": ["title"],
        "needs": [],
        "after": [],
    }
    assert document["steps"][1]["needs"] == [1]
    assert document["unmanaged"][0] == {"kind": "space", "id": "spc_0", "title": "Space 0"}


def test_what_waits_cannot_be_read_or_is_in_doubt_is_in_the_document() -> None:
    made = plan(
        blocked=(Blocked(at("acme/site/docs"), "no", "yes", id="RC-waits"),),
        deferred={at("acme/site/docs/site-space/a"): "the service rearranges it"},
        unknown=(Unknown("team", "org_acme", "503"), Unknown("site", None, "500")),
        in_doubt=(at("acme/team/x"),),
    )
    document = valid(plan_document(made, created_at=NOW), "plan")
    assert [one["address"] for one in document["blocked"]] == ["acme/site/docs", "acme/site/docs/site-space/a"]
    assert document["blocked"][1]["reason"] == "in a second run: the service rearranges it"
    assert document["summary"]["blocked"] == 2
    assert document["unknown"] == [
        {"kind": "team", "reason": "in org_acme: 503", "id": "RC-unread"},
        {"kind": "site", "reason": "500", "id": "RC-unread"},
    ]
    assert document["inDoubt"] == ["acme/team/x"]


def test_no_sensitive_value_is_in_a_document() -> None:
    secret = delta("certificate", "s3cret", "s3cret2", sensitive=True)
    document = valid(plan_document(plan(change("acme/saml/okta", Action.UPDATE, fields=(secret,))), created_at=NOW), "plan")
    assert "s3cret" not in json.dumps(document)


def test_notes_of_fields_are_part_of_the_reason() -> None:
    noted = change("acme/team/x", Action.UPDATE, fields=(delta("members", UNSET, [at("acme/member/a@b.c")], note="cannot be set"),))
    document = valid(plan_document(plan(noted), created_at=NOW), "plan")
    assert document["changes"][0]["reason"] == "members: cannot be set"
    assert document["changes"][0]["fields"][0] == {"name": "members", "before": None, "after": ["acme/member/a@b.c"], "cause": "yours"}
    assert document["changes"][0]["place"] is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (UNSET, None),
        (at("acme/space/x"), "acme/space/x"),
        (Foreign("spc_1"), {"id": "spc_1"}),
        (frozenset({"b", "a"}), ["a", "b"]),
        ((1, 2.5, True, None), [1, 2.5, True, None]),
        ({"a": {"b": at("acme")}}, {"a": {"b": "acme"}}),
        (float("nan"), "nan"),
        (datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T00:00:00+00:00"),
    ],
)
def test_every_value_has_a_form_in_json(value: Any, expected: Any) -> None:
    assert data(value) == expected


def test_no_part_of_a_path_leaves_its_segment() -> None:
    assert path_text(("orgs", "a/b?c#d", at("acme/site/docs"))) == "/v1/orgs/a%2Fb%3Fc%23d/{acme/site/docs}"


def test_an_outcome_has_its_keys_in_their_order() -> None:
    made = outcome(
        result(1, "acme/team/a", StepStatus.DONE), result(2, "acme/team/b", StepStatus.FAILED, "400"),
        result(3, "acme/team/c", StepStatus.SKIPPED, "requires step 2"), result(4, "acme/team/d", StepStatus.IN_DOUBT, "cut"), requests=3,
    )  # fmt: skip
    document = valid(outcome_document(made), "outcome")
    assert list(document) == ["format", "project", "environment", "summary", "steps", "edited", "leftover", "unverified", "savedPlan"]
    counts = ["done", "failed", "skipped", "inDoubt", "stale", "requests", "outside"]
    assert list(document["summary"].items()) == list(zip(counts, (1, 1, 1, 1, 0, 3, 0), strict=True))
    assert document["steps"][3] == {
        "id": 4, "address": "acme/team/d", "verb": "update", "status": "in-doubt", "error": "cut", "cause": "RC-outcome-unknown",
    }  # fmt: skip
    assert (document["steps"][0]["error"], document["steps"][0]["cause"]) == (None, None)


def test_every_schema_is_a_schema_and_the_one_that_is_checked_in() -> None:
    for name, schema in schemas().items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert json.loads((SCHEMAS / name).read_text(encoding="utf-8")) == schema, f"{name}: run: python schemas/generate.py"


def test_a_schema_refuses_what_is_not_in_the_document() -> None:
    document = plan_document(the_example(), created_at=NOW)
    for wrong in (
        {**document, "more": 1},
        {**document, "format": "reconciler.plan/2"},
        {k: v for k, v in document.items() if k != "steps"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            valid(wrong, "plan")
