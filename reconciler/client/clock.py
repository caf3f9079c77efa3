"""The client's clock; another one can be passed in."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """The client's clock."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start."""

    def wall(self) -> float:
        """UTC epoch seconds."""

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""


class SystemClock:
    """The machine's time."""

    monotonic = staticmethod(time.monotonic)
    wall = staticmethod(time.time)

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        await asyncio.sleep(seconds)
