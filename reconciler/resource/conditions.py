"""Evaluate conditions on visitors as far as they can be decided: equality with a value, and whether a claim is set. Pure.

In: a condition as the service has it, and the claims of a visitor. Out: whether it holds, None if that cannot be decided. Of the
expressions that the service evaluates, only these are supported: `visitor.claims.NAME`, `visitor.claims.NAME == VALUE`, and
`visitor.claims.NAME in [VALUE, …]`. Other expressions have an unknown value; `&&` and `||` of unknown values may still be decided.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

UNSIGNED: Final = "unsigned"  # among the claims: values that visitors set themselves
DEPTH_MAX: Final = 50
_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<text>"[^"\\]*"|'[^'\\]*')|(?P<number>-?\d+(?:\.\d+)?)(?![\w.])|(?P<name>[A-Za-z_$][\w$]*)|(?P<sign>[=!]==?|[<>]=?|&&|\|\||[().,!\[\]]))""",
    re.ASCII,
)
_CLAIM: Final = re.compile(r"""\bvisitor\s*\.\s*claims\s*(?:\.\s*([A-Za-z_$][\w$]*)|\[\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*\])""", re.ASCII)
_CONSTANTS: Final = {"true": True, "false": False, "null": None, "undefined": None}
_OTHERS: Final = ("!=", "!==", "<", ">", "<=", ">=")  # comparisons that are not decided
_MISSING: Final = object()


def holds(condition: str, claims: Mapping[str, Any]) -> bool | None:
    """Whether a condition holds for a signed-in visitor with exactly these claims; None if it cannot be decided."""
    tokens = _tokens(condition)
    if tokens is None:
        return None
    try:
        reader = _Reader(tokens, claims)
        result = reader.either()
    except _Unknown:
        return None
    return result if reader.at == len(tokens) else None


def names(condition: str) -> Iterator[str]:
    """The names of the signed claims that a condition reads, as far as they are written out."""
    for match in _CLAIM.finditer(condition):
        name = next(part for part in match.groups() if part is not None)
        if name != UNSIGNED:
            yield name


class _Unknown(Exception):
    """The condition has a form that is not understood."""


@lru_cache(maxsize=4096)
def _tokens(condition: str) -> tuple[tuple[str, str], ...] | None:
    """The words and signs of a condition; None if one of them is not supported."""
    result, at, end = [], 0, len(condition.rstrip())
    while at < end:
        token = _TOKEN.match(condition, at)
        if token is None or token.lastgroup is None:
            return None
        result.append((token.lastgroup, token.group(token.lastgroup)))
        at = token.end()
    return tuple(result)


class _Reader:
    """Evaluates one condition from left to right, with three values; `at`: the next token."""

    def __init__(self, tokens: tuple[tuple[str, str], ...], claims: Mapping[str, Any]) -> None:
        self.tokens, self.claims, self.at, self.depth = tokens, claims, 0, 0

    def _sign(self, *signs: str) -> bool:
        if self.at < len(self.tokens) and self.tokens[self.at][0] == "sign" and self.tokens[self.at][1] in signs:
            self.at += 1
            return True
        return False

    def _next(self, *sorts: str) -> tuple[str, str]:
        if self.at >= len(self.tokens) or self.tokens[self.at][0] not in sorts:
            raise _Unknown
        self.at += 1
        return self.tokens[self.at - 1]

    def either(self) -> bool | None:
        parts = [self._both()]
        while self._sign("||"):
            parts.append(self._both())
        return any_of(parts)

    def _both(self) -> bool | None:
        parts = [self._single()]
        while self._sign("&&"):
            parts.append(self._single())
        return False if False in parts else None if None in parts else True

    def _single(self) -> bool | None:
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise _Unknown
        result: bool | None = None
        if self._sign("!"):
            self._single()
        elif self._sign("("):
            result = self.either()
            self._need(")")
        else:
            result = self._compared()
        self.depth -= 1
        return result

    def _need(self, sign: str) -> None:
        if not self._sign(sign):
            raise _Unknown

    def _compared(self) -> bool | None:
        left, is_claim = self._operand()
        sign = self._comparison()
        if sign is None:
            return _set(left) if is_claim else None
        right, other_is_claim = self._operand()
        if is_claim == other_is_claim:
            return None
        claim, value = (left, right) if is_claim else (right, left)
        if sign in ("==", "==="):
            return None if isinstance(value, list) else _equal(claim, value)
        return any_of([_equal(claim, entry) for entry in value]) if sign == "in" and is_claim and isinstance(value, list) else None

    def _comparison(self) -> str | None:
        if self.at < len(self.tokens) and self.tokens[self.at] == ("name", "in"):
            self.at += 1
            return "in"
        return self.tokens[self.at - 1][1] if self._sign("==", "===", *_OTHERS) else None

    def _operand(self) -> tuple[Any, bool]:
        """A value, and whether it is the value of a claim."""
        if self._sign("["):
            entries: list[Any] = []
            while not self._sign("]"):
                if entries:
                    self._need(",")
                entries.append(self._value())
            return entries, False
        if self.at < len(self.tokens) and self.tokens[self.at] == ("name", "visitor"):
            return self._claim(), True
        return self._value(), False

    def _claim(self) -> Any:
        """The value of `visitor.claims.NAME.…`; _MISSING if the visitor has no such claim, None if it is unknown."""
        self._next("name")
        self._need(".")
        if self._next("name") != ("name", "claims"):
            raise _Unknown
        path = []
        while self._sign(".", "["):
            bracket = self.tokens[self.at - 1][1] == "["
            path.append(self._next("text")[1][1:-1] if bracket else self._next("name")[1])
            if bracket:
                self._need("]")
        if not path:
            raise _Unknown
        if path[0] == UNSIGNED:
            return None
        value: Any = self.claims
        for name in path:
            if value is _MISSING or not isinstance(value, Mapping):
                return _MISSING if value is _MISSING else None
            value = value.get(name, _MISSING)
        return value

    def _value(self) -> Any:
        sort, text = self._next("text", "number", "name")
        if sort == "text":
            return text[1:-1]
        if sort == "number":
            return float(text) if "." in text else int(text)
        if text not in _CONSTANTS:
            raise _Unknown
        return _CONSTANTS[text]


def any_of(parts: Sequence[bool | None]) -> bool | None:
    """Whether any part holds; None if that cannot be decided."""
    return True if True in parts else None if None in parts else False


def _equal(value: Any, other: Any) -> bool | None:
    """Whether a claim has a value; None for values of different types, which the service may still treat as equal."""
    if value is None or other is None:
        return None
    if value is _MISSING:
        return False
    return bool(value == other) if type(value) is type(other) or (_is_number(value) and _is_number(other)) else None


def _set(value: Any) -> bool | None:
    """Whether a claim alone makes a condition true."""
    if value is _MISSING:
        return False
    return bool(value) if isinstance(value, bool | str) or _is_number(value) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
