"""Mask secrets in texts and data, in every form in which they could be written.

In: secrets; the text or data to be shown or stored. Out: the same with `(hidden)` instead of them: plain, in either case, escaped for a
terminal, JSON, Python, HTML or a URL, in base64 at any offset, and each line of one that has several. Pure.

Own code, because log filters mask a text only as it is written, not where it is escaped, encoded or split.
"""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from operator import is_not
from typing import Any, Final
from urllib.parse import quote, quote_plus, unquote

from reconciler.address import Address
from reconciler.text.escape import terminal

MASK: Final = "(hidden)"
SHORTEST: Final = 3  # characters; masking shorter values would blank out ordinary words
LINE_MIN: Final = 8  # length in characters of a line, or in bytes of base64 content, from which a part is masked by itself
_FRAME: Final = re.compile(r"-----[A-Z ]+-----")
_USER: Final = re.compile(r"://([^:/@\s]*)(?::([^\s]*))?@")
_QUERY: Final = re.compile(r"[?&](?:password|token|key|secret)=([^&#\s]+)", re.IGNORECASE)
_TEXTLESS: Final = frozenset({type(None), bool, int, float, frozenset, Address})  # a repr must not show them
_URL_SAFE: Final = str.maketrans("+/", "-_")


class Mask:
    """The secrets to hide, and the methods that hide them."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets if len(secret) >= SHORTEST for form in _forms(secret) if len(form) >= SHORTEST}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._any = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE) if forms else None

    def text(self, text: str) -> str:
        """The text with secrets masked; the same object if it contains none."""
        return text if self._any is None else self._any.sub(MASK, text)

    def data(self, value: Any) -> Any:
        """The same data with its texts masked: maps, lists and frozen values. Addresses are unchanged: they cannot contain secrets."""
        return value if self._any is None else _Masking(self.text).masked(value)


class _Masking:
    """One pass through data: a text is checked once, however often it occurs."""

    def __init__(self, text: Callable[[str], str]) -> None:
        self._text = text
        self._texts: dict[str, str] = {}

    def masked(self, value: Any) -> Any:
        """The value with its texts masked; the same object if it contains no secret."""
        shape: Any = type(value)
        if shape in _TEXTLESS:
            return value
        if shape is str:
            masked = self._texts.get(value)
            if masked is None:
                masked = self._texts[value] = self._text(value)
            return value if masked == value else masked
        if shape is dict:
            return self._map(value) if value else value
        if shape is tuple or shape is list:
            return self._parts(value, shape) if value else value
        if names := _names(shape):
            return self._fields(value, names)
        if isinstance(value, Mapping):
            return self._map(value)
        if isinstance(value, str):
            masked = self._text(value)
            return value if masked == value else masked
        return self._parts(value, value._make) if hasattr(value, "_make") else value

    def _fields(self, value: Any, names: tuple[str, ...]) -> Any:
        changed = {}
        for name in names:
            part = getattr(value, name)
            if (masked := self.masked(part)) is not part:
                changed[name] = masked
        return replace(value, **changed) if changed else value

    def _map(self, value: Mapping[Any, Any]) -> Any:
        masked, same = {}, True
        for key, part in value.items():
            new_key, new_part = self.masked(key), self.masked(part)
            masked[new_key] = new_part
            same = same and new_key is key and new_part is part
        return value if same else masked

    def _parts(self, value: Any, made: Callable[[list[Any]], Any]) -> Any:
        parts = [self.masked(part) for part in value]
        return made(parts) if any(map(is_not, parts, value)) else value


@cache
def _names(shape: Any) -> tuple[str, ...]:
    """The fields of a dataclass; none of any other type."""
    return tuple(field.name for field in fields(shape)) if is_dataclass(shape) else ()


def of_urls(urls: Iterable[str]) -> Iterator[str]:
    """The passwords in URLs, as written and decoded; of a web URL with a user and no password, the user."""
    for url in urls:
        for user, password in _USER.findall(url):
            web = url.lower().startswith("http")
            credentials = [password, f"{user}:{password}"] if password else [user] if web else []
            yield from {form for secret in credentials for form in (secret, unquote(secret))}
        for secret in _QUERY.findall(url):
            yield from {secret, unquote(secret)}


def _forms(secret: str) -> Iterator[str]:
    lines = [line.strip() for line in secret.splitlines()]
    whole = [line for line in lines if len(line) >= LINE_MIN and not _FRAME.fullmatch(line)] if len(lines) > 1 else []
    for spelling in dict.fromkeys((secret, secret.strip(), *whole)):
        yield from (
            spelling,
            terminal(spelling),
            json.dumps(spelling)[1:-1],
            json.dumps(spelling, ensure_ascii=False)[1:-1],
            repr(spelling)[1:-1],
        )
        yield json.dumps(spelling)[1:-1].replace("/", "\\/")
        yield from (
            html.escape(spelling),
            quote(spelling, safe="", errors="replace"),
            quote(spelling, errors="replace"),
            quote_plus(spelling, errors="replace"),
        )
        yield from _base64(spelling.encode("utf-8", "surrogatepass"))


def _base64(raw: bytes) -> Iterator[str]:
    """The base64 characters that depend on these bytes alone, for every offset at which they could begin."""
    if len(raw) < LINE_MIN:
        return
    for shift in range(3):
        text = b64encode(bytes(shift) + raw).decode("ascii")[-(-8 * shift // 6) : 8 * (shift + len(raw)) // 6]
        yield from (text, text.translate(_URL_SAFE))
