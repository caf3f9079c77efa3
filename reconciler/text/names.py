"""Names as services and people treat them: which texts are the same name although their characters differ. Pure.

In: texts. Out: the form in which names are compared, and what a service may have made of a name. Services trim names, store them in NFC,
fold white space, cut them or add a number; people see no difference between most of these.

Did you mean: the valid word that was probably intended. Pure.

Times, days and durations in texts for people. Times are in the reader's time zone, which is an argument; JSON documents keep UTC.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from difflib import get_close_matches
from hashlib import sha256
from itertools import islice
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


OPTIONS_MAX = 500  # candidates looked at; errors may be many, too
COMPARED_MAX = 30  # of them compared by difflib, which is slow: those that share most of their characters with the word
LENGTH_MAX = 100  # characters of a word that are looked at
SHOWN_MAX = 12  # words listed where a closed choice is spelled out


def closest(word: str, options: Iterable[str]) -> str | None:
    """The option nearest to the word; None if none is similar."""
    candidates = list(islice((option for option in options if option != word), OPTIONS_MAX))
    lowered = {option[:LENGTH_MAX].lower(): option for option in reversed(candidates)}
    wanted = word[:LENGTH_MAX].lower()
    if len(lowered) > COMPARED_MAX:
        characters = set(wanted)
        near = sorted(lowered, key=lambda option: (-len(characters & set(option)), abs(len(option) - len(wanted))))
        lowered = {option: lowered[option] for option in near[:COMPARED_MAX]}

    matches = get_close_matches(wanted, lowered, n=3, cutoff=0.6)
    swapped = [option for option in matches if sorted(option) == sorted(wanted)]  # the commonest typo, which the ratio underrates
    return lowered[(swapped or matches)[0]] if matches else None


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """`; did you mean "title"?`, or nothing."""
    suggestion = closest(word, options)
    return f'; did you mean "{suggestion}"?' if suggestion is not None else ""


def one_of(options: Iterable[str]) -> str:
    """`one of a, b, c`, cut short where there are many."""
    names = list(options)
    return "one of " + ", ".join(names[:SHOWN_MAX]) + (", …" if len(names) > SHOWN_MAX else "")


def a(noun: str) -> str:
    """`a team`, `an organization`."""
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


TITLE_MAX: Final = 60  # characters of a title that somebody else wrote


def quoted(title: str) -> str:
    """A title of the service in quotes, on one line, its beginning where it is long."""
    text = " ".join(title.split())
    return f'"{text if len(text) <= TITLE_MAX else f"{text[: TITLE_MAX - 1]}…"}"'


HERE: Final = None
"""The zone of this machine, or of the variable TZ."""

SECONDS_MAX: Final = 120  # longer durations are in minutes
_UNTIL: Final = re.compile(r"\buntil (\d{4}-\d{2}-\d{2})\b", re.ASCII | re.IGNORECASE)


def utc_text(moment: datetime) -> str:
    """`2026-11-18T14:02:11Z`, as documents have it."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def clock_time(moment: datetime, zone: tzinfo | None) -> str:
    """`2026-11-18 15:02:11 CET`."""
    local = moment.astimezone(zone)
    return f"{local:%Y-%m-%d %H:%M:%S} {local.tzname()}"


def minute(moment: datetime, zone: tzinfo | None) -> str:
    """`29 Nov 2026, 22:10 CET`: for times days ahead."""
    local = moment.astimezone(zone)
    return f"{local.day} {local:%b %Y, %H:%M} {local.tzname()}"


def clock_time_of(text: str, zone: tzinfo | None) -> str:
    """The same for a time in ISO 8601; any other text unchanged."""
    try:
        return clock_time(datetime.fromisoformat(text), zone)
    except (ValueError, OverflowError):
        return text


def duration(seconds: float) -> str:
    """`40 s`, `8 min`, `1 h 20 min`."""
    if seconds < SECONDS_MAX:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def age(seconds: float) -> str:
    """`2 days old`, `3 hours old`, `just now`."""
    return f"{span(seconds)} old" if seconds >= 60 else "just now"  # clocks may differ


def span(seconds: float) -> str:
    """`3 days`, `5 hours`, `1 minute`; at least a minute."""
    length, unit = next((unit for unit in ((86_400, "day"), (3_600, "hour")) if seconds >= unit[0]), (60, "minute"))
    number = max(int(seconds) // length, 1)
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


def until(text: str) -> str | None:
    """The day after the last word `until` in a text; the day may not exist in the calendar."""
    days = _UNTIL.findall(text)
    return days[-1] if days else None
