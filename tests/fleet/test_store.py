"""Rows on a real PostgreSQL server: who is admitted, who runs, who recovers, and what a token has left when many take."""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from reconciler.errors import StateError
from reconciler.fleet.budget import BudgetReport
from reconciler.fleet.changes import changes
from reconciler.fleet.facts import is_unverified
from reconciler.fleet.model import FleetProject, Mode, Repository, SecretReference
from reconciler.fleet.reports import status_of, status_text
from reconciler.fleet.status import Reading, StatusWord, as_data
from reconciler.fleet.store import FleetDatabase, admission, audit, budgets, projects, runs, schema as tables

pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")
from procrastinate.schema import SchemaManager

from reconciler.fleet.engine.queue import opened
from reconciler.fleet.worker import ready


def project(name: str, **words: Any) -> FleetProject:
    return FleetProject(
        name, Repository("https://git.example.com/x.git"), "https://api.example.com", SecretReference("env", "TOKEN"), **words
    )


def declare(database: FleetDatabase, *declared: FleetProject) -> None:
    with database.transaction() as connection:
        named = {one.name: one for one in declared}
        projects.write(connection, named, changes(named, projects.stored(connection)))


def register(database: FleetDatabase, *, concurrency: int = 3, patience: int = 30) -> int:
    with database.transaction() as connection:
        return runs.register(connection, runs.Worker("desk", 1, concurrency, patience, "0"))


def admit(database: FleetDatabase) -> list[int]:
    with database.transaction() as connection:
        return admission.admit(connection)


def begin(database: FleetDatabase, run: int, worker: int) -> runs.BegunRun | None:
    with database.transaction() as connection:
        return runs.begin(connection, run, worker)


def end(database: FleetDatabase, run: int, worker: int) -> bool:
    with database.transaction() as connection:
        due = {"next_due": func.now() + timedelta(minutes=10)}
        return runs.end(connection, run, worker, ended="done", values={"exit_code": 0}, project=due)


def recover(database: FleetDatabase, *queued: int) -> list[int]:
    with database.transaction() as connection:
        return runs.recover(connection, queued)


def test_tables_are_prepared_once_by_many_and_the_queue_is_beside_them(database: FleetDatabase) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ready, [database] * 4))
    assert database.is_prepared()
    with database.transaction() as connection:
        applied = set(connection.execute(tables.engine.select()).scalars())
    assert applied == {path.name for path in Path(SchemaManager.get_migrations_path()).glob("*.sql")}


def test_admission_takes_turns_among_tenants_and_tokens_and_keeps_the_queue_short(database: FleetDatabase) -> None:
    noisy = [project(f"noisy-{number}", tenant="noisy") for number in range(40)]
    other = [
        FleetProject(f"rare-{number}", one.source, one.base_url, SecretReference("env", "RARE"), tenant="noisy")
        for number, one in enumerate(noisy[:2])
    ]
    declare(database, *noisy, *other, project("quiet", tenant="quiet"))
    with database.transaction() as connection:  # the noisy ones have waited for longer
        connection.execute(update(tables.projects).where(tables.projects.c.name == "quiet").values(next_due=func.now()))
    worker = register(database, concurrency=5)
    assert admit(database) != []
    with database.transaction() as connection:
        assert len([row.project.name for row in projects.read(connection) if row.running is not None or row.id]) == 43
    with database.transaction() as connection:
        query = tables.projects.select().where(tables.projects.c.id.in_(tables.runs.select().with_only_columns(tables.runs.c.project)))
        first = [row.name for row in connection.execute(query)]
    assert len(first) == 6  # as many as can be run at once, and one that waits
    assert "quiet" in first
    assert Counter(name.partition("-")[0] for name in first) == {"noisy": 3, "rare": 2, "quiet": 1}
    assert admit(database) == []  # nothing is free
    assert all(begin(database, run, worker) is not None for run in range(1, 7))


def test_a_project_is_run_by_one_worker_once_whatever_the_queue_repeats(database: FleetDatabase) -> None:
    declare(database, project("a"))
    first, second = register(database), register(database)
    (run,) = admit(database)
    with ThreadPoolExecutor(8) as pool:
        begun = [one for one in pool.map(lambda worker: begin(database, run, worker), [first, second] * 8) if one is not None]
    assert len(begun) == 1
    assert admit(database) == []
    assert not end(database, run, next(worker for worker in (first, second) if end(database, run, worker)))
    assert begin(database, run, second) is None
    assert admit(database) == []  # it is due in ten minutes


