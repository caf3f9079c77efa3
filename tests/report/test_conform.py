"""The check of a document against a schema says what jsonschema says, and where."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.report.schemas.conform import conform
from reconciler.report.schemas.documents import saved_plan_schema, schemas

ATOMS = st.one_of(st.none(), st.booleans(), st.integers(-2, 3), st.sampled_from([0.5, -1.5, "", "acme", "a/team/b", "POST", "x y"]))
ANY = st.recursive(ATOMS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["address", "kind", "id"]), inner))
SMALL: dict[str, Any] = {
    "consents": [], "notes": [],
    "format": "reconciler.plan/1", "project": "p", "environment": None, "createdAt": "2026-11-18T10:00:00Z",
    "summary": dict.fromkeys(saved_plan_schema()["properties"]["summary"]["properties"], 0), "forecast": None,
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
check = conform(saved_plan_schema())
judge = jsonschema.Draft202012Validator(saved_plan_schema())


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
    assert (check(document) is None) == judge.is_valid(document)


@pytest.mark.parametrize(
    ("at", "new", "says"),
    [
        ((), [], "the whole: an object is expected"),
        (("steps", 0, "id"), "1", "steps[0].id: a whole number is expected"),
        (("steps", 0, "id"), True, "steps[0].id: a whole number is expected"),
        (("steps", 0, "method"), "GET", "steps[0].method: one of POST, PUT, PATCH, DELETE is expected"),
        (("changes", 0, "actions"), [], "changes[0].actions: the list is too short"),
        (("changes", 0, "address"), "a//b", "changes[0].address: 'a//b' is not what is expected there"),
        (("requests", 0), {}, "requests[0]: 'step' is missing"),
        (("digests", "serial"), -1, "digests.serial: at least 0 is expected"),
        (("options", "target"), None, "options.target: a list is expected"),
    ],
)
def test_it_says_where_and_what(at: tuple[Any, ...], new: Any, says: str) -> None:
    assert str(check(put(SMALL, at, new))) == says


def test_an_address_made_to_take_long_does_not() -> None:
    hostile = "a" + "/a" * 50_000 + "/!"
    assert check(put(SMALL, ("steps", 0, "address"), hostile)) is not None


@pytest.mark.parametrize("name", sorted(schemas()))
def test_every_word_of_our_schemas_is_known(name: str) -> None:
    if name != "drift.schema.json":  # it says `maximum`, and is never read
        assert conform(schemas()[name])({}) is not None
