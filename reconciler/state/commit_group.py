"""Group commit: the intents and outcomes of an apply that are ready at the same moment are one transaction of the journal.

    step -> intend ---.                              .--> each step that waits sends its request
                       >-- one thread commits both --
    step -> settle ---'                              `--> nobody waits for an ending

One thread writes, so that the loop continues while the disk is busy: what arrives meanwhile is the next transaction. It begins at the
earliest `LINGER` after the one before it: on a fast disk each would hold a request or two, and most of its cost is the same for a hundred.
Nothing waits for an ending, because every later intent is in the same transaction or a later one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Final

from reconciler.errors import StateError
from reconciler.model import Intent
from reconciler.model.state import IntentEnding
from reconciler.state.journal import Journal

LINGER: Final = 0.01  # seconds for which an ending waits for an intent to share its transaction with, and between transactions' begins

_Waiting = tuple[Intent, asyncio.Future[Intent]]


class CommitGroup:
    """The journal of one apply. `commits`: transactions so far."""

    def __init__(self, journal: Journal) -> None:
        self.commits = 0
        self._journal = journal
        self._intents: list[_Waiting] = []
        self._endings: list[IntentEnding] = []
        self._writing: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._failed: BaseException | None = None
        self._next = 0.0  # when another transaction may begin, by the clock of the loop
        self._writer = ThreadPoolExecutor(1, "journal")

    async def intend(self, intent: Intent) -> Intent:
        """Record what is about to be sent, durably. Raises `StateError`: then nothing must be sent."""
        written: asyncio.Future[Intent] = asyncio.get_running_loop().create_future()
        self._intents.append((intent, written))
        self._write()
        try:
            return await written
        except asyncio.CancelledError:
            if not written.cancelled() and written.exception() is None:  # it was written, and its step stopped before it continued
                self._not_sent(written.result())
            raise

    def settle(self, ending: IntentEnding) -> None:
        """Record how an intent ended: before any later intent, and at the latest when the group is closed."""
        self._endings.append(ending)
        if self._writing is None and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LINGER, self._write)

    async def close(self) -> None:
        """Write the rest. Raises the error of the first transaction that failed."""
        while self._intents or self._endings or self._writing is not None:
            self._write()
            assert self._writing is not None
            await asyncio.shield(self._writing)
        self._writer.shutdown()
        if self._failed is not None:
            raise self._failed

    def _not_sent(self, intent: Intent) -> None:
        """Record that a step was stopped between its intent and its request."""
        self.settle(IntentEnding(intent.id, "not-sent", "stopped before it was sent"))

    def _write(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._transactions())

    async def _transactions(self) -> None:
        """One transaction after the other, while there are intents."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                await asyncio.sleep(max(0.0, self._next - loop.time()))  # includes what is ready by then
                self._next = loop.time() + LINGER
                intents, self._intents = [waiting for waiting in self._intents if not waiting[1].cancelled()], []
                endings, self._endings = self._endings, []
                await self._transaction(intents, endings)
                if not self._intents:
                    break
        finally:
            self._writing = None
        if self._endings:
            self._timer = asyncio.get_running_loop().call_later(LINGER, self._write)

    async def _transaction(self, intents: Sequence[_Waiting], endings: Sequence[IntentEnding]) -> None:
        self.commits += 1
        commit = asyncio.get_running_loop().run_in_executor(self._writer, self._journal.commit, [intent for intent, _ in intents], endings)
        try:
            numbered = await commit
        except Exception as error:
            self._failed = self._failed or error
            for _, written in intents:
                if not written.cancelled():
                    written.set_exception(error)
        else:
            for (_, written), intent in zip(intents, numbered, strict=True):
                if written.cancelled():  # its step was stopped meanwhile
                    self._not_sent(intent)
                else:
                    written.set_result(intent)


@asynccontextmanager
async def grouped(journal: Journal) -> AsyncIterator[CommitGroup]:
    """A group for this block; at its end everything is written. Raises `StateError` where something could not be."""
    group = CommitGroup(journal)
    try:
        yield group
    except BaseException:
        with suppress(StateError):  # what the block raised says it already, or is more urgent
            await group.close()
        raise
    await group.close()
