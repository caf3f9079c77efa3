"""decK, which declares the objects of a Kong gateway: `deck diff` without changes, and `deck validate`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Cost, run
from benchmarks.peers.kong import service

MISSING = "decK is not installed (Debian: apt-get install deck)"


def costs(size: int, latency: float, times: int) -> tuple[Cost, Cost] | None:
    """The best of some runs of diff and of validate; None where decK is not installed."""
    deck = shutil.which("deck")
    if deck is None:
        return None
    with TemporaryDirectory() as folder:
        file = Path(folder) / "kong.yaml"
        file.write_text(_yaml(size), encoding="utf-8")
        command = [sys.executable, "-m", "benchmarks.peers.kong", str(size), str(latency)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as kong:
            assert kong.stdout is not None
            url = f"http://127.0.0.1:{int(kong.stdout.readline())}"
            log = Path(folder) / "log.txt"
            diffs = [run([deck, "diff", "--kong-addr", url, "-s", str(file)], log=log) for _ in range(times)]
            valid = [run([deck, "validate", "-s", str(file)], log=log) for _ in range(times)]
            kong.terminate()
    assert all(cost.code == 0 for cost in diffs + valid), diffs[0].said
    return min(diffs, key=lambda cost: cost.wall), min(valid, key=lambda cost: cost.wall)


def _yaml(size: int) -> str:
    lines = ['_format_version: "1.1"', "services:"]
    for number in range(size):
        fields = [f"  {name}: {json.dumps(value)}" for name, value in service(number).items()]
        lines += [f"- {fields[0].strip()}", *fields[1:]]
    return "\n".join(lines) + "\n"
