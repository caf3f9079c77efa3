"""The functions that expressions call: filters, tests and methods, by name. Pure.

Each raises `TypeError` for arguments that it does not accept; its `Function` turns that into a message.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NoReturn

from reconciler.config.language import bounds
from reconciler.config.language.bounds import (
    ExpressionError,
    Function,
    is_number,
    is_undefined,
    is_whole,
    kind_of,
    known,
    listed,
    plain,
    text_of,
    within_bounds,
)
from reconciler.config.source import json_text

_ARITHMETIC: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}


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
    # Checked before it runs: the size of a power cannot be seen in its result, because there would be none.
    if sign == "**" and abs(right) > bounds.INTEGER_BITS:
        raise ExpressionError(f"an exponent is larger than {bounds.INTEGER_BITS}", id="RC-expression-limit")
    # Python answers with a complex number.
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
    parts = [text_of(value) for value in (first, *rest)]
    bounds.text_room(sum(map(len, parts)))
    return "".join(parts)


_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "lteq": operator.le,
    "gt": operator.gt,
    "gteq": operator.ge,
    "in": lambda one, many: one in many,
    "notin": lambda one, many: one not in many,
}


def compared(left: Any, name: str, right: Any) -> bool:
    """`left == right` and its like, by Jinja's names for them."""
    for side in (left, right):
        # Equality of two lists goes through everything in them, and each may contain the other a thousand times.
        bounds.read(known(side), deep=True)
    return _COMPARISONS[name](left, right)


def part(value: Any, start: Any, stop: Any, step: Any) -> Any:
    """`value[start:stop:step]`."""
    if not isinstance(known(value), str | list | tuple) or not all(bound is None or is_whole(bound) for bound in (start, stop, step)):
        raise ExpressionError("[…:…] requires a text or a list, and whole numbers", id="RC-expression-types")
    if step == 0:
        raise ExpressionError("[…:…] does not allow a step of 0", id="RC-arithmetic")
    return within_bounds(value[start:stop:step])


PLACES_MAX: Final = 20  # of round
STRIP_MAX: Final = 100  # characters that strip removes: each character of the text is compared with each of them
PARSING: Final = 4  # cost of a character of JSON

# -- arguments ---------------------------------------------------------------------------------------------------------------------


def as_text(value: Any) -> str:
    """A text, of which the value is known. Raises `TypeError`."""
    if isinstance(known(value), str):
        return str(value)
    raise TypeError


def _list(value: Any) -> list[Any]:
    if isinstance(known(value), list | tuple):
        return list(value)
    raise TypeError


def _number(value: Any) -> Any:
    if is_number(known(value)):
        return within_bounds(value)
    raise TypeError


def _no(message: str) -> NoReturn:
    raise ExpressionError(message, id="RC-function-arguments")


# -- filters and methods -----------------------------------------------------------------------------------------------------------


def _default(value: Any, other: Any = "", falsy: Any = False) -> Any:
    """The only filter that accepts an undefined value."""
    return known(other) if is_undefined(value) or (falsy and not value) else known(value)


def _replace(value: Any, old: Any, new: Any) -> str:
    text, before, after = as_text(value), as_text(old), as_text(new)
    # Python inserts the new text between all characters; what was meant is unknown.
    if not before:
        _no("replace requires a text to search for")
    # Computed before it is done: "a" replaced by a megabyte, in a text of a megabyte, is a terabyte.
    if len(text) + text.count(before) * (len(after) - len(before)) > bounds.TEXT_MAX:
        _no(f"a text is longer than {bounds.TEXT_MAX:,} characters")
    return text.replace(before, after)


def _join(values: Any, between: Any = "") -> str:
    glue, size, parts = as_text(between), 0, []
    for part in _list(values):
        parts.append(text_of(part))
        size += len(parts[-1]) + len(glue)
        if size > bounds.TEXT_MAX:
            _no(f"a text is longer than {bounds.TEXT_MAX:,} characters")
    return glue.join(parts)


def _split(value: Any, between: Any = None) -> list[str]:
    if between is not None and not as_text(between):
        _no("split requires a separator")
    return as_text(value).split(between, bounds.ITEMS_MAX)


def _length(value: Any) -> int:
    if isinstance(known(value), str | Mapping | list | tuple):
        return len(value)
    raise TypeError


def _first(value: Any) -> Any:
    return _at(value, 0, "first")


def _last(value: Any) -> Any:
    return _at(value, -1, "last")


def _at(value: Any, index: int, name: str) -> Any:
    items = value if isinstance(known(value), str) else _list(value)
    return items[index] if items else _no(f"{name} requires a value that is not empty")


def _unique(values: Any) -> list[Any]:
    return list({json.dumps(plain(item), sort_keys=True): item for item in reversed(_list(values))}.values())[::-1]


