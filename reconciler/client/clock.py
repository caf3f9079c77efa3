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

    monotonic = staticmethod(time.monotonic)
    wall = staticmethod(time.time)

    async def sleep(self, seconds: float) -> None:
        """Come back after `seconds`."""
        await asyncio.sleep(seconds)
