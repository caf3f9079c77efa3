"""Work in a process of its own that may take two seconds of CPU and 256 MB: in all if it is fresh, else more than its parent has.

A machine that stands still for a moment charges that to whoever runs: who was too slow is tried again, and may have been it three times.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.effort import ATTEMPTS

SECONDS = 2
MEMORY = 256 * 2**20  # bytes
PATIENCE = 120  # seconds by the clock on the wall, for what waits instead of working
ROOT = Path(__file__).parents[1]


class Escaped(AssertionError):
    """The work ended in another way than by returning: a traceback, too long, too large."""


def caged(work: Callable[[], Any], *, attempts: int = ATTEMPTS) -> Any:
    """What `work` returns, as JSON gives it back. Raises `Escaped`. `attempts`: of work that was too slow."""
    for _ in range(attempts):
        code, said = _forked(work)
        if code != -signal.SIGKILL:
            break
    if code != 0:
        raise Escaped(said or _ended(code))
    return json.loads(said)


def fresh(program: str) -> str:
    """What a program prints in an interpreter of its own; it calls `confine` where its work begins. Raises `Escaped`."""
    for _ in range(ATTEMPTS):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, cwd=ROOT, check=False)
        if done.returncode != -signal.SIGKILL:
            break
    if done.returncode != 0:
        raise Escaped(done.stderr[-3_000:] or _ended(done.returncode))
    return done.stdout


def confine(data: int = MEMORY) -> None:
    """From here on this process has only so many bytes of data in all, and is killed where it takes more time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + SECONDS,) * 2)
    resource.setrlimit(resource.RLIMIT_DATA, (data, data))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _forked(work: Callable[[], Any]) -> tuple[int, str]:
    """The exit code, minus the signal's number for a signal, and what was said."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(here)
        os._exit(_run(work, there))
    os.close(there)
    with os.fdopen(here, "rb") as pipe:
        said = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said.decode(errors="replace")


def _run(work: Callable[[], Any], out: int) -> int:
    gc.freeze()  # the garbage of whatever ran before is not the work's
    confine(_data() + MEMORY)
    signal.alarm(PATIENCE)
    try:
        said, code = json.dumps(work()), 0
    except BaseException:
        said, code = traceback.format_exc()[-3_000:], 1
    with os.fdopen(out, "wb") as pipe:
        pipe.write(said.encode(errors="backslashreplace"))
    return code


def _ended(code: int) -> str:
    return f"killed: more than {SECONDS} s of CPU" if code == -signal.SIGKILL else f"ended by {code}"


def _data() -> int:
    """Bytes of data this process has now."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData:"))
