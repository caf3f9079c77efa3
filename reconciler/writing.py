"""The only writer of files that people name: reports, logs, saved plans, the files of a project; and how such a file is opened to be read.

Whoever proposes a change can commit links, so none in a checkout is followed (`reconciler.links`). A file appears complete or not at all:
it is written beside its place, and takes it by a rename, which replaces a link and never what the link leads to. Devices and pipes
outside of checkouts, such as /dev/stdout, are written to and never replaced.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from types import TracebackType
from typing import Final

from reconciler.links import link_refused, open_folder, written_place

PRIVATE: Final = 0o600
SHARED: Final = 0o666  # what the umask of the user leaves of it
SYSTEM: Final = (Path("/dev"), Path("/proc"))
MEMORY: Final = Path("/dev/shm")  # noqa: S108  a folder of files, which everybody may write
IGNORABLE: Final = frozenset("\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff")
"""Characters that some file systems drop from names."""
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW


def write_whole(target: Path, text: str | bytes, *, mode: int | None = PRIVATE) -> None:
    """Write a file so that others see either the old one or the complete new one. `mode`: its permissions; None keeps those that it has,
    or leaves them to the umask.

    Raises `LinkRefused` for a link in a checkout, and OSError, also if `target` is not a regular file: a device is never replaced.
    """
    data = text.encode("utf-8") if isinstance(text, str) else text
    with _folder_of(target) as (folder, name):
        status = _status(folder, name)
        if status is not None and not stat.S_ISREG(status.st_mode) and not stat.S_ISLNK(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(target))
        if mode is None and status is not None and stat.S_ISREG(status.st_mode):
            mode = stat.S_IMODE(status.st_mode)
        beside = f".{name[:40]}.{os.urandom(6).hex()}"
        handle = os.open(beside, _NEW, SHARED if mode is None else PRIVATE, dir_fd=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                if mode is not None:
                    os.fchmod(handle, mode)
                os.fsync(handle)
            os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(beside, dir_fd=folder)
            raise


def write_out(target: Path, text: str) -> None:
    """Write a result that its reader may expect in a file, a pipe or a device. Raises `LinkRefused` and OSError."""
    data = text.encode("utf-8", "backslashreplace")
    if not is_stream(target):
        return write_whole(target, data, mode=None)
    handle = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
    return None


def is_stream(target: Path) -> bool:
    """Whether a path names a pipe or a device, or an open file of a process: /dev/stdout, /dev/fd/63. Raises `LinkRefused`."""
    try:
        system = any(target.is_relative_to(folder) for folder in SYSTEM) and not target.is_relative_to(MEMORY)
        mode = os.lstat(target if system and ".." not in target.parts else written_place(target)).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or (system and stat.S_ISLNK(mode))


def opened_for_appending(target: Path, *, mode: int | None = PRIVATE) -> int:
    """A descriptor that appends to a file, which is created if needed, or to a pipe or a device. `mode`: the permissions that a regular
    file gets; None leaves them as they are. Raises `LinkRefused` and OSError."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
    if is_stream(target):
        return os.open(target, flags)
    with _folder_of(target) as (folder, name):
        status = _status(folder, name)
        if status is not None and stat.S_ISLNK(status.st_mode):
            raise link_refused(target, target)
        handle = os.open(name, flags | os.O_CREAT | os.O_NOFOLLOW, SHARED if mode is None else mode, dir_fd=folder)
    status = os.fstat(handle)
    if mode is not None and stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) != mode:
        os.fchmod(handle, mode)
    return handle


def append(target: Path, text: str) -> None:
    """Append to a file. Raises `LinkRefused` and OSError."""
    with os.fdopen(opened_for_appending(target, mode=None), "wb") as file:
        file.write(text.encode("utf-8"))


def create_folder(target: Path, *, mode: int = 0o777) -> None:
    """Create a folder, and those above it, unless they exist. Raises `LinkRefused` and OSError."""
    written_place(target).mkdir(mode=mode, parents=True, exist_ok=True)


