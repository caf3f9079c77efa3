"""Paths, base addresses and settings: pure.

Listings: read to their end, or said to be incomplete.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest
from client_fakes import SETTINGS, TOKEN, Leap, mock
from hypothesis import given, strategies as st

from reconciler.client import ClientSettings, WholeList, encode, joined
from reconciler.client.paths import checked
from reconciler.client.service import Reader
from reconciler.errors import NotFound, ReconcilerError, Rejected, ServiceError, Unavailable, UsageError
from reconciler.text.service_url import normalise
from tests.effort import within


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("org_1", "/orgs/org_1/teams"),
        ("..", "/orgs/%2E%2E/teams"),
        (".", "/orgs/%2E/teams"),
        ("a/../../b", "/orgs/a%2F..%2F..%2Fb/teams"),
        ("é ü", "/orgs/%C3%A9%20%C3%BC/teams"),
        ("?x=1#y", "/orgs/%3Fx%3D1%23y/teams"),
        ("%2F", "/orgs/%252F/teams"),
        ("{other}", "/orgs/%7Bother%7D/teams"),
        ("ada@acme.example", "/orgs/ada%40acme.example/teams"),
    ],
)
def test_a_value_is_encoded_wholly(value: str, path: str) -> None:
    assert encode("/orgs/{org}/teams", {"org": value}) == path
    assert joined(("orgs", value, "teams")) == path


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1))
def test_no_value_leaves_its_segment_and_every_value_can_be_read_back(value: str) -> None:
    path = encode("/orgs/{org}/teams", {"org": value})
    assert checked(path) == path
    segments = httpx2.URL(f"https://host{path}").raw_path.decode().split("/")
    assert (segments[:2], segments[3:], unquote(segments[2])) == (["", "orgs"], ["teams"], value)


@pytest.mark.parametrize("values", [{}, {"org": ""}, {"org": "\ud800"}])
def test_a_value_that_is_missing_or_empty_or_no_text_is_refused(values: dict[str, str]) -> None:
    with pytest.raises(ReconcilerError, match=r"\{org\}"):
        encode("/orgs/{org}/teams", values)


@pytest.mark.parametrize("value", ["", "\ud800"])
def test_a_segment_that_is_empty_or_no_text_is_refused(value: str) -> None:
    with pytest.raises(ReconcilerError, match="the path /orgs/"):
        joined(("orgs", value, "teams"))


@pytest.mark.parametrize(
    "path", ["", "orgs", "/orgs/", "/orgs//x", "/orgs/../x", "/orgs/.", "/orgs?x=1", "/a b", "/é", "/%zz", "/a#b", "/a\n"]
)
def test_a_path_that_was_not_encoded_is_refused(path: str) -> None:
    with pytest.raises(ReconcilerError, match="not encoded"):
        checked(path)


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("https://API.Example.com", "https://api.example.com"),
        ("HTTPS://api.example.com/", "https://api.example.com"),
        ("https://api.example.com:443", "https://api.example.com"),
        ("https://api.example.com/v1", "https://api.example.com"),
        ("https://api.example.com/v1/", "https://api.example.com"),
        ("https://gate.example.com/Docs/v1/v1", "https://gate.example.com/Docs"),
        ("https://gate.example.com/docsv1", "https://gate.example.com/docsv1"),
        ("https://api.example.com:8443//", "https://api.example.com:8443"),
        ("https://gate.example.com/Docs/", "https://gate.example.com/Docs"),
        (" http://localhost:80 ", "http://localhost"),
        ("http://LOCALHOST:8000/", "http://localhost:8000"),
        ("http://127.0.0.2:1", "http://127.0.0.2:1"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("https://[2001:DB8::1]", "https://[2001:db8::1]"),
    ],
)
def test_a_base_address_has_one_spelling(written: str, normal: str) -> None:
    assert normalise(written) == normal
    assert normalise(normal) == normal


@pytest.mark.parametrize("end", ["/" * 20_000 + "x", "/v1" * 20_000 + "/x"])
def test_a_base_address_of_any_length_is_read_at_once(end: str) -> None:
    with suppress(ReconcilerError):
        within(0.5, lambda: normalise(f"https://api.example.com{end}"))


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("", "not the URL"),
        ("api.example.com", "not the URL"),
        ("ftp://api.example.com", "not the URL"),
        ("https://", "not the URL"),
        ("https://api.example.com?x=1", "not the URL"),
        ("https://api.example.com#x", "not the URL"),
        ("https://api.example.com/a b", "not the URL"),
        ("https://api.example.com/a/../b", "contains"),
        ("https://api.example.com:port", "is invalid"),
        ("https://[::1", "is invalid"),
        ("https://[v1.x]", "not"),
        ("https://[fe80::1%eth0]", "not"),
        ("https://api.exa\nmple.com", "not the URL"),
        ("https://exämple.com", "ASCII"),
        ("http://api.example.com", "unencrypted"),
        ("http://localhost.evil.example", "unencrypted"),
        ("http://127.0.0.1.evil.example", "unencrypted"),
        ("http://10.0.0.1", "unencrypted"),
        ("https://user:s3cret@api.example.com", "credentials"),
        ("https://s3cret@api.example.com", "credentials"),
    ],
)
def test_nonsense_credentials_and_plain_http_are_refused_with_a_hint(written: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        normalise(written)
    assert caught.value.hint
    assert "s3cret" not in f"{caught.value}{caught.value.hint}"


@given(st.text())
def test_any_text_is_normalised_or_refused(written: str) -> None:
    for text in (written, f"https://{written}"):
        with suppress(UsageError):
            assert normalise(normalise(text)) == normalise(text)


@pytest.mark.parametrize(
    "options",
    [{"token": ""}, {"token": "a b"}, {"token": "a\r\nX: y"}, {"token": "é"}, {"timeout": 0.0}, {"max_concurrency": 0}, {"max_rps": -1.0}],
)
def test_settings_that_cannot_work_are_refused_without_showing_the_token(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        ClientSettings(**{"base_url": "https://api.example.com", "token": TOKEN, **options})
    assert TOKEN not in str(caught.value)


def test_settings_normalise_their_address_and_hide_their_token() -> None:
    settings = ClientSettings("HTTPS://Api.example.com:443/", TOKEN)
    assert settings.base_url == "https://api.example.com"
    assert TOKEN not in repr(settings)


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
    listing = read({None: page("ab", "2", count=3), "2": {"items": [{"id": "b", "new": True}, {"id": "c"}]}})
    assert (ids(listing), listing.items[1]) == ("abc", {"id": "b", "new": True})


@pytest.mark.parametrize(
    ("readings", "found", "pages", "complete"),
    [
        pytest.param([{None: page("ab", count=2)}], "ab", 1, True, id="count agrees"),
        pytest.param([{None: page("ab", count=3)}, {None: page("abc", count=3)}], "abc", 2, True, id="agrees the second time"),
        pytest.param([{None: page("ab", count=3)}], "ab", 2, False, id="never agrees"),
        pytest.param([{None: page("abc", count=2)}], "abc", 2, True, id="more than counted"),
        pytest.param([{None: page("a", "2"), "2": page("b", "2")}], "ab", 4, False, id="a token twice"),
        pytest.param(
            [{None: page("a", "2"), "2": page("b", "3"), "3": page("", "3")}], "ab", 3, True, id="an empty page whose token repeats"
        ),
        pytest.param([{None: page("a", "2"), "2": page("b", "3"), "3": page("c", "2")}], "abc", 6, False, id="a circle"),
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
