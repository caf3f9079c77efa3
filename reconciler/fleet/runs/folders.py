"""The private folders of runs: each is removed with its run, and what a killed worker left is removed by any other on this machine.

A folder is locked by its worker and by the processes of its run until the last of them has ended, however it ends. What nobody locks is
nobody's. A file system without locks keeps its folders: nothing is removed that might be somebody's.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from reconciler.dataclass import dataclass

RUN: Final = "run-"  # of the folder with the files of a run, below --data
GATE: Final = "reconciler-gate-"  # of the folder with its gate, among the temporary files: the path of a socket must be short


@dataclass(frozen=True)
class PrivateFolder:
    """`lock`: a descriptor; the folder is somebody's as long as a process has it."""

    path: Path
    lock: int

    def remove(self) -> None:
        """Remove it with all that it contains."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.lock)


def create(prefix: str, parent: Path | None = None) -> PrivateFolder:
    """A locked folder with a name of its own, by default among the temporary files."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        with suppress(FileNotFoundError):  # another worker found it before it was locked
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            with suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_SH)
            if path.exists():
                return PrivateFolder(path, lock)
            os.close(lock)


def tidy(prefix: str, parent: Path | None = None) -> None:
    """Remove this user's folders that nobody locks."""
    with suppress(OSError), os.scandir(parent or tempfile.gettempdir()) as entries:
        for path in [Path(entry.path) for entry in entries if entry.name.startswith(prefix)]:
            with suppress(OSError):  # somebody has it, or has removed it
                _remove_unlocked(path)


def _remove_unlocked(path: Path) -> None:
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_uid == os.geteuid():
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)
