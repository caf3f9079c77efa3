"""Expressions of GitHub Actions: `${{ a.b == 'c' && !cancelled() }}`, as docs.github.com describes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

TOKEN: Final = re.compile(
    r"\s*(?:(?P<string>'(?:[^']|'')*')|(?P<number>-?\d+(?:\.\d+)?)|(?P<name>[A-Za-z_][\w-]*)|(?P<sign>\|\||&&|==|!=|[!().,]))"
)
EXPRESSION: Final = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
STATUS: Final = re.compile(r"\b(always|success|failure|cancelled)\(\)")
NAMED: Final = {"true": True, "false": False, "null": None}

Functions = Mapping[str, Callable[..., Any]]


class Reader:
    """Evaluates one expression."""

    def __init__(self, text: str, contexts: Mapping[str, Any], functions: Functions) -> None:
        self.contexts, self.functions = contexts, functions
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while text[at:].strip():
            match = TOKEN.match(text, at)
            assert match is not None, f"{text!r} is no expression at {text[at:]!r}"
            self.tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            at = match.end()
        self.at = 0

    def value(self) -> Any:
        found = self._either()
        assert self.at == len(self.tokens), self.tokens[self.at :]
        return found

    def _take(self, *signs: str) -> str | None:
        if self.at < len(self.tokens) and self.tokens[self.at][0] == "sign" and self.tokens[self.at][1] in signs:
            self.at += 1
            return self.tokens[self.at - 1][1]
        return None

    def _either(self) -> Any:
        left = self._both()
        while self._take("||"):
            right = self._both()
            left = left if truth(left) else right
        return left

    def _both(self) -> Any:
        left = self._compared()
        while self._take("&&"):
            right = self._compared()
            left = right if truth(left) else left
        return left

    def _compared(self) -> Any:
        left = self._not()
        while sign := self._take("==", "!="):
            same = _loose(left) == _loose(self._not())
            left = same if sign == "==" else not same
        return left

    def _not(self) -> Any:
        return not truth(self._not()) if self._take("!") else self._primary()

    def _primary(self) -> Any:
        if self._take("("):
            inner = self._either()
            assert self._take(")")
            return inner
        sort, text = self.tokens[self.at]
        self.at += 1
        if sort == "string":
            return text[1:-1].replace("''", "'")
        if sort == "number":
            return float(text)
        assert sort == "name", text
        if self._take("("):
            given = []
            while not self._take(")"):
                given.append(self._either())
                self._take(",")
            return self.functions[text](*given)
        if text in NAMED:
            return NAMED[text]
        assert text in self.contexts, f"there is no context {text}"
        found = self.contexts[text]
        while self._take("."):
            name = self.tokens[self.at][1]
            self.at += 1
            found = found.get(name) if isinstance(found, Mapping) else None
        return found


def truth(value: Any) -> bool:
    return value not in (None, False, 0, "")


def _loose(value: Any) -> Any:
    """Texts are compared without case; what is missing is equal to an empty text."""
    return "" if value is None else value.casefold() if isinstance(value, str) else value


def text_of(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def interpolated(template: Any, contexts: Mapping[str, Any], functions: Functions) -> str:
    """A text with the values of its expressions."""
    return EXPRESSION.sub(lambda match: text_of(Reader(match[1], contexts, functions).value()), text_of(template))


def condition(template: Any, contexts: Mapping[str, Any], functions: Functions) -> bool:
    """Whether a step or job runs; one that asks for no status runs only after success."""
    text = text_of(template)
    inner = match[1] if (match := EXPRESSION.fullmatch(text.strip())) else text
    if not STATUS.search(inner):
        inner = f"success() && ({inner})"
    return truth(Reader(inner, contexts, functions).value())
