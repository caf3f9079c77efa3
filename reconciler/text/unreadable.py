"""Texts of which a part is lost: half a surrogate pair, as a program leaves it that cuts a text in the middle of an emoji. Pure.

In: a decoded answer. Out: the same, in which every text can be encoded, printed and stored, and a mark on each text that was changed for
that, and on each map that contains one. No other text gets the mark: U+FFFD may be what somebody wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

LOST: Final = "\ufffd"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class UnreadableText(str):
    """A text with U+FFFD in place of what is lost."""

    __slots__ = ()


class PartlyUnreadable(dict[str, Any]):
    """A map that contains an unreadable text, at any depth."""

    __slots__ = ()


def readable(value: Any) -> Any:
    """The decoded value with every half surrogate pair replaced, and marked; parts without one are the same objects."""
    return _readable(value)[0]


def _readable(value: Any) -> tuple[Any, bool]:
    if isinstance(value, str):
        return (value, False) if _SURROGATE.search(value) is None else (UnreadableText(_SURROGATE.sub(LOST, value)), True)
    if isinstance(value, list):
        parts = [_readable(part) for part in value]
        return ([part for part, _ in parts], True) if any(lost for _, lost in parts) else (value, False)
    if isinstance(value, dict):
        items = [(_readable(key), _readable(part)) for key, part in value.items()]
        if not any(key[1] or part[1] for key, part in items):
            return value, False
        return PartlyUnreadable({key[0]: part[0] for key, part in items}), True
    return value, False


def unreadable_texts(value: Any) -> list[str]:
    """The unreadable texts in a value."""
    if isinstance(value, UnreadableText):
        return [value]
    parts: Iterable[Any] = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return [text for part in parts for text in unreadable_texts(part)]
