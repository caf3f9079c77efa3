"""A short walk through every fuzz target; `python -m tests.hostile` makes the long one."""

from __future__ import annotations

import os
import random

import pytest

from tests.hostile.fuzz import SHARES, TARGETS, fuzz
from tests.proofs import costly, tries

RUNS = tries(6_000, 1_500)


def test_every_target_has_its_share() -> None:
    assert set(SHARES) == set(TARGETS)
    assert len(TARGETS) >= 8
    assert sum(SHARES.values()) == pytest.approx(1)


@costly
@pytest.mark.parametrize("target", TARGETS)
def test_whatever_comes_in_there_is_an_answer_or_an_error_of_ours(target: str) -> None:
    first = random.randrange(10**9) if os.environ.get("RECONCILER_TEST_RANDOM") else 0
    assert [f"{one.number}: {one.error!r}" for one in fuzz(target, range(first, first + max(20, int(RUNS * SHARES[target]))))] == []
