"""The documents, their order, and their schemas.

Documents that version 0.1 wrote, before they were defined as types, are still read.
The check of a document agrees with its JSON Schema, and says what is wrong and where."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, strategies as st

from reconciler.model import Action, Blocked, StepStatus, Unknown
from reconciler.report.documents import outcome_document, path_text, plan_document
from reconciler.report.schemas.documents import PROBLEMS_MAX, documents, problem, schemas
from reconciler.report.schemas.plan import SavedPlanDocument, SummaryData
from reconciler.report.words import data
from reconciler.resource import UNSET, Foreign
from reconciler.run.saved import plan_file
from reconciler.state import StateScope, Store
from tests.documents import valid, validator
from tests.effort import within
from tests.proofs import costly
from tests.report.made import at, change, delta, outcome, plan, result, the_example

NOW = datetime(2026, 11, 21, 8, 0, 30, 5, tzinfo=timezone(timedelta(hours=1)))


def test_the_plan_of_the_design_has_its_keys_in_their_order() -> None:
    document = valid(plan_document(the_example(), created_at=NOW), "plan")
    assert list(document) == [
        "format", "project", "environment", "createdAt", "summary", "forecast", "changes", "steps", "exposures", "broken",
        "forbidden", "violations", "unmanaged", "unknown", "inDoubt", "blocked", "notes",
    ]  # fmt: skip
    assert (document["format"], document["createdAt"]) == ("reconciler.plan/1", "2026-11-21T07:00:30Z")
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
        unknown=(Unknown("team", "org_acme", "503"), Unknown("site-health", None, "500")),
        in_doubt=(at("acme/team/x"),),
    )
    document = valid(plan_document(made, created_at=NOW), "plan")
    assert [one["address"] for one in document["blocked"]] == ["acme/site/docs", "acme/site/docs/site-space/a"]
    assert document["blocked"][1]["reason"] == "in a second run: the service rearranges it"
    assert document["summary"]["blocked"] == 2
    assert document["unknown"] == [
        {"kind": "team", "reason": "in org_acme: 503", "id": "RC-unread"},
        {"kind": "site-health", "reason": "500", "id": "RC-unread"},
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
    field = {"name": "members", "before": None, "after": ["acme/member/a@b.c"], "cause": "yours", "note": "cannot be set"}
    assert document["changes"][0]["fields"][0] == field
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
    counts = ["done", "failed", "skipped", "asked", "inDoubt", "stale", "requests", "outside"]
    assert list(document["summary"].items()) == list(zip(counts, (1, 1, 1, 0, 1, 0, 3, 0), strict=True))
    assert document["steps"][3] == {
        "id": 4, "address": "acme/team/d", "verb": "update", "status": "in-doubt", "error": "cut", "cause": "RC-outcome-unknown",
    }  # fmt: skip
    assert (document["steps"][0]["error"], document["steps"][0]["cause"]) == (None, None)


@costly
def test_every_schema_is_a_schema() -> None:
    for schema in schemas().values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_a_schema_refuses_what_is_not_in_the_document() -> None:
    document = plan_document(the_example(), created_at=NOW)
    for wrong in (
        {**document, "more": 1},
        {**document, "format": "reconciler.plan/2"},
        {k: v for k, v in document.items() if k != "steps"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            valid(wrong, "plan")


FOLDER = Path(__file__).parent / "documents_of_0_1"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


def written(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


LATER = {
    "access", "findings", "fleet-approval", "fleet-audit", "fleet-plan", "fleet-preview", "fleet-status", "health", "proposal",
    "rehearsal", "site-health", "test-results", "url-history", "urls",
}  # fmt: skip
"""Documents that were types from the beginning."""


def test_there_is_one_of_every_format() -> None:
    assert sorted(set(documents()) - LATER) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_document_of_0_1_is_valid(name: str) -> None:
    assert problem(documents()[name].shape, written(name)) is None
    valid(written(name), name)


def test_a_saved_plan_of_0_1_is_read() -> None:
    assert plan_file.read(FOLDER / "saved-plan.json").document == written("saved-plan")


def test_a_state_of_0_1_can_be_pushed_and_comes_back_byte_for_byte(tmp_path: Path) -> None:
    found = written("state")
    scope = StateScope(found["project"], found["environment"], found["service"])
    with Store.open(f"sqlite:///{tmp_path}/state.db", scope, clock=lambda: datetime.now(UTC), create=True) as store:
        checked = store.check(found)
        with store.lease(who="ada@desk", command="state push") as journal:
            journal.replace(checked, force=False)
            journal.finish(exit_code=0, summary={})
        pulled: Any = store.pull()
    pulled["runs"] = pulled["runs"][: len(found["runs"])]  # the last one is the push
    assert json.dumps(pulled) == json.dumps(found)


ATOMS = st.one_of(st.none(), st.booleans(), st.integers(-2, 3), st.sampled_from([0.5, -1.5, "", "acme", "a/team/b", "POST", "x y"]))
ANY = st.recursive(ATOMS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["address", "kind", "id"]), inner))
SMALL: dict[str, Any] = {
    "consents": [], "notes": [],
    "format": "reconciler.plan/1", "project": "p", "environment": None, "createdAt": "2026-11-18T10:00:00Z",
    "summary": dict.fromkeys(SummaryData.__annotations__, 0), "forecast": None,
    "changes": [
        {"address": "acme/team/a", "kind": "team", "actions": ["create"], "fields": [], "place": None, "reason": "", "source": None},
    ],
    "steps": [
        {"id": 1, "address": "acme/team/a", "verb": "create", "method": "PUT", "path": "/v1/x", "fields": ["a"], "needs": [], "after": []},
    ],
    "exposures": [], "broken": [], "forbidden": [], "unmanaged": [], "unknown": [], "inDoubt": [], "blocked": [],
    "madeBy": "1", "service": "s", "options": {"target": [], "exclude": [], "allowReplace": [], "allowDelete": None, "allowExposure": []},
    "digests": {"configuration": None, "lineage": "", "serial": 0},
    "preconditions": [{"address": "acme/team/a", "id": None, "seen": None}], "requests": [{"step": 1, "digest": "d"}],
}  # fmt: skip
JUDGE = validator("saved-plan")


def check(document: Any) -> str | None:
    return problem(SavedPlanDocument, document)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, part in parts for place in places(part, (*at, key)))]


def put(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    if not at:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[at[0]] = put(value[at[0]], at[1:], new)
    return copy


@given(st.sampled_from(places(SMALL)), ANY)
def test_it_agrees_with_jsonschema_on_every_value_at_every_place(at: tuple[Any, ...], new: Any) -> None:
    document = put(SMALL, at, new)
    assert (check(document) is None) == JUDGE.is_valid(document)


@pytest.mark.parametrize(
    ("at", "new", "says"),
    [
        ((), [], "the document must be an object"),
        (("steps", 0, "id"), "1", "steps[0].id must be a whole number, not '1'"),
        (("steps", 0, "id"), True, "steps[0].id must be a whole number"),
        (("steps", 0, "method"), "GET", "steps[0].method must be one of 'POST', 'PUT', 'PATCH' or 'DELETE', not 'GET'"),
        (("changes", 0, "actions"), [], "changes[0].actions must be a list of at least 1"),
        (("changes", 0, "address"), "a//b", "changes[0].address is 'a//b', which is not valid there"),
        (("requests", 0), {}, "requests[0] has no 'step'"),
        (("digests", "serial"), -1, "digests.serial must be at least 0"),
        (("options", "target"), None, "options.target must be a list"),
    ],
)
def test_it_says_where_and_what(at: tuple[Any, ...], new: Any, says: str) -> None:
    assert check(put(SMALL, at, new)) == says


def test_an_address_made_to_take_long_does_not() -> None:
    assert check(put(SMALL, ("steps", 0, "address"), "a" + "/a" * 50_000 + "/!")) is not None


def test_text_with_an_unpaired_surrogate_is_text() -> None:
    assert check(put(SMALL, ("notes",), ["\ud800"])) is None


def test_a_document_with_a_million_problems_is_refused_at_once() -> None:
    hostile = {str(number): number for number in range(500_000)}
    assert within(2, lambda: check(SMALL | hostile)) == "it is wrong in 500,000 places"
    assert within(2, lambda: check(put(SMALL, ("steps",), [1] * 500_000))) == "steps[0] must be an object"
    assert check(SMALL | {str(number): number for number in range(PROBLEMS_MAX)}) == "the document has an unknown key '0'"


@pytest.mark.parametrize("name", sorted(documents()))
def test_every_document_can_be_checked(name: str) -> None:
    document = documents()[name].shape
    assert str(problem(document, {})).startswith("the document has no ")
