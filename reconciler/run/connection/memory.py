"""A service and a state in memory, for all runs of a program: nothing of them is on a disk, and both end with the program."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from reconciler.config import Project
from reconciler.resource import Kinds
from reconciler.run.connection.embedded import embedded
from reconciler.sandbox.file import MEMORY
from reconciler.state.bucket.objects import InMemory

if TYPE_CHECKING:
    from reconciler.sandbox.server import Embedded


class MemoryPlace:
    """The service that the first run starts, with what its project assumes to exist, and the state. `running`: None before that. `service`:
    what messages call it. Use it by several threads at once, and `close` it."""

    service: Final = "the sandbox in memory"

    def __init__(self) -> None:
        self.state = InMemory()
        self.running: Embedded | None = None
        self._held, self._lock = ExitStack(), threading.Lock()

    def started(self, project: Project | None, kinds: Kinds | None) -> Embedded:
        """The service."""
        with self._lock:
            if self.running is None:
                self.running = self._held.enter_context(embedded(MEMORY, project, kinds))
            return self.running

    def close(self) -> None:
        """End the service."""
        self._held.close()
