"""A broken project is answered with every problem at once, each at its place, and never with a traceback or a long wait."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.kinds import load as kinds
from tests.cage import caged
from tests.config.corpus import BROKEN, problems_of


def test_the_corpus_is_large_enough_to_mean_something() -> None:
    assert len(BROKEN) >= 60


@pytest.mark.parametrize("project", BROKEN, ids=lambda path: path.name)
def test_a_broken_project_prints_exactly_its_problems_within_two_seconds_and_a_quarter_of_a_gigabyte(project: Path) -> None:
    kinds()  # what is imported once is not the project's cost
    assert caged(lambda: problems_of(project)) == (project / "expected.txt").read_text(encoding="utf-8")


WHOLE_FILE = ("--", "environments/", "missing", "reconciler.yaml  there is nothing in this file")  # what has no line to stand at


def test_every_expected_problem_has_a_place() -> None:
    lines = [line for project in BROKEN for line in (project / "expected.txt").read_text(encoding="utf-8").splitlines()]
    assert [line for line in lines if not line.startswith(WHOLE_FILE) and line.split("  ")[0].count(":") != 2] == []
