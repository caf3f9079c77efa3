"""Loading a project takes as long as there are resources in it, whatever they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.config import load
from reconciler.kinds import load as kinds
from tests.effort import timed
from tests.growth.edits import EDITS, Edit
from tests.growth.scenes import written
from tests.growth.test_planner import exponent
from tests.proofs import first_of

EXPONENT_MAX = 1.3  # of seconds; what is quadratic and as fast as a dictionary is above 1.4 here
SMALL, LARGE = 500, 4_000


KINDS = [edit for edit in EDITS if edit.name.endswith(": update")]


@pytest.mark.parametrize("edit", first_of(KINDS, lambda edit: edit.name.startswith("members")), ids=lambda edit: edit.name)
def test_eight_times_as_many_resources_are_loaded_in_eight_times_the_seconds(edit: Edit, tmp_path: Path) -> None:
    few, many = (written(tmp_path / str(number), edit.after(number)) for number in (SMALL, LARGE))
    small, large = (min(timed(lambda folder=folder: load(folder, kinds()))[0] for _ in range(3)) for folder in (few, many))
    assert exponent(small, large, LARGE / SMALL) <= EXPONENT_MAX
