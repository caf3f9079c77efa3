"""The budget of a token for requests outside of runs: those with which a worker reads a generator's list."""

from __future__ import annotations

import asyncio
import time
from typing import Final
from uuid import uuid4

from reconciler.client.quota import Hints
from reconciler.fleet.runs.gate import WAIT_MAX, limit_report, reported
from reconciler.fleet.secrets import digest
from reconciler.fleet.store import FleetDatabase, budgets

NO_RUN: Final = 0  # the id of a run that does not exist: its requests are never given up before they are answered


class Budgeted:
    """The `SharedBudget` of a token: takes each request from its row before it is sent."""

    def __init__(self, database: FleetDatabase, base_url: str, token: str) -> None:
        self._database, self._name, self._begun = database, digest(base_url, token), uuid4().hex
        self._number = 0

    async def take(self, method: str, seconds: float) -> int:
        """Permission to send one request now; raises TimeoutError if that would take longer than `seconds`."""
        self._number += 1
        number, until = self._number, time.monotonic() + seconds
        while (wait := await asyncio.to_thread(self._take, method, number)) > 0:
            wait = min(wait, WAIT_MAX)
            if time.monotonic() + wait > until:
                raise TimeoutError
            await asyncio.sleep(wait)
        return number

    def _take(self, method: str, number: int) -> float:
        with self._database.transaction() as connection:
            return budgets.take(connection, self._name, method, self._ticket(number))

    def report(self, ticket: int, status: int | None, hints: Hints | None) -> None:
        """Report the result of a request."""
        report = reported(limit_report(status, hints))

        def write() -> None:
            with self._database.transaction() as connection:
                budgets.report(connection, self._name, {self._ticket(ticket): report})

        asyncio.get_running_loop().run_in_executor(None, write)  # the event loop waits for it when it ends

    def _ticket(self, number: int) -> str:
        return f"{NO_RUN}.{self._begun}.{number}"
