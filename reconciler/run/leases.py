"""The lease on the state, for which `--lock-timeout` waits while another run has it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Final

from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import Locked
from reconciler.run.connecting import current_user
from reconciler.state import Journal, Store
from reconciler.text.names import duration

PAUSE: Final = 0.5  # seconds between two attempts


@contextmanager
def leased(screen: Screen, options: Options, store: Store, *, command: str) -> Iterator[Journal]:
    """Hold the lease of a state during this block. Raises `Locked` if another run still has it after `--lock-timeout`."""
    with waited(screen, options, lambda: store.lease(who=current_user(), command=command)) as journal:
        yield journal


@contextmanager
def waited(screen: Screen, options: Options, take: Callable[[], AbstractContextManager[Journal]]) -> Iterator[Journal]:
    """The same for any leases that `take` takes."""
    seconds = options.lock_timeout or 0.0
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
                    screen.say(f"{error.message[0].upper()}{error.message[1:]}. Waiting for it up to {duration(seconds)}.", event="lock")
                    named = True
            time.sleep(min(left, PAUSE))
        yield journal
