"""A command as a process of its own: how long it took, what it computed, how much memory it had."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TOKEN: Final = "token-of-ada"


@dataclass(frozen=True)
class Cost:
    """What a command cost: seconds on the clock, seconds of CPU, megabytes at the peak; and what it printed last."""

    code: int
    wall: float
    cpu: float
    memory: float
    said: str

    def __str__(self) -> str:
        return f"{self.wall:6.2f} s  {self.cpu:6.2f} s CPU  {self.memory:5.0f} MB  {self.said}"


def run(arguments: Sequence[str], *, environment: Mapping[str, str] | None = None, log: Path | None = None, limit: float = 900.0) -> Cost:
    """BenchmarkRun a command and measure it. `log`: where its output is kept; `limit`: seconds after which it is ended."""
    output = log or Path(os.devnull)
    with output.open("w+b") as stream:
        began = time.perf_counter()
        variables = {**os.environ, **(environment or {})}
        variables.pop("PYTHONDONTWRITEBYTECODE", None)  # else each run compiles the whole program
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, env=variables)
        alarm = threading.Timer(limit, process.kill)
        alarm.start()
        _, status, usage = os.wait4(process.pid, 0)
        alarm.cancel()
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    lines = [] if log is None else log.read_text(encoding="utf-8", errors="replace").splitlines()
    said = next((line for line in reversed(lines) if line.strip()), "")
    return Cost(process.returncode, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, said)


def reconciler(*arguments: str) -> list[str]:
    """The command line of the program, by the interpreter that runs this."""
    return [sys.executable, "-m", "reconciler", *arguments]
