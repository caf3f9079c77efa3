"""The bugs of `seeded` are caught by the tests that are named for them.

Each bug is an edit of one file. The tests run in a copy of the repository, where the file has the bug, in a process of their own:

    .venv/bin/python -m pytest tests/mutants                    a few bugs, others each day
    .venv/bin/python -m pytest tests/mutants -m proof -n auto   all of them
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Final

import pytest

from tests.mutants.seeded import BUGS, Bug
from tests.proofs import LONG, proof

ROOT: Final = Path(__file__).parents[2]
COPIED: Final = ("reconciler", "tests", "docs", "examples", "schemas", "pyproject.toml")
CASES_PER_PUSH: Final = 2
SECONDS: Final = 280
TODAY: Final = [(date.today().toordinal() * CASES_PER_PUSH + index) % len(BUGS) for index in range(CASES_PER_PUSH)]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy whose modules are compiled already."""
    folder = tmp_path_factory.mktemp("repository")
    for name in COPIED:
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, folder / name)
    return folder


def run(repository: Path, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """The named tests as a push runs them, up to the first failure."""
    # A PostgreSQL server would take longer to start than all else.
    options = ["-x", "-q", "--tb=short", "-p", "no:xdist", "-k", "not postgres"]
    environ = {name: value for name, value in os.environ.items() if name != LONG} | {"PYTHONPATH": str(repository)}
    command = [sys.executable, "-m", "pytest", *options, *tests]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=repository, env=environ, check=False)


def write(repository: Path, bug: Bug, text: str) -> None:
    file = repository / bug.file
    file.write_text(text, encoding="utf-8")
    # Python compares the second and the size only, which an edit may leave as they were.
    Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)


def test_no_two_bugs_are_the_same_edit_and_each_protocol_has_some() -> None:
    assert len({(bug.file, bug.old, bug.new) for bug in BUGS}) == len(BUGS) >= 71
    parts = ("state/journal", "state/lease", "apply/recover", "apply/evidence", "client/retry", "client/pacing", "plan/siblings/moves")
    for part in (*parts, "plan/steps/graph"):
        assert any(bug.file.startswith(f"reconciler/{part}") for bug in BUGS), part


@pytest.mark.parametrize("bug", BUGS, ids=str)
def test_a_bug_still_fits_its_module(bug: Bug) -> None:
    compile(bug.applied((ROOT / bug.file).read_text(encoding="utf-8")), bug.file, "exec")


def test_a_bug_whose_text_occurs_never_or_twice_is_refused() -> None:
    for text in ("", "return return"):
        with pytest.raises(ValueError, match="times in"):
            Bug("reconciler/address.py", "return", "", "", ()).applied(text)


@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize("bug", [pytest.param(bug, marks=() if index in TODAY else proof, id=str(bug)) for index, bug in enumerate(BUGS)])
def test_a_bug_is_caught_by_its_tests_which_pass_without_it(repository: Path, bug: Bug) -> None:
    sound = (repository / bug.file).read_text(encoding="utf-8")
    without = run(repository, bug.tests)
    assert without.returncode == pytest.ExitCode.OK, without.stdout + without.stderr
    try:
        write(repository, bug, bug.applied(sound))
        caught = run(repository, bug.tests)
    finally:
        write(repository, bug, sound)
    # Any other code says that the tests could not run, which proves nothing of the bug.
    assert caught.returncode == pytest.ExitCode.TESTS_FAILED, caught.stdout + caught.stderr
