"""Which characters display as themselves, and what replaces the others. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

INVISIBLE: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that Python calls printable although they are invisible: joiners, fillers, an empty braille cell."""

NEW_EMOJI: Final = range(0x1F000, 0x1FC00)
"""Emoji that this Python's Unicode tables may not know yet; nothing else is assigned there."""

VARIATION: Final = (*range(0x180B, 0x1810), *range(0xFE00, 0xFE0F), *range(0xE0100, 0xE01F0))
"""Variation selectors are invisible; only U+FE0F, which selects the coloured form of an emoji, is in daily use."""

UNLIMITED: Final = 1_000_000
"""The number of columns assumed for output that is not a terminal."""

_OTHERWISE: Final = INVISIBLE | {chr(code) for code in VARIATION}
_SHORT: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def is_plain(character: str) -> bool:
    """Whether a character displays as itself and leaves its neighbours unchanged."""
    return (character.isprintable() and character not in _OTHERWISE) or ord(character) in NEW_EMOJI


def named(character: str) -> str:
    """A character by its number, as in terminals and YAML: `\\x1b`, `\\u202e`, `\\U000e0041`; or `\\n`, `\\t`, `\\r`."""
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def replaced(text: str, otherwise: Callable[[str], str] = named) -> str:
    """The text with a replacement for each character that is not plain."""
    if text.isprintable() and _OTHERWISE.isdisjoint(text):
        return text  # true of most texts, and decided without a look at each character
    return "".join(character if is_plain(character) else otherwise(character) for character in text)
