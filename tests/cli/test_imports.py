"""Which libraries a command imports: none that it does not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

COMMAND = """
import os, sys
from reconciler.cli import main
os.chdir(sys.argv.pop(1))
try:
    main(prog_name="reconciler")
finally:
    print(*sys.modules, file=sys.stderr)
"""
DIFFERENCE = """
import sys
from reconciler.report.nested import difference_lines
difference_lines("rules", {before}, {after})
print(*sys.modules, file=sys.stderr)
"""


def imported(program: str, *words: str) -> set[str]:
    """The modules that a program has imported at its end."""
    ended = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True, timeout=120)
    return set(ended.stderr.splitlines()[-1].split())


@pytest.fixture
def applied(cli: Cli) -> Path:
    """A project whose plan is empty."""
    assert cli("init", "p", "--sandbox").exit_code == 0
    assert cli("apply", "p", "--yes").exit_code == 0
    return cli.root / "p"


def test_a_plan_without_changes_imports_no_deepdiff(applied: Path) -> None:
    for options in ((), ("--format", "html")):
        modules = imported(COMMAND, str(applied), "plan", *options)
        assert "reconciler.plan.drafts.diff" in modules
        assert "deepdiff" not in modules


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [("'a'", "'b'", False), ("['a']", "['b']", False), ("{'a': 1}", "{'a': 1}", False), ("{'a': 1}", "{'a': 2}", True)],
    ids=["text", "list of text", "equal", "nested"],
)
def test_deepdiff_is_imported_where_nested_values_differ(before: str, after: str, expected: bool) -> None:
    assert ("deepdiff" in imported(DIFFERENCE.format(before=before, after=after))) == expected
