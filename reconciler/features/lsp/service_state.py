"""What the last run left in a state that is a file of this machine: ids, values, URLs, and when that was. Reads the file; sends nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from reconciler.config import Project
from reconciler.errors import ReconcilerError
from reconciler.model import State
from reconciler.state.store import last_known
from reconciler.text.backends import file_of

Stamp = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class ServiceState:
    """`at`: the end of the last run, None if none ended. `urls`: those that answer, by the address of their site."""

    state: State
    at: datetime | None
    urls: Mapping[str, Sequence[str]]


class ServiceStates:
    """Reads states, each again when its file has changed. `now`: the clock."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.now = now
        self.read: dict[tuple[Path, str, str], tuple[Stamp, ServiceState | None]] = {}

    def of(self, project: Project) -> ServiceState | None:
        """What is known of a project in its environment; None without a state, or where it is not in a file."""
        name = file_of(project.settings.state)
        if not name or set(name) & set("?%"):
            return None
        file = Path(name)
        key = (file, project.settings.project, project.desired.environment or "")
        stamp = _stamp(file)
        if key not in self.read or self.read[key][0] != stamp:
            self.read[key] = (stamp, self._look(*key) if stamp else None)
        return self.read[key][1]

    def _look(self, file: Path, project: str, environment: str) -> ServiceState | None:
        try:
            known = last_known(file, project, environment, self.now())
        except (ReconcilerError, OSError):
            return None  # of another version, locked or damaged: the editor works without it
        return ServiceState(*known) if known is not None else None


def _stamp(file: Path) -> Stamp:
    """When the file and its log were written last; () if there is none."""
    stamps = []
    for path in (file, Path(f"{file}-wal")):
        try:
            status = path.stat()
        except OSError:
            continue
        stamps.append((status.st_mtime_ns, status.st_size))
    return tuple(stamps)
