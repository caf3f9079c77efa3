"""Which addresses a pass looks at again, and in which order."""

from __future__ import annotations

from reconciler.address import Address
from reconciler.plan.world import Worklist


def looked_at(order: str, again: dict[str, str]) -> str:
    """The keys in the order in which they are looked at. `again`: what each adds when it is looked at first."""
    worklist, seen, left = Worklist(Address((key,)) for key in order), "", dict(again)
    for address in worklist:
        seen += str(address)
        for key in left.pop(str(address), ""):
            worklist.add(Address((key,)))
    return seen


def test_what_is_still_to_come_is_looked_at_once() -> None:
    assert looked_at("abc", {"a": "bc"}) == "abc"


def test_what_is_over_comes_again_in_the_next_round_in_the_same_order() -> None:
    assert looked_at("abcd", {"c": "b", "d": "a"}) == "abcdab"


def test_what_is_added_twice_in_a_round_comes_again_once() -> None:
    assert looked_at("abc", {"b": "a", "c": "a"}) == "abca"
