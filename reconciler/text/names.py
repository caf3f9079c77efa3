"""Names as services and people treat them: which texts are the same name although their characters differ. Pure.

In: texts. Out: the form in which names are compared, and what a service may have made of a name. Services trim names, store them in NFC,
fold white space, cut them or add a number; people see no difference between most of these.
"""

from __future__ import annotations

import re
import unicodedata
from hashlib import sha256
from typing import Final

CUT_MIN: Final = 0.5  # share of a name that must be left of it, so that what is left is recognized as the name cut off
_NUMBER: Final = re.compile(r"[\s_-]*(?:\(\d+\)|\[\d+\]|\d+)")  # what a service appends where a name is taken: ` (1)`, `-2`, ` 2`

ASIDE_MAX: Final = 30  # characters of a name that are left in a temporary one: the shortest limit of a title is 50
_ASIDE: Final = re.compile(r"-aside-[0-9a-f]{4}\Z")


def canonical(text: str, *, caseless: bool = False) -> str:
    """The form in which names are compared: NFC, without white space at the ends, each other white space as one space.

    `caseless`: of names whose case has no meaning, such as e-mail addresses.
    """
    plain = text if text.isascii() else unicodedata.normalize("NFC", text)
    folded = " ".join(plain.split())
    return unicodedata.normalize("NFC", folded.casefold()) if caseless else folded


def is_canonical(text: str) -> bool:
    """Whether a name is in NFC and has no white space at its ends."""
    return text == text.strip() and (text.isascii() or unicodedata.is_normalized("NFC", text))


def aside(name: str, id: str) -> str:
    """A temporary name for the object with this id, which is to be called `name` soon: no other object has it."""
    return f"{name[:ASIDE_MAX].rstrip()}-aside-{sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()[:4]}"


def without_aside(name: str) -> str:
    """The name that an object with a temporary name is to get; every other name unchanged."""
    return _ASIDE.sub("", name)


def altered(sent: str, shown: str) -> bool:
    """Whether `shown` may be what a service made of the name `sent`: changed case or punctuation, cut off, or with a number appended."""
    if _letters(sent) == _letters(shown):
        return True
    name, other = canonical(sent, caseless=True), canonical(shown, caseless=True)
    if not name or not other:
        return False
    if other.startswith(name):
        return _NUMBER.fullmatch(other, len(name)) is not None
    rest = other.rstrip("….")
    return name.startswith(rest) and len(rest) >= len(name) * CUT_MIN


def _letters(text: str) -> str:
    """The letters and digits of a name, without their case; the name itself where it has none."""
    plain = canonical(unicodedata.normalize("NFKC", text), caseless=True)
    return "".join(character for character in plain if character.isalnum()) or plain
