"""Roles of PostgreSQL: a run sees the rows of its own state, a worker approves nothing, and a dashboard changes no project."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege
from sqlalchemy import text
from sqlalchemy.engine import make_url

from reconciler.fleet import acts, approvals as rules
from reconciler.fleet.model import ChangeClass, Mode
from reconciler.fleet.people import ALL, Person, Role
from reconciler.fleet.store import FleetDatabase, approvals, audit, connected, projects, runs
from reconciler.fleet.store.access import roles, rows
from reconciler.fleet.worker import ready
from reconciler.state.database import connect
from tests.fleet.running import Running, running
from tests.fleet.test_store import admit, begin, declare, project, register

F = "reconciler_fleet"
COLUMNS = "(state, address, kind, id, origin, protected)"


@pytest.fixture
def urls(database: FleetDatabase) -> Iterator[dict[str, str]]:
    """The URLs of the roles, on a server that has the states of two tenants."""
    connect(database.address.url, create=True).close()
    with database.transaction() as connection:
        for number, (name, environment) in enumerate([("blue-docs", ""), ("green", ""), ("blue-docs", "prod"), ("blu", "")], 1):
            connection.execute(
                text("INSERT INTO reconciler.states VALUES (:id, :name, :environment, 'https://api.example.com', :lineage, 1, NULL, 'k')"),
                {"id": number, "name": name, "environment": environment, "lineage": f"l{number}"},
            )
            connection.execute(
                text(f"INSERT INTO reconciler.bindings {COLUMNS} VALUES (:id, 'a', 'space', 'x', 'created', false)"),
                {"id": number},
            )
        made = roles.create(connection, database.address.url)
    declare(database, project("a", project="blue-*", mode=Mode.APPLY, tenant="blue"), project("g", project="green", tenant="green"))
    yield made
    with database.transaction() as connection:
        begins = {"begin": rows.prefix(connection)}
        for name in connection.execute(text("SELECT rolname FROM pg_roles WHERE starts_with(rolname, :begin)"), begins).scalars().all():
            connection.execute(text(f'DROP OWNED BY "{name}"'))
            connection.execute(text(f'DROP ROLE "{name}"'))


def run_url(url: str, name: str) -> str:
    """What a worker gives a run of a project."""
    with connected(url) as worker, worker.transaction() as connection:
        (row,) = projects.read(connection, [name])
        run, is_own = rows.opened(connection, url, row.id, row.project)
    assert is_own
    return run


def asked(url: str, statement: str) -> list[Any]:
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        cursor = connection.execute(statement)  # type: ignore[arg-type]
        return cursor.fetchall() if cursor.description else [cursor.rowcount]


def test_a_run_sees_and_writes_the_rows_of_its_own_state_only(database: FleetDatabase, urls: dict[str, str]) -> None:
    (owner,) = asked(database.address.url, "SELECT current_user")[0]
    url = run_url(urls["worker"], "a")
    assert (asked(url, "SELECT id FROM reconciler.states"), asked(url, "SELECT state FROM reconciler.bindings")) == ([(1,)], [(1,)])
    assert asked(url, "UPDATE reconciler.bindings SET id = 'y'") == [1]
    assert asked(url, "DELETE FROM reconciler.bindings WHERE state = 2") == [0]
    denied = [
        f"INSERT INTO reconciler.bindings {COLUMNS} VALUES (2, 'b', 'space', 'z', 'created', false)",
        "UPDATE reconciler.bindings SET state = 2", "UPDATE reconciler.states SET project = 'green'",
        "UPDATE reconciler.states SET environment = 'prod'", "DELETE FROM reconciler.states", "TRUNCATE reconciler.bindings",
        "ALTER TABLE reconciler.states DISABLE ROW LEVEL SECURITY", "DROP POLICY own_state ON reconciler.states",
        "CREATE TABLE reconciler.mine (a int)", f"SELECT * FROM {F}.projects", f"SELECT * FROM {F}.approvals", f"SELECT * FROM {F}.audit",
        f"SELECT * FROM {F}.sessions", f"UPDATE {F}.run_roles SET allowed = '*'", f"INSERT INTO {F}.approvals (person) VALUES ('eve')",
        f"SELECT {F}.open_run(2, 'SCRAM-SHA-256$x', '*', '', 'https://api.example.com')", f'SET SESSION AUTHORIZATION "{owner}"',
    ]  # fmt: skip
    for statement in denied:
        with pytest.raises(InsufficientPrivilege):
            asked(url, statement)
    for role in ("worker", "dashboard", "run_2"):
        name = url.partition("//")[2].partition(":")[0].replace("run_1", role)
        with pytest.raises(psycopg.Error):
            asked(url, f'SET ROLE "{name}"')


def test_what_a_run_may_use_follows_the_fleet_file_and_its_password_is_of_one_run(database: FleetDatabase, urls: dict[str, str]) -> None:
    first = run_url(urls["worker"], "a")
    declare(database, project("a", project="green", tenant="blue"))
    second = run_url(urls["worker"], "a")
    assert asked(second, "SELECT id FROM reconciler.states") == [(2,)]
    declare(database, project("a", project="blue-docs", environment="prod", tenant="blue"))
    assert asked(run_url(urls["worker"], "a"), "SELECT id FROM reconciler.states") == [(3,)]
    declare(database, replace(project("a", project="*", tenant="blue"), base_url="https://other.example"))
    assert asked(run_url(urls["worker"], "a"), "SELECT id FROM reconciler.states") == []
    declare(database, project("a", project="", tenant="blue"))
    assert asked(run_url(urls["worker"], "a"), "SELECT id FROM reconciler.states") == []
    with database.transaction() as connection:
        stored = connection.execute(text("SELECT rolpassword FROM pg_authid WHERE rolname LIKE '%run_1'")).scalars().all()
    assert all(verifier.startswith("SCRAM-SHA-256$") for verifier in stored)
    assert len({first, second}) == 2


def test_tables_that_a_newer_version_adds_are_closed_until_they_are_protected(database: FleetDatabase, urls: dict[str, str]) -> None:
    url = run_url(urls["worker"], "a")
    with database.transaction() as connection:
        connection.execute(text("CREATE TABLE reconciler.added (state integer, value text)"))
        connection.execute(text("INSERT INTO reconciler.added VALUES (1, 'mine'), (2, 'other')"))
    with pytest.raises(InsufficientPrivilege):
        asked(url, "SELECT value FROM reconciler.added")
    assert asked(run_url(urls["worker"], "a"), "SELECT value FROM reconciler.added") == [("mine",)]


def test_a_role_that_reads_states_reads_them_as_before(database: FleetDatabase, urls: dict[str, str]) -> None:
    with database.transaction() as connection:
        name = f"{rows.prefix(connection)}reader"
        roles.set_password(connection, name, "reader-of-states")
        for statement in ("USAGE ON SCHEMA reconciler", "SELECT ON ALL TABLES IN SCHEMA reconciler"):
            connection.execute(text(f'GRANT {statement} TO "{name}"'))
        url = make_url(database.address.url).set(username=name, password="reader-of-states")
    plain = url.render_as_string(hide_password=False)
    assert asked(plain, "SELECT count(*) FROM reconciler.states") == [(4,)]
    assert asked(plain, "SELECT count(*) FROM reconciler.bindings") == [(4,)]


def test_a_worker_works_and_approves_nothing(database: FleetDatabase, urls: dict[str, str]) -> None:
    with connected(urls["worker"]) as worker:
        ready(worker)  # as each process does at its start: nothing to migrate
        me = register(worker)
        (run, *_) = admit(worker)
        assert begin(worker, run, me) is not None
        with worker.transaction() as connection:
            audit.write(connection, audit.AuditRecord(audit.SELF, "begin-apply", "a"))
            approvals.decide(connection, 1, rules.Decision("", "d"))
            runs.tidy(connection)
    denied = [
        f"INSERT INTO {F}.approvals (project, digest, classes, person, approves) VALUES (1, 'd', '[]', 'grace', true)",
        f"INSERT INTO {F}.audit (person, action) VALUES ('grace', 'approve')", f"UPDATE {F}.approvals SET person = ''",
        f"UPDATE {F}.people SET values = '[]'", f"SELECT * FROM {F}.sessions", f"INSERT INTO {F}.chain VALUES (9, 'audit', 9, 'x')",
        f"UPDATE {F}.revisions SET text = ''", "SELECT * FROM reconciler.states", "CREATE ROLE eve SUPERUSER",
    ]  # fmt: skip
    for statement in denied:
        with pytest.raises(InsufficientPrivilege):
            asked(urls["worker"], statement)


def test_a_dashboard_decides_and_changes_no_project(database: FleetDatabase, urls: dict[str, str]) -> None:
    root = Person("root", {ALL: Role.ADMIN})
    with database.transaction() as connection:
        plan = approvals.StoredPlan("c0ffee", {"changes": []}, "d-c0ffee", frozenset({ChangeClass.CREATE}))
        approvals.keep_plan(connection, projects.read(connection, ["a"])[0].id, plan)
    with connected(urls["dashboard"]) as dashboard:
        ready(dashboard)
        actions: list[Callable[..., Any]] = [
            lambda connection: acts.approve(connection, root, "a", digest="d-c0ffee"),
            lambda connection: acts.sync(connection, root, ["a"]),
            lambda connection: acts.pause(connection, root, ["a"], until=projects.clock(connection) + timedelta(hours=1), reason="x"),
            lambda connection: acts.resume(connection, root, ["a"]),
        ]
        for action in actions:
            with dashboard.transaction() as connection:
                action(connection)
    denied = [
        f"UPDATE {F}.projects SET spec = spec", f"UPDATE {F}.projects SET token = 'env:OTHER'", f"UPDATE {F}.projects SET tenant = 'x'",
        f"INSERT INTO {F}.revisions (file, text, soak, applied_by) VALUES ('f', 't', 0, 'x')", f"UPDATE {F}.plans SET digest = 'x'",
        f"INSERT INTO {F}.audit (person, action) VALUES ('the fleet', 'apply')", f"UPDATE {F}.approvals SET person = 'x'",
        f"INSERT INTO {F}.approvals (project, digest, classes, person, approves) VALUES (1, 'd', '[]', '', true)",
        f"DELETE FROM {F}.audit", "SELECT * FROM reconciler.states", f"SELECT {F}.open_run(1, 'SCRAM-SHA-256$x', '*', '', '')",
    ]  # fmt: skip
    for statement in denied:
        with pytest.raises(InsufficientPrivilege):
            asked(urls["dashboard"], statement)


def test_a_user_without_the_right_to_create_roles_is_refused_with_the_statement_to_run(
    database: FleetDatabase, urls: dict[str, str]
) -> None:
    from reconciler.errors import Refused

    with (
        connected(urls["worker"]) as worker,
        worker.transaction() as connection,
        pytest.raises(Refused, match="may not create roles") as raised,
    ):
        roles.create(connection, urls["worker"])
    assert "CREATEROLE" in (raised.value.hint or "")


@pytest.fixture
def fleet(tmp_path: Path, fleet_url: str) -> Iterator[Running]:
    with running(tmp_path, fleet_url, ["a", "b"]) as made:
        yield made


@pytest.mark.proof
@pytest.mark.timeout(300)
def test_a_fleet_with_roles_applies_and_its_runs_have_no_password_of_the_worker(fleet: Running) -> None:
    fleet.write("a", "b")
    fleet.applied("a", "b")
    fleet.declare(*({"name": name, "source": {"path": name}, "mode": "apply", "tenant": name} for name in ("a", "b")))
    fleet.call("fleet", "roles", "roles")
    assert (fleet.folder / "roles" / "worker.url").stat().st_mode & 0o777 == 0o600
    fleet.environ["RECONCILER_DATABASE"] = (fleet.folder / "roles" / "worker.url").read_text().strip()
    fleet.worker()
    fleet.until(lambda: all(one["reading"] is not None for one in fleet.status().values()))
    fleet.write("a", "b", title="two")
    fleet.environ["RECONCILER_DATABASE"] = fleet.url
    fleet.call("fleet", "sync", "a", "b", "--wait", code=None)
    fleet.until(lambda: {one["status"] for one in fleet.status().values()} == {"Synced"})
    assert all(f"{name} two" in fleet.titles(name).values() for name in "ab")
    assert {row[0] for row in fleet.rows("SELECT ended FROM reconciler_fleet.runs WHERE ended_at IS NOT NULL")} == {"done"}
    fleet.call("fleet", "audit", "--verify")
