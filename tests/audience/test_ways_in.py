"""Somebody can administer and sign in at every moment: random edits, cut before and failing at each of their requests."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.audience.ways_in import ERROR, LOST, REFUSAL, Edit, Entrance, Ways, doors, edited, problems, world
from tests.proofs import costly, spread


def ways(root: Path, seed: int) -> Ways:
    chance = random.Random(seed)
    before = world(chance)
    edit = Edit(before, edited(before, chance), chance.choice((0, 1, 1, 2, 3)))
    return Ways(doors(root), root / "image").try_all(edit, many=32, faults=(REFUSAL, ERROR, LOST))


@costly
@pytest.mark.parametrize("seed", spread([1, 9, 10, 30, 80, *range(100, 200)], 4))
def test_somebody_can_get_in_at_every_moment_of_every_run(tmp_path: Path, seed: int) -> None:
    assert "\n".join(ways(tmp_path, seed).violations[:3]) == ""


def test_the_proof_finds_each_way_to_lock_people_out() -> None:
    start = Entrance("", 1, 1, enforced=False, enrolled=frozenset())
    closed = [
        Entrance("demoted", 0, 1, enforced=False, enrolled=frozenset()),
        Entrance("enforced", 1, 0, enforced=True, enrolled=frozenset()),
        Entrance("enrolled", 1, 0, enforced=False, enrolled=frozenset({"usr_ada"})),
    ]
    assert list(problems([start], start, 1)) == []
    assert [list(problems([entrance], start, 1)) for entrance in closed] == [
        ["0 admins, not 1, after demoted"],
        ["nobody can sign in after enforced"],
        ["somebody was added to single sign-on without a provider by enrolled"],
    ]


def test_most_of_the_random_edits_change_roles() -> None:
    chance, changed = random.Random(1), 0
    for _ in range(20):
        before = world(chance)
        after = edited(before, chance)
        changed += any(after["members"].get(email) not in (None, member) for email, member in before["members"].items())
    assert changed > 10
