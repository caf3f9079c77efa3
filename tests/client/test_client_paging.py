"""Listings: read to their end, or said to be incomplete."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from client_fakes import SETTINGS, Leap, mock

from reconciler.client import WholeList
from reconciler.client.service import Reader
from reconciler.errors import NotFound, Rejected, ServiceError, Unavailable

Pages = dict[str | None, Any]


def page(ids: str, following: str | None = None, count: int | None = None) -> dict[str, Any]:
    body: dict[str, Any] = {"items": [{"id": c} for c in ids]}
    if following is not None:
        body["next"] = {"page": following}
    if count is not None:
        body["count"] = count
    return body


def read(*readings: Pages, seen: list[dict[str, str]] | None = None, **options: Any) -> WholeList:
    """List from a service that answers by page token; each time its first page is asked for, the next of `readings` begins."""
    begun = -1

    def handler(request: httpx2.Request) -> httpx2.Response:
        nonlocal begun
        query = dict(request.url.params)
        if seen is not None:
            seen.append(query)
        begun += "page" not in query
        body = readings[min(begun, len(readings) - 1)][query.get("page")]
        headers = {"Date": f"Sun, 17 Mar 2030 17:46:{len(query):02d} GMT"}
        return httpx2.Response(body, headers=headers) if isinstance(body, int) else httpx2.Response(200, json=body, headers=headers)

    async def main() -> WholeList:
        async with Reader(SETTINGS, transport=mock(handler), clock=Leap()) as reader:
            return await reader.list("/orgs/o/teams", **options)

    return asyncio.run(main())


def ids(listing: WholeList) -> str:
    return "".join(item["id"] for item in listing.items)


def test_pages_are_followed_to_the_last_with_the_query_and_the_greatest_limit() -> None:
    seen: list[dict[str, str]] = []
    listing = read({None: page("ab", "p+/=2"), "p+/=2": page("cd", "3"), "3": page("e")}, seen=seen, query={"order": "asc"})
    assert (ids(listing), listing.pages, listing.complete) == ("abcde", 3, True)
    first = {"order": "asc", "limit": "1000"}
    assert seen == [first, {**first, "page": "p+/=2"}, {**first, "page": "3"}]


def test_the_date_is_that_of_the_first_page() -> None:
    date = read({None: page("a", "2"), "2": page("b")}).date
    assert date is not None
    assert date.second == 1


def test_an_object_on_two_pages_is_one_as_it_was_last_seen() -> None:
    second = {"items": [{"id": "b", "new": True}, {"id": "c"}]}
    listing = read({None: page("ab", "2", count=3), "2": second})
    assert (ids(listing), listing.items[1]) == ("abc", {"id": "b", "new": True})


@pytest.mark.parametrize(
    ("readings", "found", "pages", "complete"),
    [
        pytest.param([{None: page("ab", count=2)}], "ab", 1, True, id="count agrees"),
        pytest.param([{None: page("ab", count=3)}, {None: page("abc", count=3)}], "abc", 2, True, id="agrees the second time"),
        pytest.param([{None: page("ab", count=3)}], "ab", 2, False, id="never agrees"),
        pytest.param([{None: page("abc", count=2)}], "abc", 2, True, id="more than counted"),
        pytest.param([{None: page("a", "2"), "2": page("b", "2")}], "ab", 2, False, id="a token twice"),
        pytest.param([{None: page("a", "2"), "2": page("b", "3"), "3": page("c", "2")}], "abc", 3, False, id="a circle"),
        pytest.param([{None: page("a", "2", 2), "2": page("b", "2", 2)}], "ab", 2, True, id="a token twice, all counted"),
        pytest.param([{None: page("", count=0)}], "", 1, True, id="empty"),
        pytest.param([{None: page("", "2"), "2": page("a")}], "a", 2, True, id="an empty page before the last"),
        pytest.param([{None: {**page("a"), "next": None}}], "a", 1, True, id="next is null"),
        pytest.param([{None: {**page("a"), "next": {}}}], "a", 1, True, id="next without a page"),
        pytest.param([{None: {**page("a"), "next": {"page": None}}}], "a", 1, True, id="page is null"),
        pytest.param([{None: {**page("a"), "count": True}}], "a", 1, True, id="count is no number"),
    ],
)
def test_a_listing_says_whether_it_is_complete(readings: list[Pages], found: str, pages: int, complete: bool) -> None:
    listing = read(*readings)
    assert (ids(listing), listing.pages, listing.complete) == (found, pages, complete)


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        None,
        "x",
        {"items": {}},
        {"items": ["a"]},
        {"items": [{}]},
        {"items": [{"id": 1}]},
        {"items": [{"id": ""}]},
        {"items": [None]},
        {"items": [], "next": 3},
        {"items": [], "next": {"page": 3}},
        {"items": [], "next": "x"},
    ],
)
def test_what_is_not_a_list_is_an_error_and_not_an_absence(body: Any) -> None:
    with pytest.raises(ServiceError, match="GET /orgs/o/teams: ") as caught:
        read({None: body})
    assert type(caught.value) is ServiceError


@pytest.mark.parametrize(
    ("status", "on_first", "on_second"), [(404, NotFound, ServiceError), (403, Rejected, Rejected), (500, Unavailable, Unavailable)]
)
def test_a_page_that_fails_fails_the_listing(status: int, on_first: type, on_second: type) -> None:
    for pages, error in (({None: status}, on_first), ({None: page("a", "2"), "2": status}, on_second)):
        with pytest.raises(ServiceError) as caught:
            read(pages)
        assert type(caught.value) is error


def test_a_key_may_be_anything_the_caller_says() -> None:
    body = {"items": [{"user": {"id": "u"}}, {"user": {"id": "v"}}, {"user": {"id": "u"}}]}
    assert len(read({None: body}, key=lambda item: item["user"]["id"]).items) == 2


def test_a_service_that_pages_on_forever_does_not_hang_us() -> None:
    number = 0

    def handler(_: httpx2.Request) -> httpx2.Response:
        nonlocal number
        number += 1
        return httpx2.Response(200, json=page("a", str(number)))

    async def main() -> None:
        async with Reader(SETTINGS, transport=mock(handler), clock=Leap()) as reader:
            await reader.list("/x")

    with pytest.raises(ServiceError, match="did not end after"):
        asyncio.run(main())
