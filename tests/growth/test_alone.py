"""The command alone in a process of its own, against a service in another one: its memory, its requests, the size of its state."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.growth.counted import Counts, counted
from tests.growth.edits import Tree
from tests.growth.test_apply import READ_AGAIN_MAX, mixed
from tests.harness import TOKEN, Org

ROOT = Path(__file__).parents[2]
MB = 1_000_000
PEAK_MAX = 300 * MB
STATE_MAX = 40 * MB
APPLY = ("apply", "--yes", "--create-state", "--max-rps", "100000")


@dataclass(frozen=True)
class Ended:
    """`peak`: bytes of memory, at most at the same time; `state`: bytes of the state, its journal included."""

    code: int
    said: str
    seconds: float
    peak: int
    state: int
    counts: Counts

    @property
    def ratio(self) -> float:
        """Requests for each write, beyond the first reading."""
        return (self.counts.reads + self.counts.writes) / self.counts.writes


def alone(root: Path, tree: Tree) -> Ended:
    """`reconciler apply --yes` of that onto an organization with nothing in it."""
    org = Org(root)
    org.app.state.service.store.close()
    org.write(tree)
    state = root / "state.db"
    with counted(org.db) as service:
        env = {
            **os.environ, "RECONCILER_TOKEN": TOKEN, "RECONCILER_BASE_URL": service.url, "RECONCILER_STATE": f"sqlite:///{state}",
            "NO_COLOR": "1", "HOME": str(root), "PYTHONPATH": str(ROOT),
        }  # fmt: skip
        began = time.monotonic()
        with (root / "said").open("w") as said:
            process = subprocess.Popen([sys.executable, "-m", "reconciler", *APPLY, str(org.project)], env=env, stdout=said, stderr=said)
            peak = _watched(process)
        seconds = time.monotonic() - began
        counts = service.ended()
    size = sum(file.stat().st_size for file in root.glob("state.db*"))
    return Ended(process.returncode, (root / "said").read_text(encoding="utf-8"), seconds, peak, size, counts)


def _watched(process: subprocess.Popen[bytes]) -> int:
    """The most memory that a process had, in bytes, when it has ended.

    The system keeps the most there was; `getrusage` would count what the parent had before it became this program.
    """
    peak = 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        except (FileNotFoundError, ProcessLookupError):
            break
        if line := re.search(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE):
            peak = int(line[1]) * 1024
        time.sleep(0.02)
    process.wait()
    return peak


def holds(ended: Ended) -> None:
    assert ended.code == 0, ended.said[-3000:]
    assert ended.peak <= PEAK_MAX, ended
    assert ended.state <= STATE_MAX, ended
    assert ended.ratio <= 1 + READ_AGAIN_MAX, ended


def test_a_command_that_creates_a_hundred_resources_needs_little_of_everything(tmp_path: Path) -> None:
    ended = alone(tmp_path, mixed(100))
    holds(ended)
    assert ended.peak <= PEAK_MAX / 2


@pytest.mark.proof
@pytest.mark.timeout(3600)
def test_a_command_that_creates_ten_thousand_resources_ends_in_300_megabytes(tmp_path: Path) -> None:
    holds(alone(tmp_path, mixed(10_000)))
