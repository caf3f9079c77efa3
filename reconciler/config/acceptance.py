"""Check values of common types without pydantic, whose import takes longer than most commands run.

In: data that `values.compiled` made of a node. Out: the value as the engine stores it, or UNSURE if pydantic has to decide, which may
accept it and otherwise reports what is wrong. Whatever is accepted here pydantic accepts too, with the same result. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

import typing_extensions

from reconciler.resource import Checked, JsonSchema, Known, Len, Shape, Spelled, To, WireForm

UNSURE: Final = object()
"""The result for a value that only pydantic can check."""

Accept = Callable[[Any], Any]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")  # in no text that pydantic accepts
_SIZED: Final = (str, list, dict, frozenset)
_WITHOUT_EFFECT: Final = (Shape, WireForm, Spelled, JsonSchema, Known)  # on what is accepted


def acceptance(hint: Any) -> Accept:
    """The function that returns a value of a type as it is stored, or UNSURE."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        accept = acceptance(args[0])
        for extra in args[1:]:
            accept = _with(accept, extra)
        return accept
    if origin in (Union, UnionType):
        options = [option for option in args if option is not NoneType]
        return _nullable(acceptance(options[0])) if len(options) == 1 else _unsure
    if origin in (Required, NotRequired):
        return acceptance(args[0])
    if origin is Literal:
        return _literal(args)
    if hint is str:
        return _text
    if hint in (bool, int, float):
        return _exactly(hint)
    if typing_extensions.is_typeddict(hint):
        return _record(hint)
    if origin in (list, frozenset):
        return _collection(origin, acceptance(args[0]))
    if origin is dict and args[0] is str:
        return _mapping(acceptance(args[1]))
    return _anything if hint is Any else _unsure


def _unsure(value: Any) -> Any:
    return UNSURE


def _anything(value: Any) -> Any:
    return value


def _text(value: Any) -> Any:
    return value if value.__class__ is str and (value.isascii() or _SURROGATE.search(value) is None) else UNSURE


def _exactly(type: Any) -> Accept:
    return lambda value: value if value.__class__ is type else UNSURE


def _literal(options: tuple[Any, ...]) -> Accept:
    texts = frozenset(option for option in options if isinstance(option, str))
    return lambda value: value if value.__class__ is str and value in texts else UNSURE


def _nullable(inner: Accept) -> Accept:
    return lambda value: None if value is None else inner(value)


def _with(inner: Accept, extra: Any) -> Accept:
    """The check of a type with an additional check."""
    if isinstance(extra, _WITHOUT_EFFECT):
        return inner
    if isinstance(extra, To):
        return _checked(_anything, extra.reference)
    if isinstance(extra, Checked):
        return _checked(inner, extra.check)
    return _sized(inner, extra) if isinstance(extra, Len) else _unsure


def _checked(inner: Accept, check: Callable[[Any], Any]) -> Accept:
    def accept(value: Any) -> Any:
        value = inner(value)
        try:
            return value if value is UNSURE else check(value)
        except ValueError:
            return UNSURE

    return accept


def _sized(inner: Accept, length: Len) -> Accept:
    least, most = length.least, length.most

    def accept(value: Any) -> Any:
        value = inner(value)
        fits = value.__class__ in _SIZED and len(value) >= least and (most is None or len(value) <= most)
        return value if fits else UNSURE

    return accept


def _collection(type: Any, inner: Accept) -> Accept:
    def accept(value: Any) -> Any:
        if value.__class__ is not type:
            return UNSURE
        values = [inner(item) for item in value]
        return UNSURE if UNSURE in values else type(values)

    return accept


def _mapping(inner: Accept) -> Accept:
    def accept(value: Any) -> Any:
        if value.__class__ is not dict:
            return UNSURE
        values = {_text(key): inner(item) for key, item in value.items()}
        return UNSURE if UNSURE in values or UNSURE in values.values() else values

    return accept


def _record(hint: Any) -> Accept:
    parts = {name: acceptance(part) for name, part in get_type_hints(hint, include_extras=True).items()}
    required = hint.__required_keys__

    def accept(value: Any) -> Any:
        if value.__class__ is not dict or not required <= value.keys() <= parts.keys():
            return UNSURE
        values = {name: part(value[name]) for name, part in parts.items() if name in value}
        return UNSURE if UNSURE in values.values() else values

    return accept
