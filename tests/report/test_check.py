"""The check of a document agrees with its JSON Schema, and says what is wrong and where."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from reconciler.report.schemas.documents import DOCUMENTS, PROBLEMS_MAX, problem
from reconciler.report.schemas.plan import SavedPlanDocument, SummaryData
from tests.documents import validator
from tests.effort import within

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
    hostile = "a" + "/a" * 50_000 + "/!"
    assert check(put(SMALL, ("steps", 0, "address"), hostile)) is not None


def test_text_with_an_unpaired_surrogate_is_text() -> None:
    assert check(put(SMALL, ("notes",), ["\ud800"])) is None


def test_a_document_with_a_million_problems_is_refused_at_once() -> None:
    hostile = {str(number): number for number in range(500_000)}
    assert within(2, lambda: check(SMALL | hostile)) == "it is wrong in 500,000 places"
    assert within(2, lambda: check(put(SMALL, ("steps",), [1] * 500_000))) == "steps[0] must be an object"
    assert check(SMALL | {str(number): number for number in range(PROBLEMS_MAX)}) == "the document has an unknown key '0'"


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_every_document_can_be_checked(name: str) -> None:
    _, document = DOCUMENTS[name]
    assert str(problem(document, {})).startswith("the document has no ")
