"""A broken project is answered with every problem at once, each at its place, and never with a traceback or a long wait."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cage import MEMORY, SECONDS, fresh
from tests.config.corpus import BROKEN, problems_of
from tests.proofs import spread

LIMITED = f"""
import resource
from pathlib import Path
from tests.config.corpus import problems_of
from tests.effort import within
projects = [Path(name) for name in {[str(project) for project in BROKEN]!r}]
problems_of(projects[0])  # what is imported once is not the project's cost
resource.setrlimit(resource.RLIMIT_DATA, ({MEMORY}, {MEMORY}))
for project in projects:
    assert within({SECONDS}, lambda: problems_of(project)), project
"""


def test_the_corpus_is_large_enough_to_mean_something() -> None:
    assert len(BROKEN) >= 60


@pytest.mark.parametrize("project", spread(BROKEN, 60), ids=lambda path: path.name)
def test_a_broken_project_prints_exactly_its_problems(project: Path) -> None:
    assert problems_of(project) == (project / "expected.txt").read_text(encoding="utf-8")


def test_no_broken_project_takes_more_than_two_seconds_or_a_quarter_of_a_gigabyte() -> None:
    fresh(LIMITED)


WHOLE_FILE = ("--", "environments/", "missing", "reconciler.yaml  this file is empty")  # what has no line to stand at


def test_every_expected_problem_has_a_place() -> None:
    lines = [line for project in BROKEN for line in (project / "expected.txt").read_text(encoding="utf-8").splitlines()]
    assert [line for line in lines if not line.startswith(WHOLE_FILE) and line.split("  ")[0].count(":") != 2] == []
