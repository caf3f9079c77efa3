"""Time, as the client sees it; another one can be handed in."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Time, as the client sees it."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start."""

    def wall(self) -> float:
        """UTC epoch seconds."""

    async def sleep(self, seconds: float) -> None:
        """Come back after `seconds`."""


class SystemClock:
    """The machine's time."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start."""
        return time.monotonic()

    def wall(self) -> float:
        """UTC epoch seconds."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Come back after `seconds`."""
        await asyncio.sleep(seconds)
