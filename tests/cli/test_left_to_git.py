"""What git keeps of a new project: its schemas, which editors need after a clone; no state and no reports."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.command_line import Cli


def untracked(folder: Path) -> set[str]:
    """What `git add .` would add, as git says it."""
    shown = subprocess.run(
        ["git", "-C", str(folder), "ls-files", "--others", "--exclude-standard"], capture_output=True, text=True, check=True
    )
    return set(shown.stdout.split())


@pytest.fixture
def checkout(tmp_path: Path) -> Cli:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    cli = Cli(tmp_path)
    cli("init", "docs", "--sandbox", code=0)
    return cli


def test_a_colleague_has_the_schema_that_the_project_names_and_not_the_state(checkout: Cli) -> None:
    checkout("apply", "docs", "--yes", code=0)
    assert (checkout.root / "docs" / ".reconciler" / "state.db").exists()
    assert untracked(checkout.root) == {"docs/reconciler.yaml", "docs/.gitignore", "docs/.reconciler/config.schema.json"}


def test_an_import_leaves_the_same_to_git(checkout: Cli) -> None:
    checkout("apply", "docs", "--yes", code=0)
    organization = checkout("import", "--sandbox", "docs/.reconciler/sandbox.db", code=0).stdout.split()[0]
    checkout("import", "copy", "--org", organization, "--sandbox", "docs/.reconciler/sandbox.db", code=0)
    assert {file for file in untracked(checkout.root) if file.startswith("copy/.")} == {
        "copy/.gitignore",
        "copy/.reconciler/config.schema.json",
    }


def test_the_reports_of_a_pipeline_are_not_left_to_git(checkout: Cli) -> None:
    checkout("pipeline", "plan", "docs", code=0)
    assert (checkout.root / "reconciler-reports" / "report.json").exists()
    assert not {file for file in untracked(checkout.root) if "reports" in file}


def test_a_folder_of_reports_that_existed_is_left_as_it_was(checkout: Cli) -> None:
    (checkout.root / "kept").mkdir()
    checkout("pipeline", "plan", "docs", "--reports", "kept", code=0)
    assert not (checkout.root / "kept" / ".gitignore").exists()
    assert "kept/report.json" in untracked(checkout.root)
