"""Bindings and intents of every shape."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

from reconciler.address import Address
from reconciler.model import Binding, Intent, Origin, Position

# Half characters cannot be UTF-8; JSON can spell them, plain columns cannot.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
json_texts = st.text(st.characters(), max_size=20)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | json_texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(json_texts, inner, max_size=4),
    max_leaves=8,
)
field_maps = st.dictionaries(texts, values, max_size=4)
keys = st.from_regex(r"[A-Za-z0-9._@+-]{1,8}", fullmatch=True)
kinds = st.sampled_from(["space", "site", "share-link"])
addresses = st.builds(lambda root, kind, key: Address((root, kind, key)), keys, kinds, keys)
places = st.builds(Position, st.none() | addresses, st.integers(0, 2**31 - 1))
moments = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]))


def bindings() -> st.SearchStrategy[list[Binding]]:
    """Bindings of different addresses and ids."""
    return (
        st.lists(
            st.builds(
                Binding, addresses, kinds, texts, st.sampled_from(Origin), field_maps, field_maps, st.booleans(), st.none() | places
            ),
            max_size=5,
            unique_by=(lambda one: one.address, lambda one: (one.kind, one.id)),
        )
    )  # fmt: skip


intents = st.lists(
    st.builds(
        Intent, st.just(0), st.just(""), st.integers(0, 2**31 - 1), addresses, kinds, texts, texts, texts, st.none() | texts,
        field_maps, st.frozensets(json_texts, max_size=4), st.none() | moments, st.none() | moments,
        st.dictionaries(json_texts, json_texts, max_size=3), st.lists(json_texts, max_size=3).map(tuple),
    ),
    max_size=4,
)  # fmt: skip
