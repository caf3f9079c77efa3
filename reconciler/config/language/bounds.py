"""Values inside expressions: their names, the limits of a step, the limits of the result. Pure.

`WORK` counts what the current evaluation has read and created: a character is one, an item `ITEM`. Every step that creates a text or a list
goes through `within_bounds` or `room`, and the arguments of a `Function` are counted before it runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from reconciler.config.source.json_text import WrittenNumber
from reconciler.config.source.problems import quote_number

# What a pull request of a stranger may make a pipeline compute: far more than documentation needs, and too little to slow a machine down.
TEXT_MAX: Final = 1024 * 1024  # characters of any text
ITEMS_MAX: Final = 100_000  # of any list
ITEM: Final = 16  # the cost of an item of a list or map, in characters
# Reading is counted too: `in` and `==` create nothing, and a loop of them would be free.
READING: Final = 8  # how much cheaper it is to read something than to create it
# One limit for all expressions of a project: with one for each, ten thousand expressions just below it would take minutes.
WORK_MAX: Final = 32 * TEXT_MAX  # limit of what all evaluations of a project may read and create, together: some tenths of a second
DEPTH_MAX: Final = 100  # of lists and maps in what an expression gives
# Python would compute 9**9**9 for hours. Services keep numbers in 64 bits.
INTEGER_BITS: Final = 64
_ATOMS: Final = frozenset({bool, int, float, type(None)})
_PLAIN: Final = frozenset({str, bool, int, float, type(None), dict, list})


class ExpressionError(Exception):
    """One sentence about an expression, and the id of its cause; `offset`: the position of its `${{` in the scalar's text, from 0."""

    def __init__(self, message: str, offset: int = 0, *, id: str) -> None:
        super().__init__(message)
        self.message = message
        self.id = id
        self.offset = offset


# Caught by name: its reason is reported where the secret or variable is declared, not again at each expression that uses it.
class NoValue(ExpressionError):
    """The expression has no value, for a reason that is reported elsewhere."""

    def __init__(self) -> None:
        super().__init__("the value is not available", id="RC-value-withheld")


class Usage:
    """What has been read and created so far. `variables`: the names that expressions use; `any_variable`: they may use any."""

    def __init__(self, most: int = WORK_MAX) -> None:
        self.spent, self.most = 0, most
        self.variables: set[str] = set()
        self.any_variable = False

    def use(self, variables: Collection[str], any_variable: bool) -> None:
        self.variables.update(variables)
        self.any_variable |= any_variable

    def spend(self, amount: int) -> None:
        self.spent += amount
        if self.spent > self.most:
            raise ExpressionError(
                "the expressions of this project exceed the limit for evaluation, including this one", id="RC-expression-limit"
            )


# A context variable, because Jinja calls filters and operators without a way to hand them anything. None while the value of a secret is
# computed: whether the limit is reached must not depend on it.
WORK: Final[ContextVar[Usage | None]] = ContextVar("work", default=None)


class Function:
    """Something an expression can call."""

    def __init__(self, name: str, run: Callable[..., Any]) -> None:
        self.name, self.run = name, run

    def __call__(self, *args: Any) -> Any:
        for argument in args:
            if isinstance(argument, str | list | tuple | Mapping):
                read(argument)
        try:
            return within_bounds(self.run(*args))
        # Wrong number of arguments, or of another type. The values are not named: one of them may be a secret.
        except TypeError:
            raise ExpressionError(f"{self.name} does not accept {listed(args)}", id="RC-function-arguments") from None


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


def known(value: Any) -> Any:
    """The value; raises `ExpressionError` for a missing key or a function that is not called."""
    if type(value) in _PLAIN:
        return value
    # Jinja hands out an `Undefined` for a missing key and complains when it is used; here it must not get into a list or a map.
    if is_undefined(value):
        raise ExpressionError(value._undefined_message, id="RC-unknown-part")
    if isinstance(value, Function):
        raise ExpressionError(f"{value.name} is a function; call it: {value.name}(…)", id="RC-function-not-called")
    return value


def within_bounds(value: Any) -> Any:
    """A value that a step has created, checked against its limit and counted."""
    if isinstance(value, str):
        text_room(len(value))
    elif isinstance(value, list | tuple):
        list_room(len(value))
    elif (isinstance(value, int) and value.bit_length() > INTEGER_BITS) or (isinstance(value, float) and not math.isfinite(value)):
        raise ExpressionError("a number is too large", id="RC-expression-limit")
    return value


def text_room(size: int) -> None:
    """Count a text of that many characters before it is created."""
    if size > TEXT_MAX:
        raise ExpressionError(f"a text is longer than {TEXT_MAX:,} characters", id="RC-expression-limit")
    spend(size)


def list_room(size: int) -> None:
    """Count a list of that many items before it is created."""
    if size > ITEMS_MAX:
        raise ExpressionError(f"a list has more than {ITEMS_MAX:,} items", id="RC-expression-limit")
    spend(size * ITEM)


def spend(amount: int) -> None:
    work = WORK.get()
    if work is not None:
        work.spend(amount)


def read(value: Any, deep: bool = False) -> None:
    """Count a value before a step that reads all of it; `deep`: with everything in it."""
    if type(value) in _ATOMS:
        return
    if isinstance(value, str):
        spend(len(value) // READING)
    elif isinstance(value, list | tuple | Mapping):
        spend(len(value) * ITEM // READING)
        if deep:
            for part in [*value, *value.values()] if isinstance(value, Mapping) else value:
                read(part, deep)


def is_undefined(value: Any) -> bool:
    """Whether a value is what Jinja hands out for a missing key."""
    from jinja2 import Undefined  # a project without expressions does not need it

    return isinstance(value, Undefined)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def kind_of(value: Any) -> str:
    """The type of a value, for a sentence; never the value itself, which may be a secret."""
    if is_undefined(value):
        return "an undefined value"
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case Mapping():
            return "a map"
        case list() | tuple():
            return "a list"
        case _:
            return "a function"


def listed(values: Sequence[Any]) -> str:
    return " and ".join(kind_of(value) for value in values) or "nothing"


def text_of(value: Any) -> str:
    """A value inside a text."""
    if isinstance(known(value), str):
        return valid_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, WrittenNumber):
        raise ExpressionError(f"JSON: {quote_number(value.written)}", id="RC-number-not-quoted")
    if is_number(value):
        return str(within_bounds(value))
    raise ExpressionError(f"{kind_of(value)} cannot be part of a text", id="RC-expression-types")


def plain(value: Any, depth: int = 0) -> Any:
    """A value as plain data, copied, with every part of it counted."""
    if depth > DEPTH_MAX:
        raise ExpressionError(f"a value has more than {DEPTH_MAX} levels", id="RC-expression-limit")
    known(value)
    if isinstance(value, Mapping):
        list_room(len(value) + 1)
        return {text_of(key): plain(part, depth + 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        list_room(len(value) + 1)
        return [plain(part, depth + 1) for part in value]
    return within_bounds(valid_text(value) if isinstance(value, str) else value)


def valid_text(text: str) -> str:
    """The text; raises `ExpressionError` if it cannot be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ExpressionError("a text contains an incomplete character", id="RC-incomplete-character") from None
    return text
