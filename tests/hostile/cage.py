"""Work in a process of its own that may take two seconds of CPU and 256 MB more than its parent has."""

from __future__ import annotations

import json
import os
import resource
import signal
import traceback
from collections.abc import Callable
from typing import Any

SECONDS = 2
MEMORY = 256 * 2**20  # bytes
PATIENCE = 120  # seconds by the clock on the wall, for what waits instead of working


class Escaped(AssertionError):
    """The work ended in another way than by returning: a traceback, too long, too large."""


def caged(work: Callable[[], Any]) -> Any:
    """What `work` returns, as JSON gives it back. Raises `Escaped`."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(here)
        os._exit(_run(work, there))
    os.close(there)
    with os.fdopen(here, "rb") as pipe:
        said = pipe.read()
    _, status, used = os.wait4(child, 0)
    seconds = used.ru_utime + used.ru_stime
    if os.waitstatus_to_exitcode(status) != 0:
        raise Escaped(said.decode(errors="replace") or f"ended by {os.waitstatus_to_exitcode(status)} after {seconds:.1f} s")
    return json.loads(said)


def _run(work: Callable[[], Any], out: int) -> int:
    used = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + SECONDS + 1,) * 2)
    resource.setrlimit(resource.RLIMIT_DATA, (_data() + MEMORY,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(PATIENCE)
    try:
        said, code = json.dumps(work()), 0
    except BaseException:
        said, code = traceback.format_exc()[-3_000:], 1
    with os.fdopen(out, "wb") as pipe:
        pipe.write(said.encode(errors="backslashreplace"))
    return code


def _data() -> int:
    """Bytes of data this process has now."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData:"))
