"""From the request form of a field to its written form in the YAML: the inverse of `reconciler.model.codec`. Pure.

Every value is verified: the written form is read as the configuration reads it, and must give the same request form.
"""

from __future__ import annotations

import collections.abc
import json
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Annotated, Any, Final, NotRequired, Required, Union, get_args, get_origin, get_type_hints

import typing_extensions

from reconciler.config.source.nodes import lifted
from reconciler.config.values import INVALID, FieldReader
from reconciler.model import Source
from reconciler.resource import UNSET, Field, Foreign, Named, Spelled, To
from reconciler.text.credentials import has_credentials

Name = Callable[[str, str], Any]
"""`name(kind, id)`: a reference as it is written: the key, or `{id: …}` for what the project does not declare."""

_NOWHERE: Final = Source("", 0)


class Unwritable(Exception):
    """The value has no written form; `str(error)` says why."""


def written(reader: FieldReader, value: Any, name: Name, id_of: Callable[[str, str], str | None]) -> Any:
    """The written form of a field's value in the request form. Raises `Unwritable`.

    `id_of(kind, key)` is the id for a bare key, None where there is none.
    """
    field = reader.field
    if has_credentials(value):
        raise Unwritable("it contains credentials, which do not belong in files")
    written = in_yaml(field.type, field.shown(value), name)
    problems: list[str] = []
    read = reader.read(lifted(written, _NOWHERE), lambda at, message, *, id: problems.append(message))
    if read is INVALID:
        raise Unwritable(problems[0] if problems else "it cannot be read")
    try:
        json.dumps(written, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Unwritable("it contains an incomplete character") from None
    if field.body(_ids(read, id_of)) != value:
        raise Unwritable("it would change")
    return written


def usual(field: Field, value: Any, raw: Mapping[str, Any]) -> bool:
    """Whether an object has this value by default."""
    return bool(value == (field.usual(raw) if callable(field.usual) else field.usual))


def nothing(value: Any) -> bool:
    """Whether a written value is empty."""
    return value is UNSET or value is None or (isinstance(value, str | list | tuple | dict) and not value)


def in_yaml(hint: Any, value: Any, name: Name) -> Any:
    """A value as its type has it in the YAML: references by key, sets as lists."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        for extra in args[1:]:
            if isinstance(extra, Spelled):
                return extra.write(value, name)
            if isinstance(extra, To):
                return name(extra.kind, value) if isinstance(value, str) else value
        return in_yaml(args[0], value, name)
    if origin in (Required, NotRequired):
        return in_yaml(args[0], value, name)
    if origin in (Union, UnionType):
        options = [option for option in args if option is not type(None)]
        return in_yaml(options[0], value, name) if value is not None and len(options) == 1 else value
    container = origin or hint
    if isinstance(value, list | tuple) and container in (list, tuple, set, frozenset, collections.abc.Sequence):
        return [in_yaml(args[0], part, name) if args else part for part in value]
    if isinstance(value, Mapping) and typing_extensions.is_typeddict(hint):
        hints = get_type_hints(hint, include_extras=True)
        return {key: in_yaml(hints.get(key), part, name) for key, part in value.items()}
    if isinstance(value, Mapping) and container in (dict, collections.abc.Mapping):
        return {key: in_yaml(args[1], part, name) if args else part for key, part in value.items()}
    return value


def _ids(value: Any, id_of: Callable[[str, str], str | None]) -> Any:
    """A value as the configuration reads it, references turned into ids."""
    match value:
        case Named():
            return id_of(value.kind, value.key)
        case Foreign():
            return value.id
        case Mapping():
            return {key: _ids(part, id_of) for key, part in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_ids(part, id_of) for part in value]
        case _:
            return value
