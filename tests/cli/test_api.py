"""The words of `reconciler api`: fields, paths, selections."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.cli.commands.api import body, pick, selection, target, typed
from reconciler.errors import UsageError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None), ("true", True), ("false", False), ("0", 0), ("-12", -12), ("1.5", 1.5), ("1e3", 1000.0),
        ("007", "007"), ("1.", "1."), ("+1", "+1"), ("NaN", "NaN"), ("True", "True"), ("", ""), ("a=b", "a=b"),
    ],
)  # fmt: skip
def test_a_value_has_the_type_it_looks_like(text: str, value: Any) -> None:
    assert typed(text) == value
    assert type(typed(text)) is type(value)


@pytest.mark.parametrize(
    ("fields", "made"),
    [
        ((), None),
        (("title=Guides", "active=true"), {"title": "Guides", "active": True}),
        (("a[b]=c", "a[d][e]=1"), {"a": {"b": "c", "d": {"e": 1}}}),
        (("a[]=1", "a[]=x"), {"a": [1, "x"]}),
        (("a[][b]=1", "a[][b]=2"), {"a": [{"b": 1}, {"b": 2}]}),
        (("a[][b]=1", "a[][c]=2", "a[][b]=3"), {"a": [{"b": 1, "c": 2}, {"b": 3}]}),
        (("url=https://x.example/?a=b",), {"url": "https://x.example/?a=b"}),
        (("empty=",), {"empty": ""}),
    ],
)
def test_fields_make_a_body(fields: tuple[str, ...], made: Any) -> None:
    assert body(fields) == made


@pytest.mark.parametrize(
    "fields", [("title",), ("=x",), ("a[b=c",), ("a]b=c",), ("a=1", "a=2"), ("a=1", "a[b]=2"), ("a[]=1", "a[b]=2"), ("a[b]=1", "a[]=2")]
)
def test_fields_that_cannot_be_followed_are_refused(fields: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        body(fields)


@pytest.mark.parametrize(
    ("path", "place", "query"),
    [
        ("/orgs", "/orgs", {}),
        ("orgs/org_acme/", "/orgs/org_acme", {}),
        ("/v1/orgs", "/orgs", {}),
        ("/orgs?limit=5&page=a%20b&empty=", "/orgs", {"limit": "5", "page": "a b", "empty": ""}),
        ("/orgs/a b", "/orgs/a%20b", {}),
        ("/orgs/a%2Fb", "/orgs/a%2Fb", {}),
    ],
)
def test_a_path_is_encoded_as_the_client_wants_it(path: str, place: str, query: dict[str, str]) -> None:
    assert target(path) == (place, query)


@pytest.mark.parametrize("path", ["", "/", "//x", "/orgs//x", "/orgs/../x", "https://x.example/orgs", "/orgs/./x"])
def test_an_invalid_path_of_the_service_is_refused(path: str) -> None:
    with pytest.raises(UsageError):
        target(path)


ANSWER = {"items": [{"id": "a", "tags": ["x", "y"]}, {"id": "b"}], "next": {"page": "t"}, "odd key": 1}


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        (".", [ANSWER]),
        (".next.page", ["t"]),
        (".items[].id", ["a", "b"]),
        (".items[1].id", ["b"]),
        (".items[7].id", [None]),
        (".items[].tags[]", ["x", "y"]),
        ('.["odd key"]', [1]),
        (".nothing.there", [None]),
        (".items[0]", [ANSWER["items"][0]]),  # type: ignore[index]
    ],
)
def test_a_selection_finds_what_jq_would(expression: str, found: list[Any]) -> None:
    assert pick(ANSWER, selection(expression)) == found


@pytest.mark.parametrize("expression", ["items", ".items[", ".a | .b", "..", ".items[-1]", "map(.x)"])
def test_more_than_a_path_is_refused(expression: str) -> None:
    with pytest.raises(UsageError):
        selection(expression)
