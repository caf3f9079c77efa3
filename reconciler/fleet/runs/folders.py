"""The private folders of runs: each is removed with its run, and those of a killed worker by any other worker on this machine.

A folder is locked by its worker and by the processes of its run until the last of them has ended, however it ends. An unlocked folder is
unused. On a file system without locks, folders are kept: none is removed that might be in use.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reconciler.errors import ReconcilerError

DOCUMENT_MAX: Final = 64 * 2**20  # bytes
RUN: Final = "run-"  # of the folder with the files of a run, below --data
GATE: Final = "reconciler-gate-"  # of the folder with its gate, among the temporary files: the path of a socket must be short


@dataclass(frozen=True)
class PrivateFolder:
    """`lock`: a descriptor; the folder is in use as long as a process has it open."""

    path: Path
    lock: int

    def remove(self) -> None:
        """Remove the folder and its contents."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.lock)


def create(prefix: str, parent: Path | None = None) -> PrivateFolder:
    """A locked folder with a name of its own, by default among the temporary files."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        with suppress(FileNotFoundError):  # another worker removed it before it was locked
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            with suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_SH)
            if path.exists():
                return PrivateFolder(path, lock)
            os.close(lock)


def tidy(prefix: str, parent: Path | None = None) -> None:
    """Remove this user's unlocked folders."""
    with suppress(OSError), os.scandir(parent or tempfile.gettempdir()) as entries:
        for path in [Path(entry.path) for entry in entries if entry.name.startswith(prefix)]:
            with suppress(OSError):  # another process uses it, or has removed it
                _remove_unlocked(path)


def _remove_unlocked(path: Path) -> None:
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_uid == os.geteuid():
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)


def document_in(path: Path, most: int = DOCUMENT_MAX) -> Any:
    """A document that a run wrote, of at most so many bytes. Raises `ReconcilerError`."""
    try:
        return json.loads(text_in(path, most))
    except ValueError as error:
        raise ReconcilerError(f"{path.name} was not written", id="RC-fleet-run-failed") from error


def text_in(path: Path, most: int = DOCUMENT_MAX) -> bytes:
    """What a run wrote. Raises `ReconcilerError`."""
    try:
        with path.open("rb") as file:
            text = file.read(most + 1)
    except OSError as error:
        raise ReconcilerError(f"{path.name} was not written", id="RC-fleet-run-failed") from error
    if len(text) > most:
        raise ReconcilerError(f"{path.name} is larger than {most // 2**20} MiB", id="RC-fleet-run-large")
    return text
