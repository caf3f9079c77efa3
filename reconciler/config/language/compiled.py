"""The door to the compiler of expressions. Pure.

Jinja is imported when the first expression is met: it takes a twentieth of the start of a command, and most projects have no expression.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from reconciler.config.language.bounds import Compiled

CACHE: Final = 4_096  # number of compiled expressions in the cache


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
