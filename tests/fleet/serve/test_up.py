"""`fleet up`: a worker and the dashboard in one process, until it is interrupted."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests import processes

PROJECT = {"name": "acme", "source": {"git": "file:///nowhere"}, "baseUrl": "http://127.0.0.1:9", "token": {"env": "ACME_TOKEN"}}
FLEET = {"version": 1, "projects": [PROJECT]}


@pytest.mark.proof
def test_fleet_up_prints_a_link_to_the_dashboard_and_never_logs_it(tmp_path: Path, fleet_url: str) -> None:
    (tmp_path / "fleet.yaml").write_text(json.dumps(FLEET))
    words = ["fleet", "up", "fleet.yaml", "--database", fleet_url, "--port", "0", "--log-file", "log.jsonl"]
    environ = {**os.environ, "ACME_TOKEN": "x", "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "reconciler", *words]
    streams = {"stdout": subprocess.PIPE, "stderr": (tmp_path / "said").open("w"), "text": True}
    with streams["stderr"], processes.Popen(command, cwd=tmp_path, env=environ, **streams) as up:
        try:
            assert up.stdout is not None
            line = next(line for line in up.stdout if "dashboard is ready" in line)
            link = re.search(r"http\S+", line)
            assert link is not None
            with httpx2.Client(follow_redirects=True, timeout=30) as browser:
                page = browser.get(link[0])
            assert (page.status_code, "acme" in page.text) == (200, True)
        finally:
            up.send_signal(signal.SIGINT)
        assert up.wait(30) == 0
    assert link[0].rpartition("=")[2] not in (tmp_path / "log.jsonl").read_text() + (tmp_path / "said").read_text()
