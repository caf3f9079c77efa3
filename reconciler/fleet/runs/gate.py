"""The gate between a run and the database: a Unix socket of the worker that the run asks before each request, for its share of the token's
budget, before the first request of an apply, and before each step that gives more access or cannot be undone.

A run therefore needs no access to the fleet's database, and ends if its worker does. Both ends are here.

    run: {"id": 1, "take": "GET"}                              worker: {"id": 1}, as soon as the request may be sent
    run: {"id": 1, "told": [size, left, reset, refused]}       or "told": null, where no answer came
    run: {"id": 2, "may": "delete"}                            worker: {"id": 2}, or with "refused": why not

The first such question of an apply is whether it may begin. The worker's answer is also a record: from then on, approvals are used up.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

from reconciler.client.quota import Hints
from reconciler.fleet.budget import BudgetReport

VARIABLE: Final = "_RECONCILER_FLEET_GATE"
RULES: Final = "_RECONCILER_FLEET_RULES"
"""The variable that names the commit and the directory of the files whose rules judge the project."""
BEGIN: Final = "begin"
"""What a run asks before the first request of an apply is recorded."""
LOST: Final = 70  # the exit code of a run whose worker has died
AGAIN: Final = 0.5  # seconds until the next attempt to reach the database
WAIT_MAX: Final = 5.0  # seconds until the row is read again, whatever its contents
UNKNOWN: Final = "the fleet's database cannot say whether it may go on"
LAST_WORDS: Final = 1.0  # seconds for reading the output of an ended run


class RunGate:
    """The worker's end, for one run. `take`: 0 or seconds to wait; `report`: the answer, by ticket; `held`: why a step that cannot be
    undone must not be sent now. All are called in threads. `refused`: the first reason that was given to the run."""

    def __init__(
        self,
        path: Path,
        take: Callable[[str, str], float],
        report: Callable[[dict[str, BudgetReport | None]], None],
        held: Callable[[str], str | None] = lambda what: None,
    ) -> None:
        self.path = path
        self.taken = 0
        self.refused: str | None = None
        self._take, self._report, self._held = take, report, held
        self._server: asyncio.Server | None = None
        self._sent: set[str] = set()
        self._told: dict[str, BudgetReport | None] = {}
        # The row of the budget is locked by a transaction, so several of one run at a time would only wait in the database.
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> RunGate:
        self._server = await asyncio.start_unix_server(self._serve, self.path)
        # whoever can connect here spends the budget of the token, so only the account of the worker may
        self.path.chmod(0o600)
        return self

    async def __aexit__(self, *raised: object) -> None:
        assert self._server is not None
        self._server.close()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=LAST_WORDS)
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._told |= dict.fromkeys(self._sent)
        self._sent.clear()
        # What was sent and never reported counts as in flight, with the budget, until it is too old to be true.
        await self._flush()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        current = asyncio.current_task()
        assert current is not None
        self._tasks.add(current)
        grants: set[asyncio.Task[None]] = set()
        flushes: set[asyncio.Task[None]] = set()
        try:
            while line := await reader.readline():
                message = json.loads(line)
                ticket = str(int(message["id"]))
                if "take" in message:
                    _kept(grants, self._grant(ticket, str(message["take"])[:20], writer))
                elif "may" in message:
                    _kept(grants, self._clear(ticket, str(message["may"])[:20], writer))
                elif ticket in self._sent:
                    self._sent.discard(ticket)
                    self._told[ticket] = reported(message["told"])
                    _kept(flushes, self._flush())
        # an invalid message gets no answer: the run is the only one who can write here, and then it is broken
        except (ValueError, KeyError, TypeError, OSError, asyncio.CancelledError):
            pass
        finally:
            for task in tuple(grants):
                task.cancel()
            # a report that is lost keeps its request in flight for minutes, and other projects of the token wait for it
            await asyncio.gather(*flushes, return_exceptions=True)
            self._tasks.discard(current)
            writer.close()

    async def _grant(self, ticket: str, method: str, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                async with self._turn:
                    wait = await asyncio.to_thread(self._take, method, ticket)
            # Whatever the database does, the run must not be told to send: a limit that is exceeded blocks all other projects of
            # the token.
            except Exception:
                wait = AGAIN
            if wait <= 0:
                break
            await asyncio.sleep(min(wait, WAIT_MAX))
        self.taken += 1
        self._sent.add(ticket)
        writer.write(json.dumps({"id": int(ticket)}).encode() + b"\n")
        await writer.drain()

    async def _clear(self, ticket: str, what: str, writer: asyncio.StreamWriter) -> None:
        """Answer whether a step may be sent; if the database does not answer, it may not."""
        async with self._turn:
            try:
                held = await asyncio.to_thread(self._held, what)
            except Exception:
                # Nobody knows whether a window closed or somebody rejected the plan, so what cannot be undone is not done.
                held = UNKNOWN
            self.refused = self.refused or held
        writer.write(json.dumps({"id": int(ticket)} | ({"refused": held} if held is not None else {})).encode() + b"\n")
        await writer.drain()

    async def _flush(self) -> None:
        async with self._turn:
            told, self._told = self._told, {}
            try:
                if told:
                    await asyncio.to_thread(self._report, told)
            except Exception:  # the database cannot be reached; the next report repeats it
                self._told = told | self._told


def _kept(tasks: set[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> None:
    """Start a task that stays in the set until it ends."""
    task = asyncio.create_task(work)
    tasks.add(task)
    task.add_done_callback(tasks.discard)


def reported(told: Any) -> BudgetReport | None:
    """The report in a message of `limit_report`."""
    if told is None:
        return None
    size, left, reset, refused = told
    return BudgetReport(int(size) if size is not None else None, int(left), float(reset), bool(refused))


class GateClient:
    """The run's end: the `SharedBudget` of its client, and the `StepPermission` of its apply."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._number = 0
        self._waiting: dict[int, asyncio.Future[str | None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._listening: asyncio.Task[None] | None = None
        self._connecting: asyncio.Future[asyncio.StreamWriter] | None = None

    async def take(self, method: str, seconds: float) -> int:
        """Permission to send one request; raises TimeoutError."""
        # The number is given before the permission, so that a run which gives up waiting can say so.
        number, answer = await self._ask("take", method)
        try:
            async with asyncio.timeout(seconds if seconds != float("inf") else None):
                await answer
        except BaseException:
            self._tell(number, None)
            raise
        finally:
            self._waiting.pop(number, None)
        return number

    async def refusal(self, what: str) -> str | None:
        """Why a step that cannot be undone must not be sent now; None if it may."""
        number, answer = await self._ask("may", what)
        try:
            return await answer
        finally:
            self._waiting.pop(number, None)

    async def _ask(self, question: str, about: str) -> tuple[int, asyncio.Future[str | None]]:
        """Send a question; its number, and the answer to come."""
        writer = await self._connected()
        self._number += 1
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._waiting[self._number] = answer
        writer.write(json.dumps({"id": self._number, question: about}).encode() + b"\n")
        return self._number, answer

    def report(self, ticket: int, status: int | None, hints: Hints | None) -> None:
        """Report an answer to the worker."""
        self._tell(ticket, limit_report(status, hints))

    def _tell(self, number: int, told: list[Any] | None) -> None:
        if self._writer is not None:
            self._writer.write(json.dumps({"id": number, "told": told}).encode() + b"\n")

    async def _connected(self) -> asyncio.StreamWriter:
        loop = asyncio.get_running_loop()
        # several requests of a run begin at once: they share the connection that the first of them opens
        if self._connecting is None or self._loop is not loop:
            self._loop, self._waiting = loop, {}
            self._connecting = asyncio.ensure_future(self._connect())
        return await asyncio.shield(self._connecting)

    async def _connect(self) -> asyncio.StreamWriter:
        reader, writer = await asyncio.open_unix_connection(self._path)
        self._writer, self._listening = writer, asyncio.create_task(self._listen(reader))
        return writer

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            message = json.loads(line)
            answer = self._waiting.get(message["id"])
            if answer is not None and not answer.done():
                answer.set_result(message.get("refused"))
        # Not an exception: somebody could catch it, and a request would follow that nobody has counted.
        os._exit(LOST)


def limit_report(status: int | None, hints: Hints | None) -> list[Any] | None:
    """The limits in an answer, as the gate sends them; None if it has none."""
    if status is None or hints is None or status >= 500:
        return None
    if hints.limit is None:
        return [None, 0, 0, status == 429]
    now = hints.date.timestamp() if hints.date is not None else time.time()
    return [hints.limit, hints.remaining, max(0.0, hints.reset - now), status == 429]
