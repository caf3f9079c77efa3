"""Keys from titles: short, ASCII, unique where they must be. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

LENGTH_MAX: Final = 40  # characters of a key that is derived from a title; a number may follow
LONG_MAX: Final = 90  # characters of a key with the names of hosts

_LATIN: Final = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ı": "i", "ŋ": "ng"}
_CYRILLIC: Final = {
    **dict(zip("абвгдезийклмнопрстуфыэіґў", "abvgdeziyklmnoprstufyeigu", strict=True)),
    "ж": "zh",
    "х": "kh",
    "ц": "ts",
    "ч": "ch",
    "ш": "sh",
    "щ": "shch",
    "ъ": "",
    "ь": "",
    "ю": "yu",
    "я": "ya",
    "ї": "yi",
    "є": "ye",
}
_GREEK: Final = {**dict(zip("αβγδεζηικλμνξοπρσςτυφω", "avgdeziiklmnxoprsstyfo", strict=True)), "θ": "th", "χ": "ch", "ψ": "ps"}
_SPELLED: Final = {**_LATIN, **_CYRILLIC, **_GREEK}


def slug(text: str) -> str:
    """A title as a key: lower case, hyphens, cut between words; "" where no letter of it has an ASCII form."""
    composed = unicodedata.normalize("NFKC", text).lower()
    spelled = "".join(_SPELLED.get(character, character) for character in composed)
    # Spelled twice: before the decomposition, which would take a letter apart (й), and after it, for what it uncovers (ό).
    letters = [letter for letter in unicodedata.normalize("NFKD", spelled) if not unicodedata.combining(letter)]
    plain = "".join(_SPELLED.get(letter, letter) for letter in letters)
    plain = re.sub(r"['’`]", "", plain)
    key = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    if len(key) <= LENGTH_MAX:
        return key
    return (key[: LENGTH_MAX + 1].rpartition("-")[0] or key[:LENGTH_MAX]).strip("-")


class TakenKeys:
    """The keys that siblings of one kind have."""

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._next: dict[str, int] = {}  # by numbered word, the number after those that are known to be taken

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def add(self, key: str) -> None:
        """Record that a key is taken."""
        self._keys.add(key)

    def free(self, names: Sequence[str], kind: str) -> str:
        """The first of the names that is not taken, else the first with a number. `kind`: the word for an object without a name."""
        for key in names:
            if key not in self._keys:
                return key
        word = names[0] if names else kind
        number = self._next.get(word, 2 if names else 1)
        while f"{word}-{number}" in self._keys:
            number += 1
        self._next[word] = number
        return f"{word}-{number}"
