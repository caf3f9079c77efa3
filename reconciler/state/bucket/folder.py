"""Objects as files of a folder, for tests and for trying things out: `file:///PATH`.

In: names and bytes. Out: files that are complete or do not exist. Forbidden: overwriting what `create` was given.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reconciler.writing import sync_folder


class Folder:
    """A folder, which is created with its first object."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, name: str) -> bytes | None:
        try:
            return (self._path / name).read_bytes()
        except FileNotFoundError:
            return None

    def create(self, name: str, content: bytes) -> bool:
        with self._written(name, content) as file:
            try:
                os.link(file, self._path / name)
            except FileExistsError:
                return False
        return True

    def put(self, name: str, content: bytes) -> None:
        with self._written(name, content) as file:
            os.replace(file, self._path / name)

    def modified(self, name: str) -> float:
        return (self._path / name).stat().st_mtime

    def check(self) -> None:
        return  # a folder that does not exist is empty

    @contextmanager
    def _written(self, name: str, content: bytes) -> Iterator[str]:
        """A file of another name with the content, on the disk; whatever remains of it is deleted at the end of the block."""
        folder = (self._path / name).parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, file = tempfile.mkstemp(prefix=".", dir=folder)
        try:
            with os.fdopen(handle, "wb") as opened:
                opened.write(content)
                opened.flush()
                os.fsync(handle)
            yield file
            sync_folder(folder)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(file)
