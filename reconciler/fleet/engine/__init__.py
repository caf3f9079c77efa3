"""The port to a queue. The engine is never the safety: it may lose, repeat or delay a run, and nothing happens twice
(docs/decisions/0024-a-fleet.md)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from sqlalchemy import Connection

Work = Callable[[int], Awaitable[None]]


class Engine(Protocol):
    """What a fleet needs of a queue. Runs are named by their ids."""

    def prepare(self, connection: Connection) -> None:
        """Create what the queue needs, inside a transaction that no other process is in."""

    async def admit(self, runs: Sequence[int]) -> None:
        """Queue runs, to be started by any worker."""

    async def run(self, work: Work, *, concurrency: int) -> None:
        """Start queued runs, `concurrency` at a time, until this is cancelled; then wait for those that are under way.

        Returns where the connection to the queue is lost."""

    async def finish(self, runs: Sequence[int]) -> None:
        """Forget runs that ended elsewhere."""

    async def sweep(self) -> list[int]:
        """End what the queue keeps of workers that are dead; the runs that it still has. Holds no lock."""
