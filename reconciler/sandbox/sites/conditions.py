"""Conditions on sections and site spaces: expressions over the claims of a visitor, such as `visitor.claims.plan == "pro"`.

Supported: `visitor.claims.NAME`, deeper names, `["name"]`, texts, numbers, `true`, `false`, `null`, lists, `==`, `!=`, `in`, `!`, `&&`,
`||` and parentheses. A claim that is missing is `null`. A condition that cannot be evaluated is true for nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product
from typing import Any, Final

UNSIGNED: Final = "unsigned"  # of the claims: what anybody can set
DEPTH_MAX: Final = 50
TRIES_MAX: Final = 20_000  # combinations of claims that are tried for one set of conditions

TOKEN: Final = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<number>-?\d+(?:\.\d+)?)|(?P<name>[A-Za-z_$][A-Za-z0-9_$]*)"""
    r"""|(?P<sign>===|!==|==|!=|&&|\|\||[!().,\[\]]))"""
)
LITERALS: Final = {"true": True, "false": False, "null": None, "undefined": None}
COMPARISONS: Final = {"==": "==", "===": "==", "!=": "!=", "!==": "!=", "in": "in"}

Path = tuple[str, ...]


class NotEvaluable(Exception):
    """The condition uses something that is not supported."""


@dataclass(frozen=True)
class Claim:
    """The value of a claim."""

    path: Path


@dataclass(frozen=True)
class Literal:
    """A value that is written in the condition; lists are tuples."""

    value: Any


@dataclass(frozen=True)
class Operation:
    """`sign` is `!`, `&&`, `||`, `==`, `!=` or `in`."""

    sign: str
    parts: tuple[Node, ...]


Node = Claim | Literal | Operation


def holds(condition: str, claims: Mapping[str, Any]) -> bool:
    """Whether a condition is true for a visitor with these claims."""
    try:
        return truth(value(parsed(condition), claims))
    except NotEvaluable:
        return False


@lru_cache(maxsize=4096)
def parsed(condition: str) -> Node:
    """The tree of a condition. Raises `NotEvaluable`."""
    return _Parser(condition).whole()


def value(node: Node, claims: Mapping[str, Any]) -> Any:
    """What a part of a condition gives for these claims."""
    match node:
        case Literal():
            return node.value
        case Claim():
            current: Any = claims
            for name in node.path:
                current = current.get(name) if isinstance(current, Mapping) else None
            return current
        case Operation("!", (inner,)):
            return not truth(value(inner, claims))
        case Operation("&&", (left, right)):
            return truth(value(left, claims)) and truth(value(right, claims))
        case Operation("||", (left, right)):
            return truth(value(left, claims)) or truth(value(right, claims))
        case Operation(sign, (left, right)):
            first, second = value(left, claims), value(right, claims)
            if sign == "in":
                return isinstance(second, list | tuple) and any(same(first, entry) for entry in second)
            return same(first, second) == (sign == "==")
    raise NotEvaluable("an operation has the wrong number of parts")


def truth(result: Any) -> bool:
    """`null`, `false`, 0 and the empty text are false; all else is true, empty lists included."""
    # as in JavaScript, whose expressions these are: only null, false, 0 and "" are false
    return isinstance(result, list | tuple | Mapping) or bool(result)


def same(first: Any, second: Any) -> bool:
    """Equal and of one type: `1` is not `true`."""
    # Python says that True == 1; in the expressions of the service they differ
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return list(first) == list(second)
    return bool(first == second)


def example(conditions: Iterable[str], given: Mapping[str, Any] | None = None) -> Mapping[str, Any] | None:
    """Claims for which all of these conditions are true, as few of them set as possible; None where there are none.

    `given`: signed claims that a visitor has, of which only the unsigned ones may be chosen; None where all may be.
    """
    try:
        nodes = [parsed(condition) for condition in sorted(conditions)]
    except NotEvaluable:
        return None
    choices: dict[Path, list[Any]] = {}
    for node in nodes:
        for path, values in _choices(node):
            known = choices.setdefault(path, [None, True])
            known += [entry for entry in values if not any(same(entry, other) for other in known)]
    paths = sorted(path for path in choices if given is None or path[0] == UNSIGNED)
    combinations = islice(product(*(choices[path] for path in paths)), TRIES_MAX)
    # where the combinations are too many, visitors with every claim true are tried last: they meet most conditions
    for chosen in (*combinations, (True,) * len(paths)):
        claims = {**(given or {}), **_claims(paths, chosen)}
        if all(truth(value(node, claims)) for node in nodes):
            return claims
    return None


