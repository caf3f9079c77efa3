"""Credentials inside other texts: passwords and tokens in URLs, and private keys. Pure.

In: any text or data. Out: whether it contains any; the same with another text instead of each. `redact` masks known secrets wherever they
are; this finds secrets that no declaration names.

The databases that can hold a state, recognised by the scheme of a URL: a row for each, and nothing about them anywhere else.

In: a URL. Out: its `Backend`. Forbidden: opening anything. A new backend is a row here, and a module of `reconciler.state` that
`reconciler.state.database` opens it with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Backend:
    """One sort of database."""

    # The schemes of its URLs.
    schemes: tuple[str, ...]
    # How its URL is written on a command line, in messages.
    form: str
    # How its URL is written in the YAML, in messages.
    yaml_form: str
    # Whether it is one file of this machine: the kernel keeps its lock, and nobody else receives what the state contains.
    is_file: bool = False
    # Whether its server could be another than the one that is meant, so that it must prove who it is before it gets a password.
    must_be_verified: bool = False


SQLITE: Final = Backend(("sqlite",), "sqlite:///PATH", "sqlite:///FILE", is_file=True)
POSTGRES: Final = Backend(
    # `postgresql+psycopg` names the driver, as SQLAlchemy has it: projects that were written for it go on working.
    ("postgresql", "postgresql+psycopg", "postgres"),
    "postgresql://USER@HOST/NAME",
    "postgresql+psycopg://HOST/DATABASE",
    must_be_verified=True,
)
# `file://` is a folder with the objects of a bucket, for tests and for trying buckets out.
BUCKET: Final = Backend(("s3", "gs", "az", "file"), "s3://BUCKET/PREFIX (also gs:// and az://)", "s3://BUCKET/PREFIX")

BACKENDS: Final = (SQLITE, POSTGRES, BUCKET)


def backend_of(url: str) -> Backend | None:
    """The backend of a URL; None where no state can be there."""
    scheme = url.partition(":")[0]
    return next((backend for backend in BACKENDS if scheme in backend.schemes), None)


def file_of(url: str) -> str:
    """The path in the URL of a file, as it is written: relative to the project in the YAML; "" where the URL names no file."""
    return url.partition("sqlite:///")[2] if backend_of(url) is SQLITE else ""


def url_of(file: object) -> str:
    """The URL of a file."""
    return f"sqlite:///{file}"


def forms(*, yaml: bool = False) -> str:
    """How the URLs of all backends are written: `sqlite:///PATH, postgresql://USER@HOST/NAME or s3://BUCKET/PREFIX`."""
    *others, last = [backend.yaml_form if yaml else backend.form for backend in BACKENDS]
    return f"{', '.join(others)} or {last}"
