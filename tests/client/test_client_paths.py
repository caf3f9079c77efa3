"""Paths, base addresses and settings: pure."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest
from client_fakes import TOKEN
from hypothesis import given, strategies as st

from reconciler.client import ClientSettings, encode, joined, normalise
from reconciler.client.paths import checked
from reconciler.errors import ReconcilerError, UsageError


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
        ("https://api.example.com/v1", "ends with /v1"),
        ("https://api.example.com/v1/", "ends with /v1"),
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
