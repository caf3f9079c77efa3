"""A worker: admits due projects, starts runs, reports that it lives, recovers the runs of dead workers. Any number, on any machine."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reconciler import __version__
from reconciler.errors import ReconcilerError, StateError
from reconciler.fleet.engine import Engine
from reconciler.fleet.engine.queue import opened, prepare
from reconciler.fleet.refresh.refresh import refresh
from reconciler.fleet.runs import folders, spans
from reconciler.fleet.runs.end import RunResult
from reconciler.fleet.runs.messages import announce_quiet, deliver
from reconciler.fleet.runs.process import fork_server
from reconciler.fleet.runs.work import Workplace, work
from reconciler.fleet.store import FleetDatabase, admission, budgets, runs
from reconciler.fleet.store.access import rows
from reconciler.own_files import OwnFolder

ADMIT_SECONDS: Final = 0.5
END_SECONDS: Final = 15.0
AGAIN_SECONDS: Final = 2.0  # after the database could not be reached
NOTIFY_SECONDS: Final = 2.0
REFRESH_SECONDS: Final = 5.0
LOOK_SECONDS: Final = 60.0
TIDY_SECONDS: Final = 3_600.0
PATIENCE: Final = 30


def _nothing(*message: object, **facts: object) -> None:
    """Ignore the message."""


@dataclass(frozen=True)
class WorkerSettings:
    """`patience`: seconds of silence after which this worker counts as dead. `data`: the folder of its repositories.
    `strict`: send tokens only to services that this machine ties them to."""

    concurrency: int = 4
    patience: int = PATIENCE
    data: Path = Path()
    strict: bool = False


def ready(database: FleetDatabase) -> None:
    """Create the tables of the fleet and of the queue, or migrate them."""
    database.prepare(prepare)


async def serve(
    database: FleetDatabase, settings: WorkerSettings, say: Callable[[str], None], log: Callable[..., object] = _nothing
) -> None:
    """Work until this is cancelled. A database that cannot be reached is tried again; runs in progress end or are recovered.

    `log`: called with a sentence and facts at the end of each run. Raises `UsageError` for a folder that is not ours.
    """
    OwnFolder.create(settings.data)
    while True:
        try:
            await _Worker(database, settings, say, log).serve()
        except ReconcilerError as error:
            say(f"{error.message}; trying again")
        except OSError as error:
            say(f"{database.where} cannot be reached: {(error.strerror or type(error).__name__).lower()}; trying again")
        except asyncio.CancelledError:
            raise
        except Exception as error:
            if not type(error).__module__.startswith(("procrastinate", "psycopg")):
                raise
            say(f"{database.where} cannot be reached; trying again")
        await asyncio.sleep(AGAIN_SECONDS)


def raise_cancellation() -> None:
    """Raise the cancellation of this task that a library lost: psycopg does where a connection is ready in the same moment."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