def sync_folder(target: Path) -> None:
    """Make sure that a power cut leaves the names in a folder as they are now: a file that was synced can still lose its name."""
    folder = os.open(target, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def _folder_of(target: Path) -> Iterator[tuple[int, str]]:
    """A descriptor of the folder of a file, and the name of the file in it."""
    place = written_place(target)
    folder = open_folder(place.parent)
    try:
        yield folder, place.name
    finally:
        os.close(folder)


def _status(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


class FolderChange:
    """Files of one folder that change together: all of them, or none.

    A folder that does not exist is written under another name beside it, and `complete` gives it its own: nobody ever sees half of it. In a
    folder that exists, files are written where they belong. `take_back` leaves everything as it was before.
    """

    def __init__(self, target: Path) -> None:
        """Raises `LinkRefused` and OSError."""
        self.target = self.root = target
        self._created: list[Path] = []
        self._above: list[Path] = []
        self._before: list[tuple[Path, bytes]] = []
        if not target.exists():
            self._above = _missing(target.parent)
            create_folder(target.parent)
            self.root = target.parent / f".{target.name[:40]}.{os.urandom(6).hex()}"
            self._created = [self.root]
            create_folder(self.root)

    @property
    def is_hidden(self) -> bool:
        """Whether a new folder has another name still."""
        return self.root != self.target

    def create_folder(self, path: str, *, mode: int = 0o777) -> None:
        """Create a folder below the root unless it exists. Raises `LinkRefused` and OSError."""
        self._created += _missing(self.root / path)[:1]
        create_folder(self.root / path, mode=mode)

    def write(self, path: str, text: str, *, place: Path | None = None) -> None:
        """Write a file below the root. `place`: what a link leads to, which is written instead of the link. Raises `LinkRefused` and
        OSError."""
        file = place if place is not None else self.root / path
        self.create_folder(str(Path(path).parent))
        if file.is_file():
            self._before.append((file, file.read_bytes()))
        else:
            self._created.append(file)
        write_whole(file, text, mode=None)

    def complete(self) -> None:
        """Give a new folder its name. Raises OSError, also if somebody else has created it."""
        if self.is_hidden:
            os.rename(self.root, self.target)
            self.root, self._created = self.target, [self.target]

    def keep(self) -> None:
        """Let the files remain, whatever happens next."""
        self._created, self._above, self._before = [], [], []

    def take_back(self) -> None:
        """Delete what was created, with all it contains, and restore what was changed; what cannot be, remains."""
        for file, content in reversed(self._before):
            with suppress(OSError):
                write_whole(file, content, mode=None)
        for path in reversed(self._created):
            with suppress(OSError):
                rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        for folder in reversed(self._above):
            with suppress(OSError):
                folder.rmdir()


def _missing(folder: Path) -> list[Path]:
    """A folder and those above it, as far as they do not exist, the outer ones first."""
    return [path for path in (*reversed(folder.parents), folder) if not path.exists()]


class NewTree:
    """Files and links below an empty folder. Each folder is opened by its descriptor, no link is followed, and nothing is written twice,
    so the file system itself decides which names are the same."""

    def __init__(self, root: Path) -> None:
        self._root = os.open(root, _FOLDER)

    def __enter__(self) -> NewTree:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._root)

    def file(self, path: str, content: bytes) -> None:
        """Write a file. Raises OSError, and ValueError for a path that is not one inside a folder."""
        with self._folder(path) as (folder, name), os.fdopen(os.open(name, _NEW, PRIVATE, dir_fd=folder), "wb") as file:
            file.write(content)

    def link(self, path: str, target: bytes) -> None:
        """Create a link. Raises OSError, and ValueError for a path that is not one inside a folder."""
        with self._folder(path) as (folder, name):
            os.symlink(target, os.fsencode(name), dir_fd=folder)

    @contextmanager
    def _folder(self, path: str) -> Iterator[tuple[int, str]]:
        *folders, name = checked_path(path).split("/")
        here = os.dup(self._root)
        try:
            for part in folders:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=here)
                inner = os.open(part, _FOLDER, dir_fd=here)
                os.close(here)
                here = inner
            yield here, name
        finally:
            os.close(here)


def checked_path(path: str) -> str:
    """The path unchanged. Raises ValueError if it could lead out of a folder, or is the name of git's own folder in any spelling."""
    for part in path.split("/"):
        if part in ("", ".", "..") or "\0" in part:
            raise ValueError("it would be outside the folder")
        spelled = "".join(character for character in part if character not in IGNORABLE).casefold().rstrip(". ")
        if spelled in (".git", "git~1") or spelled.startswith(".git:"):
            raise ValueError("it is the name of git's own folder")
    return path