def _alike(values: Any, name: str) -> list[Any]:
    """The items, if all can be compared with one another."""
    items = [known(item) for item in _list(values)]
    if not (all(isinstance(item, str) for item in items) or all(is_number(item) for item in items)):
        _no(f"{name} requires a list of texts or a list of numbers")
    # A sort compares each item about log2(n) times, and comparing two texts takes as long as the shorter.
    for item in items:
        bounds.spend((bounds.ITEM + len(item) if isinstance(item, str) else bounds.ITEM) * len(items).bit_length() // bounds.READING)
    return items


def _sort(values: Any) -> list[Any]:
    return sorted(_alike(values, "sort"))


def _min(values: Any) -> Any:
    return min(_alike(values, "min")) if _length(values) else _no("min requires a value that is not empty")


def _max(values: Any) -> Any:
    return max(_alike(values, "max")) if _length(values) else _no("max requires a value that is not empty")


def _strip(run: Callable[..., str], text: Any, characters: Any = None) -> str:
    if characters is not None and len(as_text(characters)) > STRIP_MAX:
        _no(f"strip accepts at most {STRIP_MAX} characters")
    return run(as_text(text), characters)


def _int(value: Any) -> int:
    try:
        return int(value if is_number(known(value)) else as_text(value)[:100])
    except (ValueError, OverflowError):
        _no("int requires a whole number")


def _float(value: Any) -> float:
    try:
        return float(value if is_number(known(value)) else as_text(value)[:100])
    except (ValueError, OverflowError):
        _no("float requires a number")


def _round(value: Any, places: Any = 0) -> Any:
    if not is_whole(places) or not 0 <= places <= PLACES_MAX:
        _no(f"round accepts 0 to {PLACES_MAX} places")
    return round(_number(value), places) if places else round(_number(value))


def _to_json(value: Any) -> str:
    return json.dumps(plain(value), ensure_ascii=False)


def from_json(value: Any) -> Any:
    """The function `json`."""
    text = as_text(value)
    bounds.spend(len(text) * PARSING)
    try:
        return json_text.decoded(text, parse_constant=lambda name: _no(f"json: {name} is not JSON"))
    except json.JSONDecodeError as error:
        _no(f"json: the text is not JSON at its line {error.lineno}, column {error.colno}")
    except json_text.TwiceError as error:
        raise ExpressionError(f"json: {error}", id="RC-key-twice") from None
    except ValueError:
        _no("json: a number is too large")


def numbers(first: Any, end: Any) -> list[int]:
    """The function `range`: whole numbers from the first up to the end, which is excluded."""
    if not bounds.is_whole(known(first)) or not bounds.is_whole(known(end)):
        _no("range requires two whole numbers, as in range(9, 12)")
    # Before the list exists.
    bounds.list_room(max(end - first, 0))
    return list(range(first, end))


def _map(value: Any) -> Mapping[Any, Any]:
    if isinstance(known(value), Mapping):
        return dict(value)
    raise TypeError


def _items(value: Any) -> list[list[Any]]:
    return [[key, item] for key, item in _map(value).items()]


def _get(value: Any, key: Any, other: Any = None) -> Any:
    return _map(value).get(as_text(key), known(other))


TEXT_METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    "lower": lambda text: as_text(text).lower(),
    "upper": lambda text: as_text(text).upper(),
    "capitalize": lambda text: as_text(text).capitalize(),
    "title": lambda text: as_text(text).title(),
    "strip": partial(_strip, str.strip),
    "lstrip": partial(_strip, str.lstrip),
    "rstrip": partial(_strip, str.rstrip),
    "startswith": lambda text, start: as_text(text).startswith(as_text(start)),
    "endswith": lambda text, end: as_text(text).endswith(as_text(end)),
    "removeprefix": lambda text, start: as_text(text).removeprefix(as_text(start)),
    "removesuffix": lambda text, end: as_text(text).removesuffix(as_text(end)),
    "replace": _replace,
    "split": _split,
    "join": lambda text, values: _join(values, text),
}
MAP_METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    "items": _items,
    "keys": lambda value: list(_map(value)),
    "values": lambda value: list(_map(value).values()),
    "get": _get,
}
_FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    **{name: TEXT_METHODS[name] for name in ("lower", "upper", "capitalize", "title", "replace", "split")},
    "trim": TEXT_METHODS["strip"],
    "default": _default,
    "join": _join,
    "length": _length,
    "first": _first,
    "last": _last,
    "unique": _unique,
    "sort": _sort,
    "reverse": lambda values: _list(values)[::-1],
    "min": _min,
    "max": _max,
    "items": _items,
    "string": text_of,
    "int": _int,
    "float": _float,
    "abs": lambda value: abs(_number(value)),
    "round": _round,
    "tojson": _to_json,
}
_TESTS: Final[Mapping[str, Callable[..., bool]]] = {
    "defined": lambda value: not is_undefined(value),
    "undefined": is_undefined,
    "none": lambda value: known(value) is None,
    "true": lambda value: known(value) is True,
    "false": lambda value: known(value) is False,
    "boolean": lambda value: isinstance(known(value), bool),
    "number": lambda value: is_number(known(value)),
    "integer": lambda value: is_whole(known(value)),
    "string": lambda value: isinstance(known(value), str),
    "mapping": lambda value: isinstance(known(value), Mapping),
    "sequence": lambda value: isinstance(known(value), list | tuple),
    "odd": lambda value: _number(value) % 2 == 1,
    "even": lambda value: _number(value) % 2 == 0,
    "in": lambda value, values: compared(value, "in", values),
}
FILTERS: Final[Mapping[str, Callable[..., Any]]] = {name: Function(name, run) for name, run in _FILTERS.items()}
TESTS: Final[Mapping[str, Callable[..., Any]]] = {name: Function(name, run) for name, run in _TESTS.items()}
