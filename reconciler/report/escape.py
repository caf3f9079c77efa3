"""One encoder for each place a text can go: a terminal, JSON, mermaid, dot.

In: any text, from the service or the YAML. Out: text that its reader cannot mistake for anything else. What shows nothing, or changes how
its neighbours show (control, bidi, escape, zero-width characters, lone surrogates), is shown as `\\x1b`, `\\u202e`, `\\U000e0041`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

INVISIBLE: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that Python calls printable although nothing shows: joiners, fillers, an empty braille cell."""

NEW_EMOJI: Final = range(0x1F000, 0x1FC00)
"""Emoji that this Python's Unicode tables may not know yet; nothing else is assigned there."""

VARIATION: Final = (*range(0x180B, 0x1810), *range(0xFE00, 0xFE0F), *range(0xE0100, 0xE01F0))
"""Variation selectors are invisible; only U+FE0F, which asks for the coloured form of an emoji, is in daily use."""

_OTHERWISE: Final = INVISIBLE | {chr(code) for code in VARIATION}


def is_plain(character: str) -> bool:
    """Whether a character shows as itself and leaves its neighbours alone."""
    return (character.isprintable() and character not in _OTHERWISE) or ord(character) in NEW_EMOJI


def _name(character: str) -> str:
    code = ord(character)
    match character:
        case "\n":
            return "\\n"
        case "\t":
            return "\\t"
        case "\r":
            return "\\r"
        case _:
            return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _replace(text: str, otherwise: Callable[[str], str]) -> str:
    if text.isprintable() and _OTHERWISE.isdisjoint(text):
        return text  # the whole of most texts, told without a look at each character
    return "".join(character if is_plain(character) else otherwise(character) for character in text)


def terminal(text: str) -> str:
    """One line for a terminal."""
    return _replace(text, _name)


def _json_name(character: str) -> str:
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def as_json(value: Any, *, indent: int | None = 2) -> str:
    """JSON that decodes to the same value; readable letters stay readable. Raises ValueError for what JSON has no number for."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return "\n".join(_replace(line, _json_name) for line in text.split("\n"))


_MERMAID: Final = re.compile(r"[^\w @./:,+()=>-]|(?<==)=", re.ASCII)


def mermaid(text: str) -> str:
    """A label between double quotes in mermaid, where `#…;` is a character by its number."""
    plain = terminal(text)
    return _MERMAID.sub(lambda found: found[0] if not found[0].isascii() else f"#{ord(found[0])};", plain)


def dot(text: str) -> str:
    """A label between double quotes in dot."""
    return terminal(text).replace("\\", "\\\\").replace('"', '\\"')


def github(text: str) -> str:
    """The message of a workflow command of GitHub: one line, in which nothing begins a command of its own or another script."""
    return re.sub(r":(?=:)|#(?=#\[)", r"\g<0> ", terminal(text).replace("%", "%25"))  # GitHub decodes no %3A here


def github_property(text: str) -> str:
    """A property of a workflow command, where `,` and `:` have a meaning too."""
    return terminal(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