def numbers(database: FleetDatabase, name: str) -> list[int]:
    with database.transaction() as connection:
        query = select(tables.runs.c.number).join(tables.projects, tables.projects.c.id == tables.runs.c.project)
        return list(connection.execute(query.where(tables.projects.c.name == name).order_by(tables.runs.c.id)).scalars())


def test_each_project_counts_its_own_runs_however_many_workers_admit_them(database: FleetDatabase) -> None:
    declare(database, *(project(name, every=1) for name in "abc"))
    worker = register(database, concurrency=20)
    for _ in range(6):
        with ThreadPoolExecutor(8) as pool:
            admitted = [run for runs in pool.map(lambda _: admit(database), range(8)) for run in runs]
        for run in admitted:
            begun = begin(database, run, worker)
            assert begun is not None
            assert end(database, run, worker)
        with database.transaction() as connection:
            connection.execute(update(tables.projects).values(next_due=func.now()))
    assert [numbers(database, name) for name in "abc"] == [list(range(1, 7))] * 3


def test_two_runs_that_are_written_at_once_never_get_one_number(database: FleetDatabase) -> None:
    """Whatever admits them: `ended_at` keeps the index over runs in progress from deciding it first."""
    declare(database, project("a"))

    def write(_: int) -> bool:
        try:
            with database.transaction() as connection:
                connection.execute(tables.runs.insert().values(project=1, ended_at=func.now()))
        except StateError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        written = list(pool.map(write, range(40)))
    assert sorted(numbers(database, "a")) == list(range(1, sum(written) + 1))  # ids are given before numbers


def test_the_number_after_the_last_one_is_the_next_one_although_old_runs_are_deleted(database: FleetDatabase) -> None:
    declare(database, project("a"))
    with database.transaction() as connection:
        for _ in range(3):
            old = func.now() - func.make_interval(0, 0, 0, 40)
            connection.execute(tables.runs.insert().values(project=1, ended_at=old))
        runs.tidy(connection)
        connection.execute(tables.runs.insert().values(project=1))
    assert numbers(database, "a") == [3, 4]


def test_a_run_whose_worker_is_silent_is_recovered_and_its_late_end_says_nothing(database: FleetDatabase) -> None:
    declare(database, project("a"))
    worker = register(database)
    (run,) = admit(database)
    begin(database, run, worker)
    with database.transaction() as connection:
        audit.write(connection, audit.AuditRecord("the fleet", "begin-apply", "a", "default", {"run": run, "digest": "ab"}))
    assert recover(database) == []
    silent = {"seen_at": func.now() - timedelta(seconds=31)}
    with database.transaction() as connection:
        connection.execute(update(tables.workers).values(silent))
    with database.transaction() as connection:
        assert projects.read(connection)[0].recovering, "it says so although no worker is there that could recover it"
    register(database)
    with ThreadPoolExecutor(4) as pool:
        assert sorted(run for lost in pool.map(lambda _: recover(database), range(4)) for run in lost) == [run]
    with database.transaction() as connection:
        (row,) = projects.read(connection)
        assert row.recovering
        assert runs.alive(connection, worker) == set()
    assert not end(database, run, worker)
    with database.transaction() as connection:
        begun, ended = audit.read(connection)
    assert (ended.action, ended.project, ended.details) == ("apply", begun.project, {"run": run, "digest": "ab", "ended": "lost"})
    assert len(admit(database)) == 1  # at once the first time
    with database.transaction() as connection:
        connection.execute(update(tables.runs).values(admitted_at=func.now() - timedelta(hours=1)))
    assert len(recover(database)) == 1
    assert admit(database) == []  # and later if it repeats


def test_a_clock_of_the_database_that_is_set_back_delays_nothing(database: FleetDatabase) -> None:
    declare(database, project("a"), project("b"))
    dead = register(database)
    first, second = admit(database)
    assert begin(database, first, dead)
    assert begin(database, second, dead)
    assert end(database, second, dead)
    with database.transaction() as connection:
        runs.own(connection, 2, "scope", "token")
        budgets.take(connection, "token", "GET", f"{second}.1")
        budgets.report(connection, "token", {f"{second}.1": BudgetReport(100, 0, 600)})
        day = timedelta(days=1)  # all these moments were written before it was set back by a day
        connection.execute(update(tables.workers).values(seen_at=func.now() + day))
        connection.execute(update(tables.projects).values(next_due=tables.projects.c.next_due + day))
        moment = connection.execute(select(func.extract("epoch", func.now() + day))).scalar_one()
        left = {"limits": {"100": [0, float(moment)]}, "methods": {"GET": 100}, "way": {}, "unlimited": []}
        connection.execute(update(tables.budgets).values(left=left, held_until=func.now() + day))
    register(database)
    assert (recover(database), len(admit(database))) == ([first], 2)
    with database.transaction() as connection:
        assert budgets.take(connection, "token", "GET", "9.1") == 0


