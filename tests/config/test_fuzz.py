"""Whatever stands in the files, `load` answers with a project or with `ConfigError`, and quickly."""

from __future__ import annotations

import shutil
from pathlib import Path

from hypothesis import HealthCheck, given, settings, strategies as st

from reconciler.config import load
from reconciler.errors import ConfigError, Problem
from reconciler.kinds import load as kinds
from tests.config.corpus import GOOD, options
from tests.effort import within
from tests.proofs import sampled, tries

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
