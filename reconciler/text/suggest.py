"""Did you mean: the valid word that was probably intended. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

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
