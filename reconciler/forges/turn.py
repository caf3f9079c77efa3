"""One job at a time, on forges with an object that only one job can have. A killed job's turn ends after a minute."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from reconciler.forges.port import BlockingClock, Busy, Forge, ForgeError, Taken, TryAgain, Turns

EXPIRY: Final = 60.0  # seconds after which another job may take over a turn
MARGIN: Final = 25.0  # seconds before that in which its owner no longer relies on it; more than a request takes
PATIENCE: Final = 120.0  # seconds of waiting for a turn; then the job continues without one


@dataclass(frozen=True)
class Turn:
    """`since`: when it began; None without a turn."""

    clock: BlockingClock
    since: float | None

    @property
    def exclusive(self) -> bool:
        """Whether no other job can write now."""
        return self.since is not None and self.clock.monotonic() - self.since < EXPIRY - MARGIN


@contextmanager
def turn(forge: Forge, clock: BlockingClock) -> Iterator[Turn]:
    """Wait for a turn, and end it."""
    turns = forge.turns
    taken = _taken(turns, clock) if turns is not None else None
    try:
        yield Turn(clock, None if taken is None else taken[1])
    finally:
        if turns is not None and taken is not None:
            with suppress(ForgeError):
                turns.free(taken[0].id)


def _taken(turns: Turns, clock: BlockingClock) -> tuple[Taken, float] | None:
    """The turn, and when it was requested; None if the token may not take one."""
    ends, pause = clock.monotonic() + PATIENCE, 0.3
    while clock.monotonic() < ends:
        # The turn counts from before the request: the forge may have created the reaction long before its answer arrived.
        asked = clock.monotonic()
        try:
            answer = turns.take()
        except TryAgain:
            continue
        if not isinstance(answer, Busy):
            return None if answer is None else (answer, asked)
        # Its owner was killed, or it has noticed by itself that its turn is over (`exclusive`).
        if answer.seconds > EXPIRY:
            with suppress(ForgeError):
                turns.free(answer.id)
        clock.sleep(pause * (0.5 + clock.chance()))
        pause = min(3.0, pause * 1.5)
    return None
