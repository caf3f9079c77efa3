"""The voice of one call: it prints nothing, because stdout belongs to the protocol. It keeps the progress, and can end the call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Final

from reconciler.run.narration import Narration
from reconciler.signals import cancel_tasks
from reconciler.text.masks import Masks

SHOWN: Final = ("phase", "progress")  # events that a client shows to whoever waits

ServerLog = Callable[..., None]
"""Logs an event of a call: its level, name and message, and its facts."""


class CallVoice(Narration):
    """`remarks`: warnings, for the answer. `progress`: what the call is doing. `cancelled`: nobody waits for the answer any more.

    `log`: of the server, which has the events of all calls; None for a reading that no call waits for.
    """

    def __init__(self, log: ServerLog | None = None) -> None:
        super().__init__(Masks())
        self.log = log
        self.remarks: list[str] = []
        self.progress = ""
        self.cancelled = threading.Event()

    @property
    def follows_requests(self) -> bool:
        """So that a call that was cancelled ends with its next request."""
        return True

    def tell(self, level: str, event: str, text: str, *, shown: bool = True, **facts: Any) -> None:
        """Log the event, keep the progress for the client, and end the requests of a call that was cancelled."""
        if self.cancelled.is_set():
            cancel_tasks()
        masked = self.masks.text(text)
        if self.log is not None:
            self.log(level, event, masked, **self.masks.data(facts))
        if event in SHOWN:
            self.progress = masked
        elif level == "warning":
            self.remarks.append(masked)

    def waiting(self, seconds: float, why: str) -> None:
        super().waiting(seconds, why)
        if self.cancelled.is_set() and not cancel_tasks():
            raise asyncio.CancelledError
