"""One job at a time, where the forge has something that only one can have. A killed job's turn ends after a minute."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from reconciler.forges.port import Busy, Clock, Forge, ForgeError, Taken, TryAgain

EXPIRY: Final = 60.0  # seconds after which a turn is taken away from whoever has it
MARGIN: Final = 25.0  # seconds before that in which its owner relies on it no longer; more than a request takes
PATIENCE: Final = 120.0  # seconds of waiting for a turn; after that it is done without one


@dataclass(frozen=True)
class Turn:
    """`since`: when it began; None where there is none."""

    clock: Clock
    since: float | None

    @property
    def exclusive(self) -> bool:
        """Whether no other job writes now."""
        return self.since is not None and self.clock.monotonic() - self.since < EXPIRY - MARGIN


@contextmanager
def turn(forge: Forge, clock: Clock) -> Iterator[Turn]:
    """Wait for a turn, and end it."""
    taken = _taken(forge, clock)
    try:
        yield Turn(clock, None if taken is None else taken[1])
    finally:
        if taken is not None:
            with suppress(ForgeError):
                forge.free(taken[0].id)


def _taken(forge: Forge, clock: Clock) -> tuple[Taken, float] | None:
    """What was taken and when it was asked for."""
    ends, pause = clock.monotonic() + PATIENCE, 0.3
    while clock.monotonic() < ends:
        asked = clock.monotonic()
        try:
            got = forge.take()
        except TryAgain:
            continue
        if not isinstance(got, Busy):
            return None if got is None else (got, asked)
        if got.seconds > EXPIRY:
            with suppress(ForgeError):
                forge.free(got.id)
        clock.sleep(pause * (0.5 + clock.chance()))
        pause = min(3.0, pause * 1.5)
    return None
