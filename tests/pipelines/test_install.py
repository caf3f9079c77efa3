"""The installation of the action for real: from the registry that pip uses, from a cache, and from a spoiled cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from reconciler import __version__
from tests.pipelines.conftest import TRAPS
from tests.pipelines.python import ROOT

BASE = getattr(sys, "_base_executable", sys.executable)
"""The Python that this environment was made with: it has pip, as that of actions/setup-python has."""


def install(root: Path) -> str:
    """Run the step on a new machine whose cache is in `root`; the version that it installed."""
    (script,) = [
        step["run"]
        for step in yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
        if step["name"] == "Install Reconciler"
    ]
    shutil.rmtree(root / "temp" / "reconciler", ignore_errors=True)
    environ = {
        **os.environ, "PYTHON": BASE, "RUNNER_TEMP": str(root / "temp"), "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_PATH": str(root / "path"), "PYTHONPATH": "",
    }  # fmt: skip
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=root / "workspace", env=environ, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = (root / "path").read_text(encoding="utf-8").split()[-1]
    shown = subprocess.run([f"{folder}/reconciler", "--version"], cwd=root / "workspace", capture_output=True, text=True, timeout=60)
    return shown.stdout.strip()


@pytest.mark.proof
@pytest.mark.timeout(900)
def test_the_action_installs_what_is_locked_and_nothing_that_a_cache_or_a_repository_brings(tmp_path: Path) -> None:
    (tmp_path / "temp").mkdir()
    for name, text in TRAPS.items():
        path = tmp_path / "workspace" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert install(tmp_path) == f"reconciler {__version__}"
    packages = {file.name: file.read_bytes() for file in (tmp_path / "temp" / "reconciler-packages").iterdir()}
    assert len(packages) > 30
    assert install(tmp_path) == f"reconciler {__version__}"

    (spoiled,) = (tmp_path / "temp" / "reconciler-packages").glob("click-*.whl")
    with spoiled.open("ab") as file:
        file.write(b"more")
    assert install(tmp_path) == f"reconciler {__version__}"
    assert {file.name: file.read_bytes() for file in (tmp_path / "temp" / "reconciler-packages").iterdir()} == packages