def test_a_project_whose_times_are_in_the_future_is_unknown_and_due(database: FleetDatabase) -> None:
    declare(database, project("a"))
    later = func.now() + timedelta(days=400)
    with database.transaction() as connection:
        connection.execute(update(tables.projects).values(next_due=later, read_at=later, reading=as_data(Reading("c0ffee"))))
        (row,) = projects.read(connection)
    assert status_of(row).word is StatusWord.UNKNOWN
    assert status_of(row).causes[0].startswith("the last reading is 400 d in the future")
    register(database)
    assert len(admit(database)) == 1


def test_what_was_applied_is_verified_by_the_next_run(database: FleetDatabase) -> None:
    declare(database, project("a", mode=Mode.APPLY))
    values = {"reading": as_data(Reading("c0ffee", ahead=1)), "read_at": func.now(), "applied": "c0ffee"}
    for waits, unverified in ((None, True), ("its windows are closed", False)):
        with database.transaction() as connection:
            connection.execute(update(tables.projects).values(**values, waits=waits))
            rows = projects.read(connection)
        assert is_unverified(rows[0]) is unverified
        assert ("it was applied, and the next run verifies it" in status_text(rows, 1, width=200)) is unverified
    assert "Nothing is run until there is one: reconciler fleet worker." in status_text(rows, 0, width=200)


def test_pauses_wishes_and_orphans_decide_what_is_due(database: FleetDatabase) -> None:
    declare(database, project("a"), project("b"), project("c"))
    register(database, concurrency=1)
    with database.transaction() as connection:
        projects.pause(connection, ["a"], until=None, by="ada", reason="a migration")
        projects.make_due_now(connection, ["c"])
    declare(database, project("a"), project("c"))
    (run, *_), taken = admit(database), []
    with database.transaction() as connection:
        taken = [row.project.name for row in projects.read(connection) if not row.orphaned]
    assert taken == ["a", "c"]
    begun = begin(database, run, 1)
    assert begun is not None
    assert begun.project.name == "c"
    assert admit(database) == []
    with database.transaction() as connection:
        projects.resume(connection, ["a"])
    assert len(admit(database)) == 1


def test_eight_at_once_never_take_more_than_a_token_has_left(database: FleetDatabase) -> None:
    def take(ticket: int) -> float:
        with database.transaction() as connection:
            return budgets.take(connection, "token", "GET", f"1.{ticket}")

    def told(ticket: int, left: int) -> None:
        with database.transaction() as connection:
            budgets.report(connection, "token", {f"1.{ticket}": BudgetReport(100, left, 60.0)})

    with ThreadPoolExecutor(8) as pool:
        asked = list(pool.map(take, range(8)))
        assert asked.count(0.0) == 1  # nothing is known yet
        told(asked.index(0.0), 20)
        granted = [number for number, wait in zip(range(100, 140), pool.map(take, range(100, 140)), strict=True) if wait == 0.0]
    assert len(granted) == 20
    assert take(200) > 50
    with database.transaction() as connection:
        budgets.forget(connection, [1])
    assert take(201) > 50  # what was sent is sent


def test_the_queue_loses_nothing_of_a_worker_that_died_and_forgets_what_ended(database: FleetDatabase) -> None:
    async def go() -> None:
        done: list[int] = []

        async def work(run: int) -> None:
            done.append(run)
            await asyncio.Event().wait()

        async with opened(database.url, patience=1) as queue:
            await queue.admit([7, 8])
            assert await queue.sweep() == [7, 8]
            await queue.finish([8])
            running = asyncio.create_task(queue.run(work, concurrency=2))
            while not done:
                await asyncio.sleep(0.02)
            assert done == [7]
            with database.transaction() as connection:
                connection.exec_driver_sql("UPDATE reconciler_fleet.procrastinate_workers SET last_heartbeat = now() - interval '1 minute'")
            assert await queue.sweep() == []
            running.cancel()
            for task in asyncio.all_tasks() - {asyncio.current_task(), running}:
                if task.get_name().startswith("process job"):
                    task.cancel()
            await asyncio.gather(running, return_exceptions=True)

    asyncio.run(go())
