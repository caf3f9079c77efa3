"""A broken project is answered with every problem at once, each at its place, and never with a traceback or a long wait."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.config.corpus import BROKEN, problems_of

SECONDS_MAX = 2.0  # for one project, whatever it holds
BYTES_MAX = 256 * 2**20

LIMITED = """
import json, resource, sys, time
from pathlib import Path
from tests.config.corpus import problems_of
problems_of(Path(sys.argv[2]))  # what is imported once is not the project's cost
resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[1]), int(sys.argv[1])))
spent = {}
for name in sys.argv[2:]:
    begin = time.process_time()
    assert problems_of(Path(name)), name
    spent[name] = time.process_time() - begin
print(json.dumps(spent))
"""


def test_the_corpus_is_large_enough_to_mean_something() -> None:
    assert len(BROKEN) >= 60


@pytest.mark.parametrize("project", BROKEN, ids=lambda path: path.name)
def test_a_broken_project_prints_exactly_its_problems(project: Path) -> None:
    assert problems_of(project) == (project / "expected.txt").read_text(encoding="utf-8")


def test_no_broken_project_takes_more_than_two_seconds_or_a_quarter_of_a_gigabyte() -> None:
    names = [str(project) for project in BROKEN]
    run = subprocess.run(
        [sys.executable, "-c", LIMITED, str(BYTES_MAX), *names],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    spent = json.loads(run.stdout)
    assert {name: seconds for name, seconds in spent.items() if seconds > SECONDS_MAX} == {}


WHOLE_FILE = ("--", "environments/", "missing", "reconciler.yaml  there is nothing in this file")  # what has no line to stand at


def test_every_expected_problem_has_a_place() -> None:
    lines = [line for project in BROKEN for line in (project / "expected.txt").read_text(encoding="utf-8").splitlines()]
    assert [line for line in lines if not line.startswith(WHOLE_FILE) and line.split("  ")[0].count(":") != 2] == []
