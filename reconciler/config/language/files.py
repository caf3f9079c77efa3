"""`file()`: texts of files inside the project, and of nothing else.

In: a path as an expression gives it. Out: the text. Refuses whatever leads out of the project, hidden names, and the databases of the
state and the sandbox under any name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from hashlib import sha256
from pathlib import Path
from typing import Final

from reconciler.config.language.bounds import ExpressionError

FILE_MAX: Final = 1024 * 1024  # bytes
_COMPANIONS: Final = ("", "-wal", "-shm", "-journal")  # what SQLite puts beside a database


class ProjectFiles:
    """`root`: the project's directory. `refused`: files that are never given out. `texts`: gets the SHA-256 of each that is, by name."""

    def __init__(self, root: Path, refused: Collection[Path] = (), *, texts: dict[str, str] | None = None) -> None:
        self.root, self.texts = root.resolve(), texts if texts is not None else {}
        self.refused = frozenset(Path(f"{one.resolve()}{more}") for one in refused for more in _COMPANIONS)

    def __call__(self, path: str) -> str:
        """The text of a file. Raises `ExpressionError`."""
        if not isinstance(path, str):
            raise TypeError
        shown = f'file("{path if len(path) <= 60 else path[:59] + "…"}")'
        parts = path.split("/")
        if not path or path.startswith(("/", "~")) or "\\" in path or "\x00" in path or ":" in parts[0]:
            raise ExpressionError(f"{shown} is not a path inside the project; write it relative to the project file, with /")
        if any(part.startswith(".") or not part for part in parts):
            raise ExpressionError(f"{shown} has a part that is empty or begins with a dot, which is not allowed")
        try:
            text = self._bytes(path, shown)
        except FileNotFoundError:
            raise ExpressionError(f"{shown}: no such file in the project") from None
        except (OSError, RuntimeError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "its name is not a valid path"
            raise ExpressionError(f"{shown} cannot be read: {reason[:1].lower()}{reason[1:]}") from None
        self.texts[path] = sha256(text).hexdigest()
        if len(text) > FILE_MAX:
            raise ExpressionError(f"{shown} is larger than {FILE_MAX // 2**20} MiB")
        try:
            return text.decode("utf-8")
        except UnicodeDecodeError:
            raise ExpressionError(f"{shown} is not UTF-8") from None

    def _bytes(self, path: str, shown: str) -> bytes:
        found = (self.root / path).resolve(strict=True)
        if not found.is_relative_to(self.root):
            raise ExpressionError(f"{shown} is a link to a file outside the project")
        if any(part.startswith(".") for part in found.relative_to(self.root).parts):
            raise ExpressionError(f"{shown} is a link to a hidden file, which is not allowed")
        # Every link is resolved already; NOFOLLOW refuses one put there since, NONBLOCK a pipe that would wait for a writer.
        handle = os.open(found, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise ExpressionError(f"{shown} is not a text file")
            if found in self.refused or any(_same(one, status) for one in self.refused):
                raise ExpressionError(f"{shown} is the database of a state or a sandbox, which is not allowed")
            with open(handle, "rb", closefd=False) as file:
                return file.read(FILE_MAX + 1)
        finally:
            os.close(handle)


def _same(path: Path, status: os.stat_result) -> bool:
    """Whether it is the same file under another name."""
    try:
        return os.path.samestat(path.stat(), status)
    except OSError:
        return False
