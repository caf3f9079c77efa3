"""The events of a run: the form of a line, and the log file that contains all of them.

An event has a time, a level, a name and a message; what else it has depends on its name (docs/how-to/log-and-trace.md). Names and fields
are stable. Forbidden: masking, which the screen has done.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from reconciler.text.escape import as_json, log, terminal
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
        try:
            os.write(self._handle, text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            self.lost = (error.strerror or type(error).__name__).lower()

    def close(self) -> None:
        os.close(self._handle)
