"""A hundred wrong uses of environments, forEach, split files, variables and secrets: one sentence each, at its place, soon."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests import processes
from tests.effort import within
from tests.proofs import spread
from tests.wrong_uses.uses import SAID, USES, line

SECONDS = 2.0
EXPECTED = dict(zip(USES, re.split(r"\n(?=\S)", SAID.read_text(encoding="utf-8").rstrip("\n")), strict=True))
PLACE = re.compile(r"(\S+\.yaml:[1-9]\d*:[1-9]\d*|environments/\S+|--(env|var))  \S")
MARKED = [name for name in USES if EXPECTED[name].partition("\n")[0].endswith(" *")]


def test_there_are_more_than_a_hundred_and_editors_mark_many_of_them() -> None:
    assert len(USES) >= 195
    assert len(MARKED) >= 75


@pytest.mark.parametrize("name", spread(list(USES), 72))
def test_a_wrong_use_is_one_problem_with_its_place_within_two_seconds(name: str, tmp_path: Path) -> None:
    """If another sentence is meant: `python -m tests.wrong_uses`, and read it aloud."""
    made = within(SECONDS, lambda: line(name, USES[name], tmp_path))
    assert made == EXPECTED[name]
    _, *said = made.split("\n    ")
    assert len(said) == 1
    assert PLACE.match(said[0])


@pytest.mark.parametrize("name", [name for name in USES if not {"var_file", "environ"} & USES[name].options.keys()][::28])
def test_a_command_prints_that_sentence_and_nothing_else(name: str, tmp_path: Path) -> None:
    USES[name].write(tmp_path)
    words = [sys.executable, "-m", "reconciler", "validate", *USES[name].words]
    done = processes.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    said = EXPECTED[name].split("\n    ")[1]
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"{said}\nerror: 1 problem in the project; nothing was sent\n"
