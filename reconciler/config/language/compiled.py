"""The door to the compiler of expressions, and what comes out of it. Pure.

Jinja is imported when the first expression is met: it takes a twentieth of the start of a command, and most projects have no expression.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

CACHE: Final = 4_096  # number of compiled expressions in the cache

Path = tuple[str | int, ...]
"""Keys of maps and indexes of lists."""


@dataclass(frozen=True)
class Compiled:
    """`names`: what it uses of its context. `variables`: the keys of `vars` it names; `all_variables`: it may use any.
    `secrets`: the keys below `secrets` that it names, as far as they are written; () where it may use any. `keys`: of each name, the keys
    that follow it. `calls`: the functions that it calls by name, with the texts that are written as arguments; None for anything else.
    `boolean`: whether it can be true or false, as far as its form says. `path`: the name and the keys after it if it is nothing else;
    `operands` of the operator `~` or `+` if it is one, else ()."""

    # the function that evaluates it, each time with the values that the context then has
    over: Callable[[Mapping[str, Any]], Callable[[], Any]]
    names: frozenset[str]
    variables: frozenset[str]
    all_variables: bool
    secrets: frozenset[Path]
    keys: Mapping[str, frozenset[str]]
    calls: tuple[tuple[str, tuple[str | None, ...]], ...]
    boolean: bool
    path: Path | None = None
    operator: str = ""
    operands: tuple[Compiled, ...] = ()

    def __call__(self, context: Mapping[str, Any]) -> Any:
        """Its value, which may still be undefined. Raises `ExpressionError`."""
        return self.over(context)()


@lru_cache(maxsize=CACHE)
def compiled(text: str) -> Compiled:
    """An expression, checked before it is compiled. Raises `ExpressionError`."""
    from reconciler.config.language import compiler  # imports Jinja

    return compiler.whole(text)


@lru_cache(maxsize=CACHE)
def concatenation(text: str) -> Compiled:
    """The same expression with its operands, as far as it is a concatenation. Only expressions over secrets are evaluated like this."""
    from reconciler.config.language import compiler  # imports Jinja

    return compiler.parted(text)


def end_of_hole(text: str, start: int) -> int:
    """The index after the `}}` of the hole that begins at `start`. Raises `ExpressionError`."""
    from reconciler.config.language import compiler  # imports Jinja

    return compiler.end_of_hole(text, start)
