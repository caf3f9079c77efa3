"""The interface to a queue. Safety never depends on the queue: it may lose, repeat or delay a run, and nothing happens twice
(docs/decisions/0024-a-fleet.md)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from sqlalchemy import Connection

Work = Callable[[int], Awaitable[None]]


class Engine(Protocol):
    """The queue of a fleet. Runs are named by their ids."""

    def prepare(self, connection: Connection) -> None:
        """Create the queue's tables, inside a transaction that no other process shares."""

    async def admit(self, runs: Sequence[int]) -> None:
        """Queue runs, to be started by any worker."""

    async def run(self, work: Work, *, concurrency: int) -> None:
        """Start queued runs, `concurrency` at a time, until this is cancelled; then wait for those in progress.

        Returns if the connection to the queue is lost.
        """

    async def finish(self, runs: Sequence[int]) -> None:
        """Forget runs that ended elsewhere."""

    async def sweep(self) -> list[int]:
        """Remove the queue's records of dead workers; returns the runs that the queue still has. Holds no lock."""
