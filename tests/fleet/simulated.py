"""A fleet in simulated time: rows, admission and budgets are those of a real PostgreSQL server; runs and the service are played.

`now()` and `clock_timestamp()` of the database are a clock of the simulation, so a day passes as fast as the statements do.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import event, func, select, text

from reconciler.fleet.budget import BudgetReport
from reconciler.fleet.changes import changes
from reconciler.fleet.model import FleetProject, Repository, SecretReference
from reconciler.fleet.runs import end
from reconciler.fleet.runs.end import RunResult
from reconciler.fleet.status import Reading
from reconciler.fleet.store import FleetDatabase, admission, budgets, connected, projects, runs, schema as tables
from reconciler.fleet.worker import ready

EPOCH = 1_900_000_000.0
START_SECONDS = 0.6  # of a process
LATENCY = 0.05
WAIT = 120.0  # seconds after which a run asks for a request again; nothing happens to its budget before
PATIENCE = 30
AGAIN = 2.0  # seconds after which admission is tried again where nothing could be admitted; workers try sooner
NEXT_DUE = f"""
    SELECT extract(epoch FROM min(greatest(p.next_due, b.held_until))) FROM {tables.SCHEMA}.projects p
    LEFT JOIN {tables.SCHEMA}.budgets b ON b.token = p.budget
    WHERE NOT EXISTS (SELECT 1 FROM {tables.SCHEMA}.runs r WHERE r.project = p.id AND r.ended_at IS NULL)
"""
CLOCK = """
    CREATE SCHEMA played;
    CREATE FUNCTION played.now() RETURNS timestamptz LANGUAGE sql STABLE
      AS $$ SELECT pg_catalog.to_timestamp(pg_catalog.current_setting('played.now')::float8) $$;
    CREATE FUNCTION played.clock_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT played.now() $$;
