"""Planning, and matching by itself, takes as long as there are objects, whatever happens to all of them at once."""

from __future__ import annotations

import re
from math import log
from pathlib import Path

import pytest

import reconciler
from tests.effort import calls, counted, operations, timed
from tests.growth.edits import EDITS, Edit, organization
from tests.growth.scenes import scene
from tests.proofs import spread

EXPONENT_MAX = 1.1
SECONDS_MAX = 1.25  # memory is slower the more of it there is

edits = pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.name)


def exponent(small: float, large: float, times: float) -> float:
    """Of work that grows so when there is so many times as much."""
    return log(large / small) / log(times)


@pytest.mark.parametrize("edit", spread(EDITS, 2), ids=lambda edit: edit.name)
def test_four_times_as_many_objects_take_four_times_the_calls(edit: Edit, tmp_path: Path) -> None:
    few, many = (scene(tmp_path, edit, number) for number in (100, 400))
    assert exponent(operations(few.identify), operations(many.identify), 4) <= EXPONENT_MAX
    assert exponent(operations(few.plan), operations(many.plan), 4) <= EXPONENT_MAX


def test_four_times_as_many_new_siblings_with_one_title_take_four_times_the_operations(tmp_path: Path) -> None:
    alike = Edit("teams: one title", None, lambda many: organization(teams={f"t{i}": {"title": "Team"} for i in range(many)}))
    few, many = (scene(tmp_path, alike, number) for number in (50, 200))
    assert exponent(operations(few.plan), operations(many.plan), 4) <= EXPONENT_MAX


@pytest.mark.proof
@edits
def test_ten_thousand_objects_take_ten_times_the_calls_and_seconds_of_a_thousand(edit: Edit, tmp_path: Path) -> None:
    """What one call does to a long list is seen in the seconds only."""
    few, many = (scene(tmp_path, edit, number) for number in (1_000, 10_000))
    assert exponent(calls(few.identify), calls(many.identify), 10) <= EXPONENT_MAX
    (less, counting), (more, seconds) = counted(few.plan), counted(many.plan)
    assert exponent(less, more, 10) <= EXPONENT_MAX
    small = min(timed(few.plan)[0] for _ in range(3))
    counter = max(counting - small, 0) / less  # seconds for each call that is counted
    if seconds - more * counter > small * 10**SECONDS_MAX:  # what a plan takes that is not counted, roughly: look closely
        assert exponent(small, min(timed(many.plan)[0] for _ in range(3)), 10) <= SECONDS_MAX


def test_no_set_takes_in_the_keys_of_a_dictionary_by_an_operator_which_copies_the_set_each_time() -> None:
    """`set |= dict.keys()` is `set = set | dict.keys()`: no count of calls shows it. `set.update` adds in place."""
    modules = Path(reconciler.__file__).parent.rglob("*.py")
    assert [module for module in modules if re.search(r"[|&^-]= .*\.keys\(\)", module.read_text(encoding="utf-8"))] == []


def test_every_edit_does_something_but_the_one_that_does_nothing(tmp_path: Path) -> None:
    for edit in EDITS:
        made = scene(tmp_path, edit, 12).plan()
        assert bool(made.changes or made.blocked) != edit.name.endswith("nothing to do"), edit.name
