"""Changes for open pages: one reader of the database for each process, however many pages are open.

A change is a run that began or ended, or a line of the audit log. The time of a row is older than its commit, so the last seconds are read
again each time, without the changes already passed on.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from reconciler.errors import ReconcilerError
from reconciler.fleet.store import FleetDatabase
from reconciler.fleet.store.dashboard import views

POLL_SECONDS: Final = 1.0
QUEUE_MAX: Final = 1_000
CLIENTS_MAX: Final = 500
PERSON_MAX: Final = 30
SESSION_MAX: Final = 10


@dataclass(frozen=True)
class Changed:
    """Projects of a tenant that changed."""

    tenant: str
    names: frozenset[str]


Follower = tuple[str, str]
"""Who follows: a person, and their session, "" for a program, which is counted by its person only."""


class Full(Exception):
    """The maximum number of clients already follows the changes. `own`: of this person or session."""

    def __init__(self, *, own: bool) -> None:
        super().__init__()
        self.own = own


class Feed:
    """Reads while there are followers."""

    def __init__(self, database: FleetDatabase) -> None:
        self.database = database
        self._queues: dict[asyncio.Queue[Changed | None], Follower] = {}
        self._reader: asyncio.Task[None] | None = None
        self._begun = asyncio.Event()  # the reader knows the earlier rows: all later ones are passed on

    def check(self, follower: Follower) -> None:
        """Raise `Full` if the process, the person or the session follows often enough."""
        followers = self._queues.values()
        persons, sessions = Counter(person for person, _ in followers), Counter(session for _, session in followers if session)
        if persons[follower[0]] >= PERSON_MAX or sessions[follower[1]] >= SESSION_MAX:
            raise Full(own=True)
        if len(followers) >= CLIENTS_MAX:
            raise Full(own=False)

    @asynccontextmanager
    async def follow(self, follower: Follower) -> AsyncIterator[asyncio.Queue[Changed | None]]:
        """Changes from the moment it is entered; None when the process ends, or when this client is too slow. Raises `Full`."""
        self.check(follower)
        queue: asyncio.Queue[Changed | None] = asyncio.Queue(QUEUE_MAX)
        self._queues[queue] = follower
        if self._reader is None or self._reader.done():
            self._begun.clear()
            self._reader = asyncio.create_task(self._read())
        try:
            await self._begun.wait()
            yield queue
        finally:
            self._queues.pop(queue, None)
            if not self._queues and self._reader is not None:
                self._reader.cancel()
                self._reader = None

    def end(self) -> None:
        """End every client, because the process ends."""
        self._begun.set()
        for queue in tuple(self._queues):
            self._last(queue)

    async def _read(self) -> None:
        seen: frozenset[views.FeedChange] | None = None
        while True:
            # the database may be restarting: the pages stay open, and the next second tries again
            with suppress(ReconcilerError):
                now = frozenset(await asyncio.to_thread(self._recent))
                if seen is not None:
                    self._pass_on([change for change in now if change not in seen])
                seen = now
                self._begun.set()
            await asyncio.sleep(POLL_SECONDS)

    def _recent(self) -> Sequence[views.FeedChange]:
        with self.database.transaction() as connection:
            return views.recent_changes(connection)

    def _pass_on(self, changes: Sequence[views.FeedChange]) -> None:
        tenants: dict[str, set[str]] = {}
        for change in changes:
            tenants.setdefault(change.tenant, set()).add(change.project)
        for tenant, names in tenants.items():
            changed = Changed(tenant, frozenset(names))
            for queue in tuple(self._queues):
                try:
                    queue.put_nowait(changed)
                except asyncio.QueueFull:
                    self._last(queue)

    def _last(self, queue: asyncio.Queue[Changed | None]) -> None:
        self._queues.pop(queue, None)
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait(None)
