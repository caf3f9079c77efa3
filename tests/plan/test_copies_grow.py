"""Who can read a space is worked out in as many steps as it has copies."""

from __future__ import annotations

from typing import ClassVar

from reconciler.model import Observed
from reconciler.plan.audience.readers import Audiences
from tests.harness import kinds

WITHIN = {"organization": "org_a"}


class CountedText(str):
    """An id that counts how often it is compared."""

    __slots__ = ()
    comparisons: ClassVar[int] = 0

    def __eq__(self, other: object) -> bool:
        CountedText.comparisons += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def comparisons(number: int) -> int:
    """How many comparisons of ids it takes to say who can read a space with so many copies."""
    ids = ["spc_blank", *(f"spc_{index}" for index in range(number))]
    objects = {"space": {id: Observed("space", id, {"visibility": "public"}, WITHIN, {"id": id}) for id in ids}}
    copies = {("space", "spc_blank"): [("space", CountedText(id)) for id in ids[1:]]}
    CountedText.comparisons = 0
    audiences = Audiences(kinds(), objects, complete=(), copies=copies)
    assert audiences.of(("space", "spc_blank"))
    return CountedText.comparisons


def test_four_times_as_many_copies_of_a_space_take_four_times_the_comparisons() -> None:
    assert comparisons(400) <= 5 * comparisons(100)
