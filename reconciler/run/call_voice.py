"""The voice of one call of a program: an agent's, or Python's. It prints nothing, keeps the progress, and can end the call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from reconciler.run.narration import Narration
from reconciler.signals import cancel_tasks
from reconciler.text.masks import Masks

SHOWN: Final = ("phase", "progress")  # events that a client shows to whoever waits

CallLog = Callable[..., None]
"""Logs an event of a call: its level, name and message, and its facts."""


class CallVoice(Narration):
    """`remarks`: warnings, for the answer. `progress`: what the call is doing. `cancelled`: nobody waits for the answer any more.

    `log`: who hears of its events; None for a reading that no call waits for.
    """

    def __init__(self, log: CallLog | None = None) -> None:
        super().__init__(Masks())
        self.log = log
        self.remarks: list[str] = []
        self.progress = ""
        self.cancelled = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def follows_requests(self) -> bool:
        """So that it knows the loop of the requests that `cancel` ends."""
        return True

    def cancel(self) -> None:
        """End the call, from any thread: its requests now, the rest at its next event."""
        self.cancelled.set()
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(cancel_tasks)

    def request(self, method: str, path: str, attempt: int) -> None:
        self._loop = asyncio.get_running_loop()
        super().request(method, path, attempt)

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
