"""Each example is a project that works: its plan is the one that is checked in, and once applied nothing is left to do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
PROGRAM = Path(sys.executable).with_name("reconciler")
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/reconciler.yaml"))


@pytest.fixture(params=NAMES)
def example(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of an example, so that its state and its sandbox are its own."""
    ignored = shutil.ignore_patterns(".reconciler")
    return Path(shutil.copytree(EXAMPLES / request.param, tmp_path / "examples" / request.param, ignore=ignored))


def reconciler(example: Path, command: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command line from beside the examples, on a sandbox of its own."""
    folder = example.parents[1]
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("RECONCILER_", "NO_COLOR", "FORCE_COLOR"))}
    return subprocess.run(
        [str(PROGRAM), command, f"examples/{example.name}", "--sandbox", f".reconciler/{example.name}.db", *options],
        cwd=folder,
        env={**environ, "HOME": str(folder), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_every_example_has_an_expected_plan() -> None:
    assert NAMES
    assert [name for name in NAMES if not (EXAMPLES / name / "expected-plan.txt").is_file()] == []


def test_the_first_plan_is_the_expected_one(example: Path) -> None:
    run = reconciler(example, "plan", "--color", "never")
    assert run.returncode == 0, run.stderr
    assert run.stdout == (EXAMPLES / example.name / "expected-plan.txt").read_text(encoding="utf-8")


def test_after_an_apply_nothing_is_left_and_looking_sends_only_gets(example: Path) -> None:
    applied = reconciler(example, "apply", "--yes")
    assert applied.returncode == 0, applied.stdout + applied.stderr
    again = reconciler(example, "plan", "--detailed-exitcode", "-v")
    assert again.returncode == 0, again.stdout + again.stderr
    methods = re.findall(r"\b(GET|POST|PUT|PATCH|DELETE) /", again.stderr)
    assert "GET" in methods
    assert set(methods) == {"GET"}


def test_every_kind_is_in_an_example() -> None:
    from reconciler.config import load
    from reconciler.kinds import load as kinds

    declared = {one.kind for name in NAMES for one in load(EXAMPLES / name, kinds()).desired.resources.values()}
    assert set(kinds()) - declared == set()
