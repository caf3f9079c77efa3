"""procrastinate as the queue: jobs are rows beside the fleet's own tables, and LISTEN/NOTIFY wakes the workers.

Jobs have no lock, no time and no retry: a job that waits for a time blocks the others of its lock (procrastinate's issue 1599), and a retry
that cannot be written leaves a job in progress for ever (its issue 1446). The table of projects is the schedule.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import ProcrastinateException
from procrastinate.jobs import DeleteJobCondition, Status
from procrastinate.schema import SchemaManager
from procrastinate.worker import Worker
from sqlalchemy import Connection, insert, inspect, select, text

from reconciler.fleet.engine import Work
from reconciler.fleet.store.schema import SCHEMA, engine

TASK: Final = "run"
QUEUE: Final = "runs"
AFTERWARDS: Final = "_post_"  # part of the name of a migration that older workers do not survive
END_SECONDS: Final = 12.0  # for the jobs in progress, whose runs have been ended
POLL_SECONDS: Final = 2.0  # if a notification was lost
for name in ("procrastinate", "psycopg.pool"):
    logging.getLogger(name).setLevel(logging.CRITICAL)  # the rows of the runs and the workers' log contain what matters


class Queue:
    """A queue in the schema of the fleet."""

    def __init__(self, app: App, *, patience: float) -> None:
        self._app, self._patience = app, patience
        self._work: Work | None = None
        app.task(name=TASK, queue=QUEUE)(self._run)

    def prepare(self, connection: Connection) -> None:
        """Create procrastinate's tables if they do not exist."""
        prepare(connection)

    async def admit(self, runs: Sequence[int]) -> None:
        if runs:
            arguments: list[dict[str, Any]] = [{"run": run} for run in runs]
            await self._app.tasks[TASK].batch_defer_async(*arguments)

    async def run(self, work: Work, *, concurrency: int) -> None:
        """Start queued runs until this is cancelled. Returns if the database ended the connection."""
        self._work = work
        worker: Any = Worker(
            self._app,
            queues=[QUEUE],
            concurrency=concurrency,
            wait=True,
            install_signal_handlers=False,
            fetch_job_polling_interval=POLL_SECONDS,
            delete_jobs=DeleteJobCondition.ALWAYS.value,
            update_heartbeat_interval=self._patience / 3,
            stalled_worker_timeout=self._patience,
        )
        asyncio.get_running_loop().set_exception_handler(_ignore_ended_jobs)
        running = asyncio.create_task(worker.run())
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            worker.stop()
            # procrastinate waits for its jobs without a limit, and a run that hangs would keep a worker from ending.
            await asyncio.wait({running}, timeout=END_SECONDS)
            running.cancel()
            raise

    async def finish(self, runs: Sequence[int]) -> None:
        gone = set(runs)
        jobs = await self._app.job_manager.list_jobs_async(queue=QUEUE) if gone else []
        for job in jobs:
            if job.task_kwargs.get("run") in gone and job.id is not None:
                with suppress(Exception):  # its worker, or another sweeper, was faster
                    await self._app.job_manager.finish_job_by_id_async(job.id, Status.FAILED, delete_job=True)

    async def sweep(self) -> list[int]:
        # A worker that was killed leaves its jobs in progress. Nothing is retried here: the project is due again by its own row.
        for job in await self._app.job_manager.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=self._patience):
            if job.id is not None:
                with suppress(Exception):
                    await self._app.job_manager.finish_job_by_id_async(job.id, Status.FAILED, delete_job=True)
        kept: list[Any] = [job.task_kwargs["run"] for job in await self._app.job_manager.list_jobs_async(queue=QUEUE)]
        return [int(run) for run in kept]

    async def _run(self, run: int) -> None:
        assert self._work is not None
        await self._work(run)


def _ignore_ended_jobs(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Ignore the error of a job that ended elsewhere: the row of its run has the result."""
    if not isinstance(context.get("exception"), ProcrastinateException):
        loop.default_exception_handler(context)


def prepare(connection: Connection) -> None:
    """Create procrastinate's tables in the schema of the fleet, or migrate them to the installed version. Migrations that older workers do
    not survive wait until none is running."""
    connection.execute(text(f"SET LOCAL search_path TO {SCHEMA}"))
    scripts = {path.name: path for path in sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))}
    applied = set(connection.execute(select(engine.c.migration)).scalars())
    if not inspect(connection).has_table("procrastinate_jobs", schema=SCHEMA):
        _execute(connection, SchemaManager.get_schema())
        added = list(scripts)
    else:
        busy = connection.execute(text(f"SELECT 1 FROM {SCHEMA}.workers WHERE seen_at > now() - interval '10 minutes'")).first()  # noqa: S608
        added = [name for name in scripts if name not in applied and not (AFTERWARDS in name and busy)]
        for name in added:
            _execute(connection, scripts[name].read_text(encoding="utf-8"))
    if added:
        connection.execute(insert(engine), [{"migration": name} for name in added])


def _execute(connection: Connection, script: str) -> None:
    """Run a script of procrastinate in the transaction of a connection."""
    raw: Any = connection.connection.dbapi_connection
    with raw.cursor() as cursor:
        cursor.execute(script)


@asynccontextmanager
async def opened(url: str, *, patience: float) -> AsyncIterator[Queue]:
    """The queue of a database."""
    connector = PsycopgConnector(
        conninfo=url,
        min_size=1,
        max_size=5,
        kwargs={"options": f"-c search_path={SCHEMA}", "connect_timeout": 5, "application_name": "reconciler fleet"},
    )
    app = App(connector=connector)
    queue = Queue(app, patience=patience)
    async with app.open_async():
        yield queue
