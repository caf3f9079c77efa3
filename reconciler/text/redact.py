"""Mask secrets in texts and data, in every form in which they could be written.

In: secrets; the text or data to be shown or stored. Out: the same with `(hidden)` instead of them. A secret of at least 8 characters is
found in every spelling (`spellings`); a shorter one plain, in either case, and escaped for a terminal, JSON, Python, HTML or a URL. Pure.

Own code, because log filters mask a text only as it is written, not where it is escaped, encoded or split.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote, quote_plus, unquote

from reconciler.address import Address
from reconciler.text.credentials import MASK, without_credentials
from reconciler.text.escape import terminal
from reconciler.text.spellings import Spellings, is_long

SHORTEST: Final = 3  # characters; masking shorter values would blank out ordinary words
LONG: Final = 1000  # parts of a tuple from which on it is remembered that they contain no secret
_USER: Final = re.compile(r"://([^:/@\s]*)(?::([^\s]*))?@")
_QUERY: Final = re.compile(r"[?&](?:password|token|key|secret)=([^&#\s]+)", re.IGNORECASE)
UNSHOWN: Final = MappingProxyType({"shown": False})
"""The metadata of a field that no report reads, so that nothing in it is searched: a plan has every URL of the organization there."""
_TEXTLESS: Final = frozenset({type(None), bool, int, float, frozenset, Address})  # a repr must not show them


class Mask:
    """The secrets to hide, and the methods that hide them; credentials in URLs and private keys are hidden although nobody named them."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        secrets = {secret for secret in secrets if len(secret) >= SHORTEST}
        short = {secret for secret in secrets if not is_long(secret)}
        forms = {form for secret in short for form in _forms(secret) if len(form) >= SHORTEST}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._clean: dict[int, Any] = {}  # long tuples without a secret and their parts, by id: a plan is shown, and later its outcome
        self._short = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE) if forms else None
        self._long = Spellings(secrets - short) if secrets - short else None

    def text(self, text: str) -> str:
        """The text with secrets masked; the same object if it contains none."""
        spans = self._long.spans(text) if self._long is not None else []
        for start, end in reversed(spans):
            text = f"{text[:start]}{MASK}{text[end:]}"
        return without_credentials(text if self._short is None else self._short.sub(MASK, text))

    def data(self, value: Any) -> Any:
        """The same data with its texts masked: maps, lists and frozen values. Addresses are unchanged: they cannot contain secrets."""
        return _Masking(self.text, self._clean).masked(value)


class _Masking:
    """One pass through data: a text is checked once, however often it occurs."""

    def __init__(self, text: Callable[[str], str], clean: dict[int, Any]) -> None:
        self._text, self._clean = text, clean
        self._texts: dict[str, str] = {}

    def masked(self, value: Any) -> Any:
        """The value with its texts masked; the same object if it contains no secret."""
        return self._parts((value,))[0]

    def _parts(self, parts: Sequence[Any]) -> Sequence[Any]:
        """The parts masked; the same sequence if none contains a secret. Types that occur a hundred thousand times come first."""
        changed: list[Any] | None = None
        for index, part in enumerate(parts):
            shape: Any = type(part)
            if shape in _TEXTLESS:
                continue
            if shape is str:
                masked = self._texts.get(part)
                if masked is None:
                    masked = self._texts[part] = self._text(part)
                if masked == part:
                    continue
            elif shape is tuple or shape is list or shape is dict:
                masked = part
                if part:
                    masked = self._map(part) if shape is dict else self._sequence(part)
            elif issubclass(shape, Enum) or id(part) in self._clean:  # a constant of this program, or searched already
                continue
            elif (read := _fields(shape)) is not None:
                names, values = read
                old = values(part)
                new = self._parts(old)
                masked = part if new is old else replace(part, **dict(zip(names, new, strict=True)))
            else:
                masked = self._other(part)
            if masked is part:
                continue
            if changed is None:
                changed = list(parts)
            changed[index] = masked
        return parts if changed is None else changed

    def _map(self, value: Mapping[Any, Any]) -> Any:
        keys, parts = tuple(value), tuple(value.values())
        new_keys, new_parts = self._parts(keys), self._parts(parts)
        return value if new_keys is keys and new_parts is parts else dict(zip(new_keys, new_parts, strict=True))

    def _sequence(self, value: tuple[Any, ...] | list[Any]) -> Any:
        if id(value) in self._clean:
            return value
        masked = self._parts(value)
        if masked is not value:
            return type(value)(masked)
        if len(value) >= LONG and isinstance(value, tuple):
            self._clean[id(value)] = value
            self._clean |= {id(part): part for part in value}
        return value

    def _other(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return self._map(value)
        if isinstance(value, str):
            masked = self._text(value)
            return value if masked == value else masked
        if hasattr(value, "_make"):
            return value if (parts := self._parts(value)) is value else value._make(parts)
        return value


@cache
def _fields(shape: Any) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]] | None:
    """The names of a dataclass's fields that are shown, and a function that reads their values; None of any other type, and of a class
    without such fields."""
    names = tuple(field.name for field in fields(shape) if field.metadata != UNSHOWN) if is_dataclass(shape) else ()
    if len(names) == 1:
        return names, lambda value: (getattr(value, names[0]),)
    return (names, attrgetter(*names)) if names else None


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
    """How a short secret is found."""
    for spelling in dict.fromkeys((secret, secret.strip())):
        yield from (
            spelling,
            terminal(spelling),
            json.dumps(spelling)[1:-1],
            json.dumps(spelling, ensure_ascii=False)[1:-1],
            repr(spelling)[1:-1],
            json.dumps(spelling)[1:-1].replace("/", "\\/"),
            html.escape(spelling),
            quote(spelling, safe="", errors="replace"),
            quote(spelling, errors="replace"),
            quote_plus(spelling, errors="replace"),
        )
