"""Credentials in texts are found in every form of a URL, and masked without a trace; ordinary texts are left unchanged."""

from __future__ import annotations

import html
import json
from typing import Any

import pytest

from reconciler.text.credentials import concealed, has_credentials, without_credentials
from reconciler.text.redact import Mask

SECRET = [
    ("https://ci:hunter2@api.acme.example/x", "https://(hidden)@api.acme.example/x"),
    ("https://token99@api.acme.example/x", "https://(hidden)@api.acme.example/x"),
    ("see http://u:p%40ss@h.example, please", "see http://(hidden)@h.example, please"),
    ("https://u:p@ss@h.example/x", "https://(hidden)@h.example/x"),
    ("postgresql://ada:pw@db.example/x", "postgresql://(hidden)@db.example/x"),
    ("https://h.example/x?private_token=glpat-1", "https://h.example/x?private_token=(hidden)"),
    ("https://h.example/x?a=1&access_token=abc&b=2", "https://h.example/x?a=1&access_token=(hidden)&b=2"),
    ("https://h.example/x?API_KEY=abcd", "https://h.example/x?API_KEY=(hidden)"),
    ("https://h.example/x#access_token=abcd", "https://h.example/x#access_token=(hidden)"),
    ("https://s3.example/x?X-Amz-Credential=A%2Fb&X-Amz-Expires=5", "https://s3.example/x?X-Amz-Credential=(hidden)&X-Amz-Expires=5"),
    ("https://h.example/x?auth%5Btoken%5D=abcd", "https://h.example/x?auth%5Btoken%5D=(hidden)"),
    ("https://h.example/x?sig=a%2Bb", "https://h.example/x?sig=(hidden)"),
]
PLAIN = [
    "https://api.acme.example/openapi.json",
    "https://api.acme.example/openapi.json?version=2&page=3",
    "ssh://git@forge.example/acme.git",
    "ada@acme.example",
    "https://social.example/@ada/1",
    "https://h.example/?key=",
    "https://h.example/x?tokens_used=5",
    "Ask for a token: https://acme.example/tokens",
    "key=value; token=none",
    "let a=1;key=event.key;/* https://acme.example */token=abcd",
    "",
]


@pytest.mark.parametrize(("text", "masked"), SECRET)
def test_credentials_are_found_and_masked(text: str, masked: str) -> None:
    assert has_credentials(text)
    assert without_credentials(text) == masked
    assert without_credentials(masked) == masked
    assert not has_credentials(masked)
    assert Mask().text(f"a {text} b") == f"a {masked} b"
    assert Mask().data({"x": [text, 1]}) == {"x": [masked, 1]}
    assert Mask().text(json.dumps({"url": text})) == json.dumps({"url": masked})
    assert Mask().text(json.dumps({"url": text}).replace("/", "\\/")) == json.dumps({"url": masked}).replace("/", "\\/")
    assert Mask().text(html.escape(text)) == html.escape(masked)


@pytest.mark.parametrize("text", PLAIN)
def test_a_text_without_credentials_is_left_unchanged(text: str) -> None:
    assert not has_credentials(text)
    assert without_credentials(text) == text
    assert Mask().text(text) is text


def test_a_stored_value_has_digests_in_the_place_of_credentials_and_is_not_changed_again() -> None:
    value: Any = {"url": "https://ci:hunter2@h.example/x?token=abc", "list": ("x", 1, None)}
    stored = concealed(value, lambda secret: f"hmac-sha256:{len(secret)}")
    assert stored == {"url": "https://hmac-sha256:10@h.example/x?token=hmac-sha256:3", "list": ("x", 1, None)}
    assert has_credentials(stored), "it is not a value that can be sent again"
    assert concealed(stored, lambda secret: "changed") == stored
    assert Mask().data(stored) == stored


def test_a_private_key_is_masked_in_every_output() -> None:
    body = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg" + "A" * 80
    for text in (f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----", f"x -----BEGIN EC PRIVATE KEY-----\\n{body}\\n"):
        assert has_credentials(text)
        assert body[:20] not in Mask().text(json.dumps([text]))
        assert body[:20] not in Mask().text(text)
