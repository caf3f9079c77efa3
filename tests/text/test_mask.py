"""Secrets taken out of data: all of them, and nothing else is touched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from reconciler.dataclass import dataclass
from reconciler.text.redact import MASK, Mask

SECRET = "s3cr3t-of-ada"
mask = Mask([SECRET])


class Word(StrEnum):
    HIDDEN = SECRET


class Pair(NamedTuple):
    name: str
    value: Any


@dataclass(frozen=True)
class Note:
    """A value of ours."""

    text: str
    about: Any = None
    facts: Mapping[str, Any] = field(default_factory=dict)


class Fleeting(Mapping[str, Note]):
    """A map that makes its values when it is asked for them."""

    def __getitem__(self, key: str) -> Note:
        return Note(SECRET if key == "secret" else "plain")

    def __iter__(self) -> Iterator[str]:
        return iter(["plain", "secret"] * 50)

    def __len__(self) -> int:
        return 2


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        (f"token {SECRET}", f"token {MASK}"),
        (Word.HIDDEN, MASK),
        ({SECRET: [SECRET, 1]}, {MASK: [MASK, 1]}),
        ((SECRET, None), (MASK, None)),
        (Pair(SECRET, {"a": SECRET}), Pair(MASK, {"a": MASK})),
        (Note(SECRET, Note("plain", [SECRET]), {"a": SECRET}), Note(MASK, Note("plain", [MASK]), {"a": MASK})),
        (MappingProxyType({"a": SECRET}), {"a": MASK}),
    ],
    ids=["text", "word", "map", "tuple", "named tuple", "value", "other map"],
)
def test_a_secret_is_masked_wherever_it_is(value: Any, masked: Any) -> None:
    assert mask.data(value) == masked


@pytest.mark.parametrize("value", ["plain", {"a": ["plain"]}, ("plain", 1.5), Note("plain", Note("plain")), Pair("a", [True]), {"a", "b"}])
def test_what_holds_no_secret_stays_the_same_object(value: Any) -> None:
    assert mask.data(value) is value


def test_a_value_in_several_places_is_masked_once_and_stays_one_value() -> None:
    note = Note(SECRET)
    first, second = mask.data([note, {"again": note}])
    assert first == Note(MASK)
    assert second["again"] is first


def test_values_that_exist_only_while_they_are_masked_are_not_taken_for_each_other() -> None:
    assert mask.data(Fleeting()) == {"plain": Note("plain"), "secret": Note(MASK)}