class _Worker:
    """One session of a worker, from its registration until its database is lost."""

    def __init__(self, database: FleetDatabase, settings: WorkerSettings, say: Callable[[str], None], log: Callable[..., object]) -> None:
        self.database, self.settings, self.say, self.log = database, settings, say, log
        self.place = Workplace(database, settings.data / "repositories", settings.data, fork_server(settings.data), settings.strict)
        self.id = 0
        self.tasks: dict[int, asyncio.Task[RunResult]] = {}

    async def serve(self) -> None:
        settings = self.settings
        about = runs.Worker(socket.gethostname(), os.getpid(), settings.concurrency, settings.patience, __version__)
        self.id = await self._write(lambda connection: runs.register(connection, about))
        self.say(f"Worker {self.id} is ready.")
        if not await asyncio.to_thread(self._has_roles):
            self.say("Runs use this worker's own access to the database. For roles of their own: reconciler fleet roles FOLDER.")
        try:
            async with opened(self.database.url, patience=settings.patience) as engine:
                raise_cancellation()
                parts = [
                    self._live(),
                    self._admit(engine),
                    self._sweep(engine),
                    self._notify(),
                    self._refresh(),
                    engine.run(self._run, concurrency=settings.concurrency),
                ]
                running = [asyncio.create_task(part) for part in parts]
                try:
                    done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        task.result()
                    raise StateError(f"{self.database.where} ended the connection of the queue", id="RC-state-unreachable")
                finally:
                    for run in tuple(self.tasks.values()):  # a run that is ended now is due again at once, and continued by another worker
                        run.cancel()
                    for task in running:
                        task.cancel()
                    await asyncio.wait(running, timeout=END_SECONDS)  # an unreachable database must not keep this worker running
        finally:
            await self.place.server.close()
            await asyncio.to_thread(spans.flush)
            with suppress(ReconcilerError):
                await self._write(lambda connection: runs.leave(connection, self.id))

    async def _write(self, action: Callable[..., object]) -> int:
        def transaction() -> object:
            with self.database.transaction() as connection:
                return action(connection)

        result = await asyncio.to_thread(transaction)
        return result if isinstance(result, int) else 0

    def _has_roles(self) -> bool:
        """Whether a run sees the rows of its own state only."""
        with self.database.transaction() as connection:
            return rows.is_installed(connection)

    async def _run(self, run: int) -> None:
        """One job of the queue."""

        def begin() -> runs.BegunRun | None:
            with self.database.transaction() as connection:
                return runs.begin(connection, run, self.id)

        begun = await asyncio.to_thread(begin)
        if begun is None:
            return
        with spans.span(begun) as (trace, ends):
            task = self.tasks[run] = asyncio.create_task(work(self.place, begun, self.id, trace))
            try:
                await asyncio.wait({task})
                if not task.cancelled():
                    result = task.result()
                    ends |= {"ended": result.ended, "commit": result.commit, "requests": result.requests}
                    about = {"run": run, "number": begun.number, "project": begun.project.name, "tenant": begun.project.tenant, **ends}
                    says = result.error or result.waits
                    self.log(f"{begun.project.name}: {result.ended}{f', {says}' if says else ''}", event="run", **about)
            except ReconcilerError as error:
                self.say(f"{begun.project.name}: {error.message}")
            finally:
                self.tasks.pop(run, None)

    async def _live(self) -> None:
        """Report that this worker lives. Runs that are no longer its own, or possibly not, are ended; runs of its own that it no longer
        does, because their end could not be written, are given up after a while, so that they are recovered."""
        loop = asyncio.get_running_loop()
        reported_at, idle = loop.time(), dict[int, float]()
        while True:
            given_up = {run for run, since in idle.items() if loop.time() - since > self.settings.patience}
            # a run that begins during the reading is not among its rows yet, and must not be taken for one that was ended
            mine = set(self.tasks)

            def alive(given_up: set[int] = given_up) -> set[int]:
                with self.database.transaction() as connection:
                    runs.give_up(connection, self.id, given_up)
                    return runs.alive(connection, self.id)

            try:
                own = await asyncio.to_thread(alive)
                reported_at = loop.time()
            except ReconcilerError:
                if loop.time() - reported_at > self.settings.patience * 0.8:
                    raise
                own = mine
            for run in mine - own:
                if run in self.tasks:
                    self.tasks[run].cancel()
            idle = {run: idle.get(run, loop.time()) for run in own - set(self.tasks)}
            await asyncio.sleep(self.settings.patience / 6)

    async def _admit(self, engine: Engine) -> None:
        def admit() -> list[int]:
            with self.database.transaction() as connection:
                return admission.admit(connection)

        while True:
            await engine.admit(await asyncio.to_thread(admit))
            await asyncio.sleep(ADMIT_SECONDS)

    async def _sweep(self, engine: Engine) -> None:
        tidied = 0.0
        while True:
            queued = await engine.sweep()

            def recover(queued: list[int] = queued) -> list[int]:
                with self.database.transaction() as connection:
                    lost = runs.recover(connection, queued)
                    budgets.forget(connection, lost)
                    return lost

            lost = await asyncio.to_thread(recover)
            await engine.finish(lost)
            for run in lost:
                self.say(f"Run {run} lost its worker; its project is due again.")
            await asyncio.to_thread(folders.tidy, folders.RUN, self.settings.data)
            await asyncio.to_thread(folders.tidy, folders.GATE)
            now = asyncio.get_running_loop().time()
            if now - tidied > TIDY_SECONDS:
                tidied = now
                await self._write(runs.tidy)
            await asyncio.sleep(self.settings.patience / 3)

    async def _refresh(self) -> None:
        """Read the generators' lists, whenever that is due and no other worker does it."""
        while True:
            summary = await asyncio.to_thread(refresh, self.database, self.place.cache, strict=self.settings.strict)
            if summary is not None:
                self.say(summary)
            await asyncio.sleep(REFRESH_SECONDS)

    async def _notify(self) -> None:
        """Send messages, and find projects that were not read for too long. Runs never wait for it."""
        looked = 0.0
        while True:
            now = asyncio.get_running_loop().time()
            if now - looked > LOOK_SECONDS:
                looked = now
                await self._write(announce_quiet)
            if not await asyncio.to_thread(deliver, self.database):
                await asyncio.sleep(NOTIFY_SECONDS)
