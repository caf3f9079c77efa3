"""Secrets taken out of texts and data, in every form in which they could be written.

In: secrets; what is to be shown or kept. Out: the same with `(hidden)` in their place: plain, in either case, escaped for a terminal, JSON,
Python, HTML or a URL, in base64 at any offset, and each line of one that has several. Pure.

Own code, because log filters mask a text only as it is written, not where it is escaped, encoded or split.
"""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from operator import is_not
from typing import Any, Final
from urllib.parse import quote, quote_plus, unquote

from reconciler.address import Address
from reconciler.text.escape import terminal

MASK: Final = "(hidden)"
SHORTEST: Final = 3  # characters; masking shorter values would blank out ordinary words
LINE_MIN: Final = 8  # characters of a line, or bytes of what is in base64, that tell enough to be masked by themselves
_FRAME: Final = re.compile(r"-----[A-Z ]+-----")
_USER: Final = re.compile(r"://([^:/@\s]*)(?::([^\s]*))?@")
_QUERY: Final = re.compile(r"[?&](?:password|token|key|secret)=([^&#\s]+)", re.IGNORECASE)
_TEXTLESS: Final = frozenset({type(None), bool, int, float, Address})
_URL_SAFE: Final = str.maketrans("+/", "-_")


class Mask:
    """What is to be hidden, and the hiding."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets if len(secret) >= SHORTEST for form in _forms(secret) if len(form) >= SHORTEST}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._any = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE) if forms else None

    def text(self, text: str) -> str:
        """The text without them; the same object where there is none in it."""
        return text if self._any is None else self._any.sub(MASK, text)

    def data(self, value: Any) -> Any:
        """The same data, its texts masked: maps, lists, and frozen values of ours. Addresses, which no secret can reach, stay."""
        return value if self._any is None else self._masked(value, {})

    def _masked(self, value: Any, done: dict[int, tuple[Any, Any]]) -> Any:
        """`done`: values of ours by their `id`, kept so that it stays theirs, and what became of them: one in two places is masked once."""
        shape: Any = type(value)
        if shape is str:
            return self._without(value)
        if shape in _TEXTLESS:
            return value
        if shape is dict:
            return self._map(value, done)
        if shape is list or shape is tuple:
            parts = [part if type(part) in _TEXTLESS else self._masked(part, done) for part in value]
            return shape(parts) if any(map(is_not, parts, value)) else value
        if names := _names(shape):
            if id(value) not in done:
                done[id(value)] = value, self._value(value, names, done)
            return done[id(value)][1]
        match value:
            case Address():
                return value
            case str():
                return self._without(value)
            case Mapping():
                return self._map(value, done)
            case tuple() if hasattr(value, "_make"):
                parts = [self._masked(part, done) for part in value]
                return value._make(parts) if any(map(is_not, parts, value)) else value
            case _:
                return value

    def _without(self, text: str) -> str:
        made = self.text(text)
        return text if made == text else made

    def _map(self, value: Mapping[Any, Any], done: dict[int, tuple[Any, Any]]) -> Mapping[Any, Any]:
        made, same = {}, True
        for key, part in value.items():
            new_key, new = self._masked(key, done), self._masked(part, done)
            same = same and new_key is key and new is part
            made[new_key] = new
        return value if same else made

    def _value(self, value: Any, names: tuple[str, ...], done: dict[int, tuple[Any, Any]]) -> Any:
        changed = {}
        for name in names:
            part = getattr(value, name)
            if type(part) not in _TEXTLESS and (made := self._masked(part, done)) is not part:
                changed[name] = made
        return replace(value, **changed) if changed else value


@cache
def _names(shape: Any) -> tuple[str, ...]:
    """The fields of a dataclass; none of any other type."""
    return tuple(field.name for field in fields(shape)) if is_dataclass(shape) else ()


def of_urls(urls: Iterable[str]) -> Iterator[str]:
    """The passwords in addresses, as they are written and as they are meant; of one on the web also a user who has none."""
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
    """The characters that stand for it alone, wherever in the encoded text it begins."""
    if len(raw) < LINE_MIN:
        return
    for shift in range(3):
        text = b64encode(bytes(shift) + raw).decode("ascii")[-(-8 * shift // 6) : 8 * (shift + len(raw)) // 6]
        yield from (text, text.translate(_URL_SAFE))
