"""The lease on the state, for which `--lock-timeout` waits while another run has it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Final

from reconciler.config import Project
from reconciler.errors import Locked
from reconciler.run.connection.connecting import ConnectedService, current_user, open_store, recording_end
from reconciler.run.operation import Operation
from reconciler.run.voice import Voice
from reconciler.state import Journal, Store
from reconciler.text.names import duration

PAUSE: Final = 0.5  # seconds between two attempts


@contextmanager
def leased(
    operation: Operation, voice: Voice, project: Project, service: ConnectedService, *, command: str
) -> Iterator[tuple[Store, Journal]]:
    """The state, created where there is none, and its lease during this block, whose end is recorded if an error ends it.

    Raises `Locked` if another run still has it after `--lock-timeout`.
    """
    with (
        open_store(operation, voice, project, service, create=True) as store,
        waited(operation, voice, lambda: store.lease(who=current_user(), command=command)) as journal,
        recording_end(journal),
    ):
        yield store, journal


@contextmanager
def waited(operation: Operation, voice: Voice, take: Callable[[], AbstractContextManager[Journal]]) -> Iterator[Journal]:
    """What `take` takes: any leases, waited for as long as the operation says."""
    seconds = operation.lock_timeout or 0.0
    end, named = time.monotonic() + seconds, False
    with ExitStack() as held:
        while True:
            try:
                journal = held.enter_context(take())
                break
            except Locked as error:
                left = end - time.monotonic()
                if left <= 0:
                    raise
                if not named:
                    voice.say(f"{error.message[0].upper()}{error.message[1:]}. Waiting for it up to {duration(seconds)}.", event="lock")
                    named = True
            time.sleep(min(left, PAUSE))
        yield journal
