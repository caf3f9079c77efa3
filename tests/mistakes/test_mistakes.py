"""Plausible mistakes of people, through the command line: nothing is destroyed silently, nobody reads more, and the words say the way out.

For every row holds, without being said in it: an exit code of 1, 3, 4 or 6 means that the service is as it was; what is gone, new, named
otherwise, read by more people or has a twin is exactly what the row lists; and no message is a traceback or a defect.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mistakes import names, opens, pasts, shapes, texts
from tests.mistakes.facts import difference, facts
from tests.mistakes.mistake import Mistake
from tests.mistakes.world import Folder
from tests.proofs import spread

ROWS = (*names.ROWS, *shapes.ROWS, *opens.ROWS, *texts.ROWS, *pasts.ROWS)
WITHOUT_EFFECT = (1, 3, 4, 6)


def test_there_are_many_of_them_each_with_a_claim_of_its_own() -> None:
    assert len({row.claim for row in ROWS}) == len(ROWS) >= 60


@pytest.mark.parametrize("row", spread(ROWS, 8), ids=lambda row: row.claim)
def test_a_mistake_costs_nothing(living: Path, tmp_path: Path, row: Mistake) -> None:
    folder = Folder.copied(living, tmp_path / "copy")
    with folder.open:
        check(folder, row)


def check(folder: Folder, row: Mistake) -> None:
    """Make the mistake, run the commands, and compare."""
    row.scene(folder)
    begun = facts(folder.service)
    row.edit(folder)
    for run in row.runs:
        run.first(folder)
        before = facts(folder.service)
        result = folder(*run.words, env=run.env)
        message = " ".join((result.stdout + result.stderr).split())
        assert result.exit_code == run.code, message
        assert [phrase for phrase in run.says if phrase not in message] == [], message
        assert [phrase for phrase in (*run.never, "defect") if phrase in message] == [], message
        if run.code in WITHOUT_EFFECT:
            assert facts(folder.service).rows == before.rows, message
    changes = difference(begun, facts(folder.service))
    assert (changes.gone, changes.born, changes.becomes) == (row.gone, row.born, row.becomes)
    assert [line for line in changes.opens if not line.startswith(row.opens or ("-",))] == []
    assert changes.twins == row.twins
