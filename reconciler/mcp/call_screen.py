"""The screen of one call: it prints nothing, because stdout belongs to the protocol. It keeps the progress, and can end the call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from typing import Any, Final

from reconciler.cli.terminal.log import EventLog
from reconciler.cli.terminal.screen import Screen
from reconciler.signals import cancel_tasks
from reconciler.text.escape import UNLIMITED

SHOWN: Final = ("phase", "progress")  # events that a client shows to whoever waits


class _EveryEvent(EventLog):
    """A log that asks for every event, so that a call that was cancelled ends with its next request."""

    @property
    def active(self) -> bool:
        return True


class CallScreen(Screen):
    """`remarks`: warnings, for the answer. `progress`: what the call is doing. `cancelled`: nobody waits for the answer any more.

    `server`: the screen of the server, whose log has the events of all calls; None for a reading that no call waits for.
    """

    def __init__(self, server: Screen | None = None) -> None:
        super().__init__()
        self.quiet, self.server = True, server
        self.log = _EveryEvent(self.masks)
        self.remarks: list[str] = []
        self.progress = ""
        self.cancelled = threading.Event()

    @property
    def live(self) -> bool:
        return False

    @property
    def can_ask(self) -> bool:
        return False

    @property
    def width(self) -> int:
        return UNLIMITED

    def event(self, level: str, name: str, message: str, **facts: Any) -> bool:
        """Log the event, keep the progress for the client, and end the requests of a call that was cancelled."""
        if self.cancelled.is_set():
            cancel_tasks()
        if self.server is not None:
            text, known = self.masked(message), self.masked_data(facts)
            if self.server.event(level, name, text, **known) and self.server.verbose and level == "debug":
                self.server.line(text)
        if name in SHOWN:
            self.progress = self.masked(message)
        elif level == "warning":
            self.remarks.append(self.masked(message))
        return False

    def end_if_cancelled(self) -> None:
        if self.cancelled.is_set():
            raise asyncio.CancelledError

    def spans(self, spans: Iterable[tuple[str, str]]) -> None:
        """Nothing: results are returned."""

    def _put(self, text: str, *, utf8: bool = False) -> None:
        return

    def _write(self, text: str, *, utf8: bool = False) -> None:
        return
