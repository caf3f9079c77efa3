"""The available memory, so that a project that is too large ends with a message instead of a killed process.

Checked only for projects with more than a million values. Reads the limits of the machine, of the control group and of the process on
Linux; unknown elsewhere.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

VALUE: Final = 600  # bytes of a value while a project is loaded, at most
_MACHINE: Final = Path("/proc/meminfo")
_PROCESS: Final = Path("/proc/self/statm")
_GROUPS: Final = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"), Path("/sys/fs/cgroup/memory/memory.usage_in_bytes")),
)


def room_for(values: int) -> bool:
    """Whether so many more values fit into the available memory; True if unknown."""
    left = _available()
    return left is None or values * VALUE <= left


def _available() -> int | None:
    """The available bytes: the least of the limits of the machine, the group and the process; None if unknown."""
    found: list[int] = []
    with suppress(OSError, ValueError, IndexError):
        lines = dict(line.split(":", 1) for line in _MACHINE.read_text().splitlines())
        found.append(int(lines.get("MemAvailable", "").split()[0]) * 1024)
    for limit, used in _GROUPS:
        with suppress(OSError, ValueError):
            found.append(int(limit.read_text()) - int(used.read_text()))
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        size, data = int(_PROCESS.read_text().split()[0]), int(_PROCESS.read_text().split()[5])
        for name, pages in ((resource.RLIMIT_AS, size), (resource.RLIMIT_DATA, data)):
            limit_of = resource.getrlimit(name)[0]
            if limit_of != resource.RLIM_INFINITY:
                found.append(limit_of - pages * resource.getpagesize())
    return min(found, default=None)
