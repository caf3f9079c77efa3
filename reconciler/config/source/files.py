"""The YAML files of a project as nodes, with expressions as written.

In: names of files inside the project. Out: their nodes, with problems reported. Reads files below the project only. A project that is too
large ends with a message instead of a killed process: above a million values, the available memory is checked on Linux, where it is known
from the limits of the machine, of the control group and of the process.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Final

from reconciler.config.keys import ENVIRONMENTS, NO_PROJECT
from reconciler.config.source.nodes import HOLE_OPENING, Node
from reconciler.config.source.problems import Enough, Problems
from reconciler.config.source.reader import EMPTY_FILE, FILE_MAX, Document, read
from reconciler.errors import Problem, os_reason
from reconciler.links import LinkRefused, check_read, leads_out, open_place, target

VALUES_MAX: Final = 5_000_000  # of a project, in all its files
UNGUARDED: Final = 1_000_000  # number of values up to which memory is not checked
PER_VALUE: Final = 6  # bytes of text that a value takes, at least, as a rule
VALUE: Final = 600  # bytes of a value while a project is loaded, at most
OWN_FILE: Final = "replace the link by the file itself"
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
    limits: list[int] = []
    with suppress(OSError, ValueError, IndexError):
        lines = dict(line.split(":", 1) for line in _MACHINE.read_text().splitlines())
        limits.append(int(lines.get("MemAvailable", "").split()[0]) * 1024)
    for most, used in _GROUPS:
        with suppress(OSError, ValueError):
            limits.append(int(most.read_text()) - int(used.read_text()))
    with suppress(ImportError, OSError, ValueError, IndexError):
        size, data = int(_PROCESS.read_text().split()[0]), int(_PROCESS.read_text().split()[5])
        for name, pages in ((resource.RLIMIT_AS, size), (resource.RLIMIT_DATA, data)):
            limit_of = resource.getrlimit(name)[0]
            if limit_of != resource.RLIM_INFINITY:
                limits.append(limit_of - pages * resource.getpagesize())
    return min(limits, default=None)


def is_literal(text: bytes) -> bool:
    """Whether a file contains no expression."""
    return HOLE_OPENING.encode() not in text and b"\\" not in text  # an escape in double quotes could spell it


def unreadable(path: Path, file: Path) -> Problem | None:
    """What is wrong if the project file of a path is none, or if a link leads out of the checkout to its folder; None if nothing is."""
    if not file.is_file():
        return Problem(str(path), 0, 0, NO_PROJECT, id="RC-no-project")
    try:
        check_read(file.parent)
    except LinkRefused as error:
        return Problem(str(path), 0, 0, f"{error.message}; {error.hint}", id=error.id)
    return None


class Files:
    """The files of one project. `seen`: every YAML file read, in order. `values`: how many they contain. `most`: how many they may contain.
    `room`: whether so many more fit into memory; checked above `unguarded` values. `literal`: the names of files without expressions.
    `texts`: the SHA-256 of each by name. `given`: texts that replace those of files, by name: what an editor has not saved, what a change
    would write. `parse`: reads a text; one that keeps its results returns nodes that may be changed, and may return earlier ones for a text
    that cannot be read."""

    def __init__(
        self,
        root: Path,
        problems: Problems,
        *,
        most: int = VALUES_MAX,
        unguarded: int = UNGUARDED,
        room: Callable[[int], bool] = room_for,
        given: Mapping[str, str] | None = None,
        parse: Callable[[bytes, str], Document] = read,
    ) -> None:
        self.root, self.problems, self.given = root, problems, given or {}
        self.most, self.unguarded, self.room = most, unguarded, room
        self.parse = parse
        self.seen: list[Path] = []
        self.values = 0
        self.literal: set[str] = set()
        self._plain: set[Path] = {root}  # folders to which no link leads
        self.texts: dict[str, str] = {}

    def read(self, name: str) -> Node | None:
        """The nodes of a file, with expressions as written; None, with the problems reported, if it cannot be read."""
        path = self.root / name
        # Also a file that cannot be read: it belongs to the project.
        self.seen.append(path)
        place = self._place(path)
        reason = leads_out(path, self.root, place)
        if reason is not None:
            self.problems.settle(Problem(name, 0, 0, f"this file {reason}; {OWN_FILE}", id="RC-link-not-read"))
            self.problems.partial = True
            return None
        try:
            text = self._text(name, place)
        except OSError as error:
            self.problems.settle(Problem(name, 0, 0, f"the file cannot be read: {os_reason(error)}", id="RC-file-not-read"))
            self.problems.partial = True
            return None
        # Python has no exception for "nearly out of memory": the kernel kills the process without a word. Hence the look at what is left.
        if self.values > self.unguarded and not self.room(len(text) // PER_VALUE):
            raise self._too_large(name, f"there is not enough memory for the project: it contains {self.values:,} values before this file")
        self.texts[name] = sha256(text).hexdigest()
        document = self.parse(text, name)
        if is_literal(text) and not document.problems:
            self.literal.add(name)
        self.values += document.values
        if self.values > self.most:
            raise self._too_large(name, f"the project contains more than {self.most:,} values, those of this file included")
        for problem in document.problems:
            empty = problem.message == EMPTY_FILE and name.startswith(f"{ENVIRONMENTS}/")
            way = "; write {} if nothing differs in this environment" if empty else ""
            self.problems.settle(replace(problem, message=problem.message + way))
        self.problems.partial |= document.data is None
        return document.data

    def _text(self, name: str, place: Path) -> bytes:
        """The text of a file, cut off after the allowed size. Raises `OSError`."""
        if name in self.given:
            return self.given[name].encode("utf-8", "surrogatepass")
        # Neither a device, nor a pipe that never ends, nor a directory.
        with open_place(place) as file:
            return file.read(FILE_MAX + 1)

    def _place(self, path: Path) -> Path:
        """The place of a file, every link followed. A folder is followed once for all its files."""
        # A link out of the checkout could show a file of the runner in the comment of a pull request.
        folder = path.parent
        if folder not in self._plain and folder.resolve() == folder:
            self._plain.add(folder)
        return path if folder in self._plain and not path.is_symlink() else target(path)

    def _too_large(self, name: str, message: str) -> Enough:
        self.problems.partial = True
        self.problems.settle(Problem(name, 0, 0, f"{message}; split it into several projects", id="RC-project-too-large"))
        return Enough()
