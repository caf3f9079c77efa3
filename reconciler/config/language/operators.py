"""The operators of expressions. Pure."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from reconciler.config.language import bounds
from reconciler.config.language.bounds import ExpressionError, is_number, is_whole, kind_of, known, listed, text_of, within_bounds

_ARITHMETIC: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow,
}  # fmt: skip


def binary(sign: str, left: Any, right: Any) -> Any:
    """`left sign right` for numbers; `+` for two texts or two lists, `*` for a text and a whole number too."""
    known(left)
    known(right)
    if is_number(left) and is_number(right):
        return _arithmetic(sign, within_bounds(left), within_bounds(right))
    if sign == "+" and isinstance(left, str) and isinstance(right, str):
        bounds.text_room(len(left) + len(right))
        return left + right
    if sign == "+" and isinstance(left, list | tuple) and isinstance(right, list | tuple):
        bounds.list_room(len(left) + len(right))
        return [*left, *right]
    if sign == "*" and isinstance(left, str) and isinstance(right, int) and not isinstance(right, bool):
        bounds.text_room(len(left) * max(right, 0))
        return left * right
    joins = sign == "+" and isinstance(left, str) != isinstance(right, str)
    raise ExpressionError(
        f"{sign} does not support {listed([left, right])}" + ("; use ~ to join values to a text" if joins else ""), id="RC-expression-types"
    )


def _arithmetic(sign: str, left: Any, right: Any) -> Any:
    if sign == "**" and abs(right) > bounds.INTEGER_BITS:
        raise ExpressionError(f"an exponent is larger than {bounds.INTEGER_BITS}", id="RC-expression-limit")
    if sign == "**" and left < 0 and right != int(right):
        raise ExpressionError("a negative number cannot be raised to that power", id="RC-arithmetic")
    try:
        return within_bounds(_ARITHMETIC[sign](left, right))
    except ZeroDivisionError:
        raise ExpressionError("division by zero", id="RC-arithmetic") from None
    except OverflowError:
        raise ExpressionError("a number is too large", id="RC-expression-limit") from None


def unary(sign: str, value: Any) -> Any:
    if not is_number(known(value)):
        raise ExpressionError(f"{sign} does not support {kind_of(value)}", id="RC-expression-types")
    return within_bounds(-value if sign == "-" else value)


def joined(first: Any, *rest: Any) -> str:
    """The operator `~`."""
    parts = [text_of(one) for one in (first, *rest)]
    bounds.text_room(sum(map(len, parts)))
    return "".join(parts)


_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "lteq": operator.le, "gt": operator.gt, "gteq": operator.ge,
    "in": lambda one, many: one in many, "notin": lambda one, many: one not in many,
}  # fmt: skip


def compared(left: Any, name: str, right: Any) -> bool:
    """`left == right` and its like, by Jinja's names for them."""
    for one in (left, right):
        bounds.read(known(one), deep=True)
    return _COMPARISONS[name](left, right)


def part(value: Any, start: Any, stop: Any, step: Any) -> Any:
    """`value[start:stop:step]`."""
    if not isinstance(known(value), str | list | tuple) or not all(one is None or is_whole(one) for one in (start, stop, step)):
        raise ExpressionError("[…:…] requires a text or a list, and whole numbers", id="RC-expression-types")
    if step == 0:
        raise ExpressionError("[…:…] does not allow a step of 0", id="RC-arithmetic")
    return within_bounds(value[start:stop:step])
