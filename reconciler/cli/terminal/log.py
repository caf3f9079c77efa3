"""The events of a run: the form of a line, and the log file that contains all of them.

An event has a time, a level, a name and a message; what else it has depends on its name (docs/how-to/log-and-trace.md). Names and fields
are stable.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from reconciler.text.escape import as_json, log, terminal
from reconciler.text.masks import Masks
from reconciler.writing import opened_for_appending

OWN: Final = ("time", "level", "event", "message")


def event(level: str, name: str, message: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """An event of the present time, without unknown facts."""
    time = datetime.now(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
    known = {fact: value for fact, value in facts.items() if value is not None}
    return {"time": time, "level": level, "event": name, "message": message, **known}


def line(event: Mapping[str, Any], form: str) -> str:
    """An event on one line: as JSON, or as `TIME LEVEL EVENT MESSAGE fact=value`."""
    if form == "json":
        return as_json(event, indent=None) + "\n"
    message = " | ".join(terminal(part) for part in str(event["message"]).splitlines() if part.strip())
    facts = " ".join(f"{name}={as_json(value, indent=None)}" for name, value in event.items() if name not in OWN)
    return log(f"{event['time']} {event['level']:<7} {event['event']}: {message}{f'  {facts}' if facts else ''}\n")


class EventLog:
    """The events of a run, masked, in one format: for stderr, and all of them for the log file."""

    def __init__(self, masks: Masks) -> None:
        self.form = "text"
        self._masks = masks
        self._file: LogFile | None = None

    @property
    def active(self) -> bool:
        """Whether events are written to a file, or to stderr as JSON."""
        return self._file is not None or self.form == "json"

    def open(self, path: str) -> None:
        """Write every event to this file from now on. Raises `LinkRefused` and OSError."""
        opened = LogFile(path)
        if self._file is not None:
            self._file.close()
        self._file = opened

    def add(self, level: str, name: str, message: str, facts: Mapping[str, Any]) -> str:
        """Log an event. Returns its line."""
        written = line(self._masks.data(event(level, name, message, facts)), self.form)
        if self._file is not None:
            self._file.write(written)
        return written

    def close(self) -> LogFile | None:
        """End the log file; the file if there was one."""
        closed, self._file = self._file, None
        if closed is not None:
            closed.close()
        return closed


class LogFile:
    """A file that only its owner can read, to which lines are appended. `lost`: why writing failed."""

    def __init__(self, path: str) -> None:
        """Raises `LinkRefused` and OSError."""
        self.path, self.lost = path, ""
        self._handle = opened_for_appending(Path(path))

    def write(self, text: str) -> None:
        """Append a whole line, even if several processes write. A failure does not end the run."""
        if self.lost:
            return
        # One call of the kernel for a whole line: with O_APPEND the lines of several processes do not mix.
        try:
            os.write(self._handle, text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            self.lost = (error.strerror or type(error).__name__).lower()

    def close(self) -> None:
        os.close(self._handle)