"""


@dataclass
class Service:
    """A service with a limit of requests in each window of time, by token. `beyond`: requests that were refused."""

    limits: dict[str, int]
    window: float = 3_600.0
    counted: dict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))
    requests: int = 0
    beyond: int = 0

    def answer(self, token: str, now: float) -> BudgetReport:
        self.requests += 1
        window = int(now // self.window)
        self.counted[token, window] += 1
        left = self.limits[token] - self.counted[token, window]
        self.beyond += left < 0
        return BudgetReport(self.limits[token], max(0, left), (window + 1) * self.window - now, left < 0)


class Fleet:
    """Workers, runs and a service in simulated time."""

    def __init__(self, url: str, service: Service, *, seed: int) -> None:
        self.random, self.service, self.time = random.Random(seed), service, EPOCH
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.order = itertools.count()
        self.workers: dict[int, int] = {}  # how many more runs each can start
        self.queue: list[int] = []
        self.running: dict[int, tuple[int, str]] = {}  # the worker and the project of each run under way
        self.twice: list[str] = []
        self.delays: dict[str, list[float]] = defaultdict(list)  # from being due to being started, by tenant
        self.ages: dict[str, list[float]] = defaultdict(list)  # of readings, by token
        self.ended = self.lost = self.deaths = 0
        self.next_due: float | None = None
        with connected(url) as database, database.transaction() as connection:
            connection.execute(text(CLOCK))
        self.database = FleetDatabase(f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3Dplayed,pg_catalog", connections=1)
        event.listen(self.database._engine, "begin", lambda connection: connection.exec_driver_sql(f"SET played.now = '{self.time!r}'"))
        ready(self.database)

    def declare(self, declared: Sequence[FleetProject]) -> None:
        """Make these the fleet, due at moments spread over their intervals."""
        named = {project.name: project for project in declared}
        with self.database.transaction() as connection:
            projects.write(connection, named, changes(named, {}))
            for project in declared:
                due = func.to_timestamp(self.time + self.random.uniform(0, project.every))
                connection.execute(tables.projects.update().where(tables.projects.c.name == project.name).values(next_due=due))

    def at(self, seconds: float, action: Callable[[], None]) -> None:
        heapq.heappush(self.events, (self.time + seconds, next(self.order), action))

    def every(self, seconds: float, action: Callable[[], None]) -> None:
        def again() -> None:
            action()
            self.at(seconds, again)

        self.at(seconds, again)

    def work(self, seconds: float) -> None:
        """Let time pass."""
        until = self.time + seconds
        while self.events and self.events[0][0] <= until:
            self.time, _, action = heapq.heappop(self.events)
            action()
        self.time = until

    # -- workers ---------------------------------------------------------------------------------------------------------------------

    def start(self, concurrency: int, *, patience: int = PATIENCE) -> int:
        with self.database.transaction() as connection:
            worker = runs.register(connection, runs.Worker("desk", 1, concurrency, patience, "0"))
        self.workers[worker] = concurrency
        return worker

    def live(self) -> None:
        """Let every worker say that it lives."""
        alive = tables.workers.update().where(tables.workers.c.id.in_(self.workers)).values(seen_at=func.now())
        with self.database.transaction() as connection:
            connection.execute(alive)

    def kill(self, worker: int) -> None:
        """A worker that says nothing any more; nor do its runs."""
        self.deaths += 1
        del self.workers[worker]
        self.running = {run: owned for run, owned in self.running.items() if owned[0] != worker}

    def admit(self) -> None:
        """What a worker does twice a second, without the moments at which nothing can come of it."""
        if self.queue and not any(self.workers.values()):
            return
        if self.next_due is None:
            self.next_due = self._next_due()
        if self.next_due <= self.time:
            with self.database.transaction() as connection:
                admitted = admission.admit(connection)
            self.queue += admitted
            self.next_due = None if admitted else self.time + AGAIN
        self._start()

    def _next_due(self) -> float:
        """When the next project that is not being run is due, and its token may send."""
        with self.database.transaction() as connection:
            return float(connection.execute(text(NEXT_DUE)).scalar() or self.time + 3_600)

    def recover(self) -> None:
        with self.database.transaction() as connection:
            lost = runs.recover(connection, self.queue)
            budgets.forget(connection, lost)
        self.next_due = None
        self.lost += len(lost)

    def _start(self) -> None:
        for worker in self.workers:
            while self.workers[worker] > 0 and self.queue:
                run = self.queue.pop(0)
                with self.database.transaction() as connection:
                    row = connection.execute(
                        select(tables.projects.c.name, func.extract("epoch", tables.projects.c.next_due).label("due"))
                        .join(tables.runs, tables.runs.c.project == tables.projects.c.id)
                        .where(tables.runs.c.id == run)
                    ).one()
                    begun = runs.begin(connection, run, worker)
                if begun is None:
                    continue
                if any(project == row.name for _, project in self.running.values()):
                    self.twice.append(row.name)
                self.delays[begun.project.tenant].append(self.time - float(row.due))
                self.running[run] = (worker, row.name)
                self.workers[worker] -= 1
                steps = self._steps(begun, worker)
                self.at(START_SECONDS, lambda steps=steps, run=run: self._next(run, steps))  # type: ignore[misc]

    # -- runs ------------------------------------------------------------------------------------------------------------------------

    def _next(self, run: int, steps: Iterator[float]) -> None:
        if run not in self.running:  # its worker was killed
            return
        wait = next(steps, None)
        if wait is not None:
            self.at(wait, lambda: self._next(run, steps))
            return
        worker, _ = self.running.pop(run)
        self.ended += 1
        self.workers[worker] += 1
        self.next_due = None

    def _steps(self, begun: runs.BegunRun, worker: int) -> Iterator[float]:
        """A run: each step gives the seconds until the next."""
        token = begun.project.token.name
        with self.database.transaction() as connection:
            runs.own(connection, begun.project_id, begun.project.name, token)
        for number in range(int(begun.project.vars["requests"])):
            ticket = f"{begun.id}.{number}"
            while True:
                with self.database.transaction() as connection:
                    wait = budgets.take(connection, token, "GET", ticket)
                if wait <= 0:
                    break
                yield min(wait, WAIT)
            answer = self.service.answer(token, self.time)
            yield LATENCY
            with self.database.transaction() as connection:
                budgets.report(connection, token, {ticket: answer})
        result = RunResult(commit="c" * 40, reading=self.reading(begun), requests=int(begun.project.vars["requests"]))
        end.write(self.database, begun, worker, result)

    def reading(self, begun: runs.BegunRun) -> Reading:
        """What a run reads."""
        return Reading("c" * 40, managed=1, coverage=1.0)

    def look(self) -> None:
        """Note how old every reading is now."""
        with self.database.transaction() as connection:
            age = func.extract("epoch", func.now() - tables.projects.c.read_at)
            for row in connection.execute(select(tables.projects.c.token, age.label("age"))):
                if row.age is not None:
                    self.ages[row.token].append(float(row.age))


def project(name: str, tenant: str, token: str, *, every: int, requests: int, **words: Any) -> FleetProject:
    where = Repository("https://git.example.com/x.git")
    reference = SecretReference("env", token)
    return FleetProject(
        name, where, "https://api.example.com", reference, tenant=tenant, every=every, vars={"requests": str(requests)}, **words
    )


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]
