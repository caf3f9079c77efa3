"""Credentials inside other texts: passwords and tokens in URLs, and private keys. Pure.

In: any text or data. Out: whether it contains any; the same with another text instead of each. `redact` masks known secrets wherever they
are; this finds secrets that no declaration names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from reconciler.text.private_keys import has_private_key, without_private_keys

MASK: Final = "(hidden)"
CONCEALED: Final = "hmac-sha256:"
"""How a digest begins that the state stores in the place of a secret."""

_NAMES: Final = "password|passwd|passphrase|pwd|token|secret|key|sig|signature|credentials?|auth|authorization|jwt"
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:\\?/\\?/[^\s\"'<>]+")
_USER: Final = re.compile(r"(?P<before>^[^:]+:\\?/\\?/)(?P<secret>[^/?#\\]+)@(?=[^@])")
_QUERY: Final = re.compile(rf"(?P<before>[?&;#][\w.\-\[\]%]{{0,60}}(?:{_NAMES})(?:\]|%5D)?=)(?P<secret>[^&#;\\]{{3,}})", re.IGNORECASE)


def has_credentials(value: Any) -> bool:
    """Whether a text, or any text in a list or map, contains credentials, or a digest of some."""
    if isinstance(value, str):
        return CONCEALED in value or has_private_key(value) or (_may_be_url(value) and _in_urls(value))
    if isinstance(value, Mapping):
        return any(has_credentials(part) for part in value.values())
    return isinstance(value, list | tuple | set | frozenset) and any(has_credentials(part) for part in value)


def without_credentials(text: str, replace: Callable[[str], str] = lambda secret: MASK) -> str:
    """The text with `(hidden)`, or what `replace` returns, instead of each credential in a URL; and without private keys."""

    def hidden(url: re.Match[str]) -> str:
        masked = url.group()
        for pattern in (_USER, _QUERY):
            masked = pattern.sub(lambda match: match["before"] + _replaced(match, replace), masked)
        return masked

    masked = _URL.sub(hidden, text) if _may_be_url(text) else text
    return text if masked == text and not has_private_key(text) else without_private_keys(masked)


def concealed(value: Any, replace: Callable[[str], str]) -> Any:
    """The same data with what `replace` returns instead of each credential."""
    if isinstance(value, str):
        return replace(value) if has_private_key(value) else without_credentials(value, replace)
    if isinstance(value, Mapping):
        return {key: concealed(part, replace) for key, part in value.items()}
    return type(value)(concealed(part, replace) for part in value) if isinstance(value, list | tuple | frozenset) else value


def _in_urls(text: str) -> bool:
    """Whether a URL in the text contains a secret."""
    return any(_is_secret(match) for url in _URL.findall(text) for pattern in (_USER, _QUERY) for match in pattern.finditer(url))


def _may_be_url(text: str) -> bool:
    return "://" in text or ":\\/\\/" in text


def _is_secret(match: re.Match[str]) -> bool:
    """Whether a part of a URL is a secret: not a digest of one, and not the user of a URL of e-mail or SSH."""
    if match["secret"] == MASK or match["secret"].startswith(CONCEALED):
        return False
    scheme = match["before"].lower()
    return ":" in match["secret"] or match.re is not _USER or scheme.startswith("http")


def _replaced(match: re.Match[str], replace: Callable[[str], str]) -> str:
    """What replaces a credential; before a host, an `@` follows."""
    end = "@" if match.re is _USER else ""
    secret = match["secret"]
    return f"{replace(secret) if _is_secret(match) else secret}{end}"
