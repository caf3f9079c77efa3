"""`file()`: texts of files inside the project, and of those outside that the command line allows.

In: a path as an expression gives it. Out: the text. Refuses all other paths out of the project, hidden names, and the databases of the
state and the sandbox under any name.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection
from hashlib import sha256
from pathlib import Path
from typing import Final

from reconciler.config.language.bounds import ExpressionError
from reconciler.links import NotRegular, open_place
from reconciler.text.certificate import DER

# A field of a service takes less; a larger file would be shown in every plan.
FILE_MAX: Final = 1024 * 1024  # bytes
ALLOW_FILE: Final = "--allow-file"
_COMPANIONS: Final = ("", "-wal", "-shm", "-journal")  # suffixes of the files that SQLite creates beside a database


class ProjectFiles:
    """`root`: the project's directory. `refused`: files that are never returned. `texts`: receives the SHA-256 of each returned text, by
    name. `allowed`: files and folders outside the project that are returned too; `option`: what allows more, "" for nothing."""

    def __init__(
        self,
        root: Path,
        refused: Collection[Path] = (),
        *,
        texts: dict[str, str] | None = None,
        allowed: Collection[Path] = (),
        option: str = ALLOW_FILE,
    ) -> None:
        self.root, self.texts, self.option = root.resolve(), texts if texts is not None else {}, option
        self.refused = frozenset(Path(f"{file.resolve()}{more}") for file in refused for more in _COMPANIONS)
        self.allowed = tuple(path.resolve() for path in allowed)

    def __call__(self, path: str) -> str:
        """The text of a file, with `\n` for `\r\n`: git may check the same file out with either. Raises `ExpressionError`."""
        if not isinstance(path, str):
            raise TypeError
        shown = f'file("{path if len(path) <= 60 else path[:59] + "…"}")'
        content = self.content(path, shown)
        try:
            return content.decode("utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError:
            way = "; a certificate in DER format becomes a text with openssl x509 -inform DER" if content.startswith(DER) else ""
            raise ExpressionError(f"{shown} is not UTF-8{way}", id="RC-not-utf-8") from None

    def content(self, path: str, shown: str) -> bytes:
        """The content of a file. `shown`: the name of the path in messages. Raises `ExpressionError`."""
        parts = path.split("/")
        # A pull request decides this text. Outside of the project are the keys of the machine that runs it (~/.ssh, /proc/self/environ), so
        # the command line has to name what may be read there.
        leaves = path.startswith("/") or ".." in parts
        if not path or path.startswith("~") or "\\" in path or "\x00" in path or ":" in parts[0]:
            raise ExpressionError(
                f"{shown} is not a path inside the project; write it relative to the project file, with /", id="RC-file-path"
            )
        if not leaves and any(part.startswith(".") or not part for part in parts):
            raise ExpressionError(f"{shown} has a part that is empty or begins with a dot, which is not allowed", id="RC-file-hidden")
        try:
            text = self._read(self.path(path), shown, leaves=leaves)
        except FileNotFoundError:
            raise ExpressionError(f"{shown}: no such file{'' if leaves else ' in the project'}", id="RC-file-not-found") from None
        except (OSError, RuntimeError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "its name is not a valid path"
            raise ExpressionError(f"{shown} cannot be read: {reason[:1].lower()}{reason[1:]}", id="RC-file-not-read") from None
        # Before the size is checked: a text that is refused was read as well, and what the project depends on is complete.
        self.texts[path] = sha256(text).hexdigest()
        if len(text) > FILE_MAX:
            raise ExpressionError(f"{shown} is larger than {FILE_MAX // 2**20} MiB", id="RC-file-too-large")
        return text

    def path(self, path: str) -> Path:
        """The path of a file with every link resolved; for a file that does not exist, as far as it exists."""
        return (self.root / path).resolve()

    def _read(self, found: Path, shown: str, *, leaves: bool) -> bytes:
        if not found.is_relative_to(self.root):
            if not any(found.is_relative_to(place) for place in self.allowed):
                how = "is outside the project" if leaves else "is a link to a file outside the project"
                raise ExpressionError(f"{shown} {how}{self._way('allow it', found)}", id="RC-file-not-allowed")
        elif leaves:
            raise ExpressionError(
                f"{shown} is inside the project; write it relative to the project file: {found.relative_to(self.root)}", id="RC-file-path"
            )
        elif any(part.startswith(".") for part in found.relative_to(self.root).parts):
            raise ExpressionError(f"{shown} is a link to a hidden file, which is not allowed", id="RC-file-hidden")
        if self._is_hidden(found):
            wrong = f"{shown} is hidden in a folder that is allowed{self._way('allow it too', found)}"
            raise ExpressionError(wrong, id="RC-file-not-allowed")
        try:  # every link is resolved already: one that was put there since is not followed
            file = open_place(found)
        except NotRegular:
            raise ExpressionError(f"{shown} is not a text file", id="RC-not-a-text-file") from None
        with file:
            status = os.fstat(file.fileno())
            # Compared by device and inode: a hard link has another name and the same content.
            if found in self.refused or any(_same(path, status) for path in self.refused):
                raise ExpressionError(f"{shown} is the database of a state or a sandbox, which is not allowed", id="RC-file-is-a-database")
            return file.read(FILE_MAX + 1)

    def _way(self, what: str, found: Path) -> str:
        return f"; to {what}, pass {self.option} {_typed(found)}" if self.option else "; copy it there"

    def _is_hidden(self, found: Path) -> bool:
        """Whether a file outside is hidden in every folder that allows it; one that is allowed by its own name is not."""
        places = [place for place in self.allowed if found.is_relative_to(place)]
        hidden = [any(part.startswith(".") for part in found.relative_to(place).parts) for place in places]
        return not found.is_relative_to(self.root) and all(hidden)


def _typed(path: Path) -> str:
    """The path as a user would type it from the current folder."""
    near = os.path.relpath(path)
    return shlex.quote(min(near, str(path), key=len))


def _same(path: Path, status: os.stat_result) -> bool:
    """Whether it is the same file under another name."""
    try:
        return os.path.samestat(path.stat(), status)
    except OSError:
        return False
