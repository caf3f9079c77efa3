"""Whatever stands in the files, `load` answers with a project or with `ConfigError`, and quickly.

A broken project is answered with every problem at once, each at its place, and never with a traceback or a long wait.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from reconciler.config import load
from reconciler.errors import ConfigError, Problem
from reconciler.kinds import load as kinds
from tests.cage import MEMORY, SECONDS, fresh
from tests.config.corpus import BROKEN, GOOD, options, problems_of
from tests.effort import within
from tests.proofs import sampled, spread, tries

TOUR = next(project for project in GOOD if project.name == "tour")
FILES = sorted(file.relative_to(TOUR).as_posix() for file in TOUR.rglob("*.yaml"))
SCRAPS = [
    *("", " ", "\n", "\t", ":", ": ", "- ", "{", "}", "[", "]", "[]", "{}", "'", '"', "|", ">", "#", "---\n"),
    *("&a ", "*a", "*shared", "!!int ", "<<: ", "null", "~", "true", "007", "1e999", ".nan", "9" * 50, "x" * 300),
    *("${{", "}}", "${{ vars.brand }}", "${{ vars.nothing }}", "${{ 1 / 0 }}", "${{ vars }}"),
    *("id: ", "key: ", "space: guides", "default: true", "forEach: ", "previously: [a]", "organization: acme\n", "../x"),
    *("\u2028", "\ufeff", "\x00", "\u202e", "é"),
]
EDITS = st.lists(
    st.tuples(st.sampled_from(FILES), st.integers(0, 2000), st.integers(0, 40), st.sampled_from(SCRAPS)), min_size=1, max_size=4
)
SECONDS_MAX = 2.0


def found(folder: Path) -> tuple[Problem, ...]:
    """The problems of a project; one without a place where an error tells of none."""
    try:
        load(folder, kinds(), **options(TOUR))
    except ConfigError as error:
        return error.problems or (Problem("", 0, 0, "an error without a problem", id="RC-no-project"),)
    return ()


@sampled
@settings(max_examples=tries(250, 50), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(edits=EDITS)
def test_an_edited_project_never_gives_a_traceback(edits: list[tuple[str, int, int, str]], tmp_path: Path) -> None:
    folder = tmp_path / "project"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(TOUR, folder)
    for name, start, length, scrap in edits:
        file = folder / name
        text = file.read_text(encoding="utf-8", errors="surrogateescape")
        start %= len(text) + 1
        file.write_text(text[:start] + scrap + text[start + length :], encoding="utf-8", errors="surrogateescape", newline="")
    problems = within(SECONDS_MAX, lambda: found(folder))
    assert [problem for problem in problems if not problem.file or "\n" in str(problem)] == []
    placeless = [problem for problem in problems if problem.file in FILES and not problem.line]
    assert [problem for problem in placeless if problem.message != "this file is empty"] == []


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
