"""Keys from titles: short, ASCII, unique where they must be. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from typing import Final

LENGTH_MAX: Final = 40  # characters of a key made from a title; a number may follow

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
    plain = "".join(_SPELLED.get(one, one) for one in unicodedata.normalize("NFKD", spelled) if not unicodedata.combining(one))
    plain = re.sub(r"['’`]", "", plain)
    found = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    if len(found) <= LENGTH_MAX:
        return found
    return (found[: LENGTH_MAX + 1].rpartition("-")[0] or found[:LENGTH_MAX]).strip("-")


def free(title: str, kind: str, around: str, taken: Collection[str]) -> str:
    """A key that nobody has: of the title, of what it stands in and the title, or numbered.

    `around`: the title of what it stands in, "" where that is no help. `kind`: the word for what has no title.
    """
    return next(key for key in _candidates(slug(title), kind, slug(around)) if key not in taken)


def _candidates(name: str, kind: str, around: str) -> Iterator[str]:
    if name:
        yield name
        if around:
            yield f"{around}-{name}"
    number = 2 if name else 1
    while True:
        yield f"{name or kind}-{number}"
        number += 1
