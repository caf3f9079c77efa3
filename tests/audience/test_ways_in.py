"""Somebody can administer and sign in at every moment: random edits, cut before and failing at each of their requests."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.audience.ways_in import ERROR, LOST, REFUSAL, Edit, Ways, doors, edited, world
from tests.proofs import spread


def ways(root: Path, seed: int) -> Ways:
    chance = random.Random(seed)
    before = world(chance)
    edit = Edit(before, edited(before, chance), chance.choice((0, 1, 1, 2, 3)))
    return Ways(doors(root), root / "image").try_all(edit, many=32, faults=(REFUSAL, ERROR, LOST))


@pytest.mark.parametrize("seed", spread([1, 9, 10, 30, 80, *range(100, 200)], 4))
def test_somebody_can_get_in_at_every_moment_of_every_run(tmp_path: Path, seed: int) -> None:
    assert "\n".join(ways(tmp_path, seed).violations[:3]) == ""
