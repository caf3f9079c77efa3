"""What the state needs of a bucket: objects by name, one of which is created only where none has its name; memory and a folder that are
one.

In: names and bytes. Out: bytes, or an error that says whether anything can have happened. Forbidden: retries; what the objects mean;
overwriting what `create` was given.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from reconciler.writing import sync_folder


class Unreachable(Exception):
    """A request without an answer: it may have had its effect. The text is for people."""


class Objects(Protocol):
    """Objects under one prefix of a bucket. Every method is one request, and may be called by several threads at the same time.

    `Unreachable` says that there was no answer: the request may have had its effect, or may have it later, and the caller must find out.
    Nothing is repeated here, because a repetition could not tell its own first attempt from another run's. `StateError` says that a
    repetition is pointless: no access, or no bucket.
    """

    def get(self, name: str) -> bytes | None:
        """The whole content; None where there is no such object.

        It must be consistent: an object that `create` or `put` has returned for is seen by every later `get`, of any program.
        """

    def create(self, name: str, content: bytes) -> bool:
        """Create the object: True where it is durable and ours, False where one has that name, which is left unchanged.

        Of any number of programs that create one name at the same time, at most one gets True: the order of the whole journal rests on
        that. The object appears complete or not at all. After `Unreachable` it may exist, with this content or another program's.
        """

    def put(self, name: str, content: bytes) -> None:
        """Create or replace the object, durably; the last one wins, and a reader gets the old content or the new one, never a mixture."""

    def modified(self, name: str) -> float:
        """When an object that exists was written, by the bucket's clock, in seconds since 1970."""

    def check(self) -> None:
        """Raise `StateError` where the bucket itself does not exist. Called where an object is missing, which looks the same."""


# -- In memory -------------------------------------------------------------------------------------------------------------------------


class InMemory:
    """Objects of this process, which end with it."""

    def __init__(self) -> None:
        self._objects: dict[str, tuple[bytes, float]] = {}

    def get(self, name: str) -> bytes | None:
        return self._objects.get(name, (None, 0.0))[0]

    def create(self, name: str, content: bytes) -> bool:
        made = (content, time.time())
        return self._objects.setdefault(name, made) is made

    def put(self, name: str, content: bytes) -> None:
        self._objects[name] = (content, time.time())

    def modified(self, name: str) -> float:
        return self._objects[name][1]

    def check(self) -> None:
        return  # it exists as long as this does


# -- A folder as a bucket ------------------------------------------------------------------------------------------------------------


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
