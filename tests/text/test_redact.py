"""Secrets are taken out of data of any shape, and everything else stays as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import given, strategies as st

from reconciler.address import Address
from reconciler.model import Action, Source
from reconciler.text.redact import LONG, MASK, Mask

SECRET = "hunter2"


@dataclass(frozen=True)
class Card:
    """A value of ours, with a part that can hold others."""

    title: str
    part: Any


@dataclass(frozen=True)
class Box:
    """A value with one part."""

    part: Any


class Title(str):
    """A text of a type of its own."""

    __slots__ = ()


TEXTS = st.sampled_from(["", "Guides", SECRET, f"a {SECRET.upper()} b", "acme"])
LEAVES = TEXTS | st.none() | st.booleans() | st.integers() | st.just(Action.CREATE) | st.just(Address(("acme",))) | TEXTS.map(Title)
DATA = st.recursive(
    LEAVES,
    lambda part: (
        st.lists(part, max_size=3)
        | st.lists(part, max_size=3).map(tuple)
        | st.dictionaries(TEXTS, part, max_size=3)
        | st.builds(Card, TEXTS, part)
        | st.builds(Box, part)
        | part.map(lambda value: [value, value])  # the same object twice
        | st.builds(Source, TEXTS, st.integers(), st.integers())
    ),
)


def plainly_masked(value: Any) -> Any:
    """What masking means, without looking at anything once only."""
    if isinstance(value, Card):
        return Card(plainly_masked(value.title), plainly_masked(value.part))
    if isinstance(value, Box):
        return Box(plainly_masked(value.part))
    if isinstance(value, Source):
        return Source(*(plainly_masked(part) for part in value))
    if isinstance(value, Address | Action):
        return value
    if isinstance(value, str):
        return str(value).replace(SECRET, MASK).replace(SECRET.upper(), MASK)
    if isinstance(value, dict):
        return {plainly_masked(key): plainly_masked(part) for key, part in value.items()}
    return type(value)(plainly_masked(part) for part in value) if isinstance(value, list | tuple) else value


@given(DATA)
def test_every_text_is_masked_wherever_it_is_and_nothing_else_changes(data: Any) -> None:
    assert Mask([SECRET]).data(data) == plainly_masked(data)


@given(DATA)
def test_data_without_a_secret_is_the_same_object(data: Any) -> None:
    assert Mask(["another secret"]).data(data) is data


def test_a_secret_at_the_end_of_a_long_list_of_values_is_masked_each_time() -> None:
    mask = Mask({"hunter2"})
    clean = tuple(f"value {index}" for index in range(LONG))
    dirty = (*clean, ["the password is hunter2"])
    for _ in range(2):
        assert mask.data(clean) is clean
        assert mask.data((clean, dirty)) == (clean, (*clean, ["the password is (hidden)"]))