def _choices(node: Node) -> Iterator[tuple[Path, list[Any]]]:
    """Each claim in a condition with values that may make a difference to it."""
    match node:
        case Claim():
            yield node.path, []
        case Operation():
            literals = [part.value for part in node.parts if isinstance(part, Literal)]
            if node.sign == "in" and isinstance(node.parts[-1], Claim):
                literals = [[entry] for entry in literals]
            values: list[Any] = [entry for given in literals for entry in (given if isinstance(given, tuple) else [given])]
            for part in node.parts:
                if isinstance(part, Claim):
                    yield part.path, values
                else:
                    yield from _choices(part)


def _claims(paths: Iterable[Path], values: Iterable[Any]) -> dict[str, Any]:
    """The claims as nested objects; shorter paths come before longer ones that begin with them."""
    claims: dict[str, Any] = {}
    for path, given in zip(paths, values, strict=True):
        if given is None:
            continue
        at = claims
        for name in path[:-1]:
            inner = at.get(name)
            at[name] = inner = inner if isinstance(inner, dict) else {}
            at = inner
        at[path[-1]] = given
    return claims


class _Parser:
    """Reads one condition from left to right."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        position, end = 0, len(text.rstrip())
        while position < end:
            token = TOKEN.match(text, position)
            if token is None or token.lastgroup is None:
                raise NotEvaluable(f"unexpected character at {position}")
            self.tokens.append((token.lastgroup, token.group(token.lastgroup)))
            position = token.end()
        self.next, self.depth = 0, 0

    def whole(self) -> Node:
        node = self._either()
        if self.next < len(self.tokens):
            raise NotEvaluable("there is unexpected text after its end")
        return node

    def _sign(self, *signs: str) -> str | None:
        """The next token, where it is one of these signs or words."""
        if self.next < len(self.tokens) and self.tokens[self.next][0] != "text" and self.tokens[self.next][1] in signs:
            self.next += 1
            return self.tokens[self.next - 1][1]
        return None

    def _need(self, sign: str) -> None:
        if self._sign(sign) is None:
            raise NotEvaluable(f"{sign} is missing")

    def _either(self) -> Node:
        node = self._both()
        while self._sign("||"):
            node = Operation("||", (node, self._both()))
        return node

    def _both(self) -> Node:
        node = self._compared()
        while self._sign("&&"):
            node = Operation("&&", (node, self._compared()))
        return node

    def _compared(self) -> Node:
        node = self._single()
        sign = self._sign(*COMPARISONS)
        return node if sign is None else Operation(COMPARISONS[sign], (node, self._single()))

    def _single(self) -> Node:
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise NotEvaluable("nested too deeply")
        try:
            if self._sign("!"):
                return Operation("!", (self._single(),))
            if self._sign("("):
                node = self._either()
                self._need(")")
                return node
            if self._sign("["):
                return self._list()
            return self._word()
        finally:
            self.depth -= 1

    def _list(self) -> Node:
        values: list[Any] = []
        while self._sign("]") is None:
            if values:
                self._need(",")
            entry = self._single()
            if not isinstance(entry, Literal):
                raise NotEvaluable("a list holds values only")
            values.append(entry.value)
        return Literal(tuple(values))

    def _token(self) -> tuple[str, str]:
        if self.next >= len(self.tokens):
            raise NotEvaluable("it ends too early")
        self.next += 1
        return self.tokens[self.next - 1]

    def _word(self) -> Node:
        kind, text = self._token()
        if kind == "text":
            return Literal(_unquoted(text))
        if kind == "number":
            return Literal(float(text) if "." in text else int(text))
        if kind == "name" and text in LITERALS:
            return Literal(LITERALS[text])
        if (kind, text) != ("name", "visitor"):
            raise NotEvaluable(f"{text} is not known")
        path: list[str] = []
        while True:
            if self._sign("."):
                kind, text = self._token()
                if kind != "name":
                    raise NotEvaluable("a name is missing after the dot")
                path.append(text)
            elif self._sign("["):
                kind, text = self._token()
                if kind != "text":
                    raise NotEvaluable("a name in quotes is missing")
                path.append(_unquoted(text))
                self._need("]")
            else:
                break
        if len(path) < 2 or path[0] != "claims":
            raise NotEvaluable("only visitor.claims.NAME is known")
        return Claim(tuple(path[1:]))


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)
