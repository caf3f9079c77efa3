"""The one rule of what is unchanged, and where a difference comes from."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.address import Address
from reconciler.kinds import load
from reconciler.model import Binding, Cause, Observed, Origin
from reconciler.plan.matching.differences import differences, explain
from reconciler.resource import UNSET

LINK = load()["share-link"]


def compared(want: Any, now: Any, sent: Any = UNSET, seen: Any = UNSET) -> Cause | None:
    at = Address.parse("acme/site/docs/share-link/x")
    remembered = [{"name": value} if value is not UNSET else {} for value in (sent, seen)]
    binding = Binding(at, "share-link", "1", Origin.CREATED, *remembered) if sent is not UNSET or seen is not UNSET else None
    deviations = differences(LINK, {"name": want}, Observed("share-link", "1", {"name": now}, {}, {}), binding, {})
    return deviations[0].cause if deviations else None


@pytest.mark.parametrize(
    ("want", "now", "sent", "seen", "cause", "why"),
    [
        ("a", "a", UNSET, UNSET, None, "it is as declared, whoever made it so"),
        ("a", "a", "b", "b", None, "both came to the same"),
        ("a", "A", "a", "A", None, "the service stores it its own way, and did so before"),
        ("a", UNSET, "a", UNSET, None, "the service never shows it, and it was sent"),
        ("a", "b", UNSET, UNSET, Cause.YOURS, "it was never sent"),
        ("b", "a", "a", "a", Cause.YOURS, "the YAML changed"),
        ("a", "b", "a", "a", Cause.DRIFT, "the service changed"),
        ("a", "B", "a", "A", Cause.DRIFT, "it is not what was seen after the write"),
        ("c", "b", "a", "a", Cause.BOTH, "both changed, to different things"),
        ("b", "A", "a", "A", Cause.YOURS, "the YAML changed what the service stores its own way"),
    ],
)
def test_a_field_is_compared_with_what_was_sent_and_seen(want: Any, now: Any, sent: Any, seen: Any, cause: Cause | None, why: str) -> None:
    assert compared(want, now, sent, seen) is cause, why


def test_structured_values_are_explained_where_they_differ() -> None:
    before = {"type": "rules", "rules": [{"rule": "r", "users": ["a"]}], "gone": 1}
    after = {"type": "rules", "rules": [{"rule": "r", "users": ["b"]}], "new": 2}
    assert explain(before, after) == (("gone", 1, UNSET), ("new", UNSET, 2), ("rules.0.users.0", "a", "b"))
    assert explain(1, 1) == ()
    assert explain("a", {"a": 1}) == (("", "a", {"a": 1}),)
