"""The example alerts call somebody when they should, and nobody else: Prometheus's own program tests them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.state.server import REQUIRE

HERE = Path(__file__).parent
RULES = HERE.parents[1] / "deploy/prometheus/alerts.yaml"


def test_the_example_alerts_call_somebody_when_they_should(tmp_path: Path) -> None:
    program = shutil.which("promtool")
    if program is None:
        reason = "no promtool on this machine: it is in Debian's `prometheus`"
        if "promtool" in os.environ.get(REQUIRE, ""):
            pytest.fail(reason)
        pytest.skip(reason)
    shutil.copy(RULES, tmp_path / "alerts.rules.yaml")
    shutil.copy(HERE / "alerts.yaml", tmp_path)
    for words in (("check", "rules", "alerts.rules.yaml"), ("test", "rules", "alerts.yaml")):
        done = subprocess.run([program, *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
