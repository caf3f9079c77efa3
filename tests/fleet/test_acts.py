"""What people decide, on a real PostgreSQL server: who may, what counts, what is written, and what the audit log says of it.

Roles of PostgreSQL: a run sees the rows of its own state, a worker approves nothing, and a dashboard changes no project.

The audit log and the decisions are a chain: whoever changes a line as the owner of the tables is noticed.

The audit log as programs read it: whoever continues after the last line misses none.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner
from psycopg.errors import InsufficientPrivilege
from sqlalchemy import func, text, update
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from reconciler.assembled import main
from reconciler.errors import ReconcilerError, StateError
from reconciler.fleet import acts, approvals as rules, status
from reconciler.fleet.facts import facts_of
from reconciler.fleet.model import ChangeClass, Mode
from reconciler.fleet.people import ALL, Person, Role
from reconciler.fleet.rehearsals import RehearsalResult
from reconciler.fleet.reports import needs_text
from reconciler.fleet.runs import end
from reconciler.fleet.runs.end import RunResult
from reconciler.fleet.store import (
    FleetDatabase,
    approvals,
    audit,
    chain,
    connected,
    database as databases,
    projects,
    quarantines,
    rehearsals,
    runs,
    schema,
    schema as tables,
)
from reconciler.fleet.store.access import roles, rows
from reconciler.fleet.worker import ready
from reconciler.state.database import connect
from tests import processes
from tests.cli.test_end_to_end import at_a_terminal
from tests.contains import assert_contains
from tests.fleet.running import Running, running
from tests.fleet.test_store import admit, begin, declare, project, register
from tests.proofs import costly

ADA, GRACE, LINUS = (Person(f"{name}@acme.example", {"docs": Role.APPROVER}) for name in ("ada", "grace", "linus"))
ADMIN = Person("root@desk", {ALL: Role.ADMIN})
PLAN = approvals.StoredPlan(
    "c0ffee", {"changes": []}, "d1", frozenset({ChangeClass.TITLES, ChangeClass.CREATE, ChangeClass.DELETE}), ("Ada@ACME.example",), "- x"
)


def known(database: FleetDatabase, *addresses: str) -> None:
    """Make a fleet file take effect that says that these addresses are people."""
    settings = {"people": [{"subject": None, "addresses": [address]} for address in addresses]}
    with database.transaction() as connection:
        projects.revise(connection, "fleet.yaml", "", 0, "ada", settings)


def keep(database: FleetDatabase, plan: approvals.StoredPlan, *, waits: str | None = "the plan needs approvals: delete (2 people)") -> int:
    with database.transaction() as connection:
        (row,) = projects.read(connection, ["a"])
        approvals.keep_plan(connection, row.id, plan)
        later = {"waits": waits, "next_due": func.now() + timedelta(hours=1)}
        connection.execute(update(tables.projects).values(later))
        return row.id


def act(database: FleetDatabase, action: Callable[..., Any], *words: Any, **named: Any) -> Any:
    with database.transaction() as connection:
        return action(connection, *words, **named)


def refused(database: FleetDatabase, action: Callable[..., Any], *words: Any, **named: Any) -> str:
    with pytest.raises(ReconcilerError) as raised:
        act(database, action, *words, **named)
    return raised.value.id


def row(database: FleetDatabase) -> projects.ProjectRow:
    with database.transaction() as connection:
        return projects.read(connection, ["a"])[0]


def test_a_plan_is_approved_by_two_who_did_not_write_it_and_is_due_then(database: FleetDatabase) -> None:
    declare(database, project("a", mode=Mode.APPLY, tenant="docs"))
    known(database, "ada@acme.example")
    keep(database, PLAN)
    assert act(database, acts.approve, ADA, "a", digest="d1").changes == {ChangeClass.CREATE}, "an author counts where one is needed"
    assert refused(database, acts.approve, ADA, "a", digest="d1", changes=[ChangeClass.DELETE]) == "RC-fleet-approval"
    assert (act(database, acts.approve, GRACE, "a", digest="d1").verdict.allows, row(database).waits) == (
        False,
        "the plan needs approvals: delete (1 more person, approved by grace@acme.example)",
    )
    act(database, acts.approve, GRACE, "a", digest="d1")  # again: it counts once
    assert row(database).next_due > row(database).now
    assert refused(database, acts.approve, LINUS, "a", digest="d0") == "RC-fleet-plan-moved"
    assert act(database, acts.approve, LINUS, "a", digest="d1").verdict.allows
    assert (row(database).waits, row(database).next_due <= row(database).now) == (acts.APPROVED, True)
    rejected = act(database, acts.reject, GRACE, "a", digest="d1", reason="not today")
    assert rejected.verdict.sentence == "the plan was rejected by grace@acme.example: not today"
    assert act(database, acts.approve, GRACE, "a", digest="d1").verdict.allows, "who rejected it may approve it after all"
    keep(database, approvals.StoredPlan("beef", PLAN.document, "d2", PLAN.changes, PLAN.authors))
    assert refused(database, acts.approve, LINUS, "a", digest="d1") == "RC-fleet-plan-moved"
    assert act(database, acts.plan, GRACE, "a").verdict.lacking == {ChangeClass.CREATE: 1, ChangeClass.DELETE: 2}
    keep(database, PLAN)  # the digest is back, and so are the approvals of it
    assert act(database, acts.plan, GRACE, "a").verdict.allows
    with database.transaction() as connection:
        lines = [(line.action, line.person.partition("@")[0], line.tenant) for line in audit.read(connection)]
    assert lines == [(action, name, "docs") for action, name in [
        ("approve", "ada"), ("approve", "grace"), ("approve", "grace"), ("approve", "linus"), ("reject", "grace"), ("approve", "grace"),
    ]]  # fmt: skip


def test_a_person_acts_in_their_tenant_with_their_role_and_nothing_is_written_otherwise(database: FleetDatabase) -> None:
    declare(database, project("a", mode=Mode.APPLY, tenant="docs"))
    keep(database, PLAN)
    stranger, viewer = Person("eve", {"other": Role.ADMIN}), Person("vera", {"docs": Role.VIEWER})
    until = datetime.now(UTC) + timedelta(hours=2)
    everything: list[tuple[Callable[..., Any], Role, Any, dict[str, Any]]] = [
        (acts.sync, Role.APPROVER, ["a"], {}), (acts.pause, Role.ADMIN, ["a"], {"until": until, "reason": "x"}),
        (acts.resume, Role.ADMIN, ["a"], {}), (acts.approve, Role.APPROVER, "a", {"digest": "d1"}),
        (acts.reject, Role.APPROVER, "a", {"digest": "d1", "reason": "x"}), (acts.plan, Role.VIEWER, "a", {}),
    ]  # fmt: skip
    for action, role, names, named in everything:
        assert refused(database, action, stranger, names, **named) == "RC-no-fleet-project", "what is not seen does not exist"
        for person in (viewer, GRACE):
            if not person.may(role, "docs"):
                assert refused(database, action, person, names, **named) == "RC-fleet-role"
    with database.transaction() as connection:
        assert list(audit.read(connection)) == []
    for length in (-1, 31 * 24):
        wrong = datetime.now(UTC) + timedelta(hours=length)
        assert refused(database, acts.pause, ADMIN, ["a"], until=wrong, reason="x") == "RC-option-value"
    assert refused(database, acts.pause, ADMIN, ["a"], until=until, reason=" ") == "RC-option-value"


def test_a_project_that_nobody_runs_is_not_promised_a_run(database: FleetDatabase) -> None:
    declare(database, project("a", mode=Mode.APPLY, tenant="docs"))
    act(database, acts.pause, ADMIN, ["a"], until=row(database).now + timedelta(hours=1), reason="the migration")
    with pytest.raises(ReconcilerError, match=r"a is paused until .* by root@desk, so it is not run: the migration") as paused:
        act(database, acts.sync, ADMIN, ["a"])
    assert (paused.value.exit_code, paused.value.hint) == (4, "End the pause: reconciler fleet resume a")
    act(database, acts.resume, ADMIN, ["a"])
    act(database, acts.sync, ADMIN, ["a"])
    declare(database)
    with pytest.raises(ReconcilerError, match="a is orphaned, so it is not run"):
        act(database, acts.sync, ADMIN, ["a"])


def test_a_plan_of_which_everything_is_blocked_needs_nobody_and_says_what_to_do(database: FleetDatabase) -> None:
    declare(database, project("a", mode=Mode.APPLY, tenant="docs"))
    entry = {"address": "acme/space/api", "reason": "it is protected", "remedy": "write protect: false in docs.yaml:4", "cause": None}
    document = {"changes": [], "blocked": [entry], "exposures": [], "unknown": [], "inDoubt": []}
    keep(database, replace(PLAN, document=document, changes=frozenset()), waits=None)
    drift = {"resources": [], "unknown": [], "summary": {"managed": 1, "unmanaged": 0}}
    reading = status.of_documents("c0ffee", document, drift)
    assert reading.blocked == ("blocked: acme/space/api: it is protected: write protect: false in docs.yaml:4",)
    assert status.of_data(json.loads(json.dumps(status.as_data(reading)))) == reading
    with database.transaction() as connection:
        connection.execute(update(tables.projects).values(reading=status.as_data(reading), read_at=func.now()))
    state = status.status(facts_of(row(database)), row(database).now)
    assert (state.word, state.causes) == (status.StatusWord.OUT_OF_SYNC, ("the commit is ahead by 1 resource", *reading.blocked))
    with pytest.raises(ReconcilerError, match="the plan of a is not applied: what it changes is blocked"):
        act(database, acts.approve, GRACE, "a", digest="d1")
    judged, held = act(database, acts.plan, GRACE, "a"), act(database, acts.why_not_applied, GRACE, "a")
    way = "See what is blocked, and the way past it: reconciler fleet status a"
    assert needs_text(judged, held) == f"The plan of commit c0ffee is not applied: what it changes is blocked.\n{way}\n"


def test_resume_lifts_the_pause_and_the_quarantine_and_names_both(database: FleetDatabase) -> None:
    declare(database, project("a", mode=Mode.APPLY, tenant="docs"))
    id = keep(database, PLAN)
    undone = quarantines.Quarantine("c0ffee", ("docs:x", "docs:y"), "run-1")
    with database.transaction() as connection:
        quarantines.quarantine(connection, id, undone)
    act(database, acts.pause, ADMIN, ["a"], until=datetime.now(UTC) + timedelta(hours=2), reason="the migration")
    assert row(database).is_paused
    assert act(database, acts.resume, ADMIN, ["a"]) == [("a", True, ("run-1",))]
    with database.transaction() as connection:
        quarantines.quarantine(connection, id, undone)  # the run of undo is still the last one: what was lifted stays lifted
        assert quarantines.opened(connection, [id]) == {}
        assert [line.details for line in audit.read(connection) if line.action == "resume"] == [{"paused": True, "quarantined": ["run-1"]}]
    assert act(database, acts.resume, ADMIN, ["a"]) == [("a", False, ())]


def test_on_a_terminal_the_plan_is_shown_and_a_person_is_asked(database: FleetDatabase, tmp_path: Path) -> None:
    declare(database, project("a", mode=Mode.APPLY, tenant="docs"))
    known(database, "ada@acme.example")
    keep(database, replace(PLAN, text="- space docs:old\n"))
    here: Any = SimpleNamespace(root=tmp_path)
    words = ("fleet", "approve", "a", "--class", "create", "--database", database.url)
    code, shown = at_a_terminal(here, b"n\n", *words)
    assert (code, "Nothing was approved." in shown) == (1, True)
    code, shown = at_a_terminal(here, b"y\n", *words)
    assert code == 0, shown
    lines = shown.replace("\r", "")
    assert_contains(
        lines,
        "- space docs:old\n",
        "  delete    two people, not the authors\n",
        "The plan needs approvals: create (1 person), delete (2 people).\n",
    )
    assert lines.endswith("Approved create of a.\nThe plan needs approvals: delete (2 people).\n")


@pytest.mark.parametrize(
    ("how", "ended"),
    [({"applied": True}, "applied"), ({"stopped": True, "code": 4}, "stopped"), ({"error": "503", "code": 1}, "failed")],
)
def test_an_apply_that_failed_in_the_middle_is_a_line_of_the_audit_log_too(
    database: FleetDatabase, how: dict[str, Any], ended: str
) -> None:
    declare(database, project("acme", mode=Mode.APPLY))
    worker = register(database)
    (run,) = admit(database)
    begun = begin(database, run, worker)
    assert begun is not None
    result = RunResult(commit="c0ffee", plan=approvals.StoredPlan("c0ffee", {}, "ab", frozenset({ChangeClass.DELETE})), began=True, **how)
    end.write(database, begun, worker, result)
    with database.transaction() as connection:
        (line,) = audit.read(connection)
    assert (line.action, line.person, line.project) == ("apply", "the fleet", "acme")
    about = {"commit": "c0ffee", "digest": "ab", "classes": ["delete"], "run": run, "number": 1}
    assert line.details == about | {"ended": ended, "exitCode": how.get("code", 0)}


@pytest.mark.parametrize("began", [True, False])
def test_a_run_that_does_not_know_whether_its_begin_was_stored_ends_as_the_log_says(database: FleetDatabase, began: bool) -> None:
    declare(database, project("acme", mode=Mode.APPLY))
    worker = register(database)
    (run,) = admit(database)
    begun = begin(database, run, worker)
    assert begun is not None
    result = RunResult(commit="c0ffee", plan=approvals.StoredPlan("c0ffee", {}, "ab"), error="the connection was lost", code=1)
    if began:
        with database.transaction() as connection:
            audit.write(connection, end.line(begun, "begin-apply", result))
    end.write(database, begun, worker, result)
    with database.transaction() as connection:
        assert [line.action for line in audit.read(connection)] == (["begin-apply", "apply"] if began else [])


F = "reconciler_fleet"
COLUMNS = "(state, address, kind, id, origin, protected)"


@pytest.fixture
def urls(database: FleetDatabase) -> Iterator[dict[str, str]]:
    """The URLs of the roles, on a server that has the states of two tenants."""
    connect(database.url, create=True).close()
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
        made = roles.create(connection, database.url)
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
    (owner,) = asked(database.url, "SELECT current_user")[0]
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
        url = make_url(database.url).set(username=name, password="reader-of-states")
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
            rehearsals.ask(connection, 1, "d", "grace")
            rehearsals.take(connection, 1, "d", run)
            rehearsals.end(connection, 1, run, RehearsalResult("d", "why"))
            rehearsals.give_up(connection, 1, "d")
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
            lambda connection: acts.rehearse(connection, root, "a", digest="d-c0ffee"),
            lambda connection: acts.rehearse(connection, root, "a", digest="d-c0ffee"),
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
        f"UPDATE {F}.rehearsals SET digest = 'x', ended_at = now()", f"DELETE FROM {F}.rehearsals",
        f"INSERT INTO {F}.rehearsals (project, plan, asked_by, digest, ended_at) VALUES (1, 'p', 'eve', 'x', now())",
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


S = schema.SCHEMA


def filled(database: FleetDatabase) -> None:
    declare(database, project("a"))
    with database.transaction() as connection:
        audit.write(
            connection, audit.AuditRecord("ada", "login"), audit.AuditRecord("ada", "approve", "a", "docs", {"digest": "d", "x": None})
        )
        id = projects.read(connection)[0].id
        approvals.decide(connection, id, rules.Decision("ada", "d-c", reason="because \u00e9"))
    with database.transaction() as connection:
        audit.write(connection, audit.AuditRecord("grace", "pause", "a"))


def verified(database: FleetDatabase, head: str | None = None) -> tuple[int, str]:
    with database.transaction() as connection:
        return chain.verified(connection, head=head)


def test_what_was_written_is_verified_in_any_time_zone_and_from_an_earlier_head(database: FleetDatabase) -> None:
    filled(database)
    first = verified(database)
    assert first[0] == 4
    with database.transaction() as connection:
        connection.execute(text("SET LOCAL timezone = 'Asia/Tokyo'"))
        audit.write(connection, audit.AuditRecord("linus", "login"))
    second = verified(database, first[1])
    assert (second[0], second[1] != first[1]) == (5, True)
    result = CliRunner().invoke(main, ["fleet", "audit", "--verify", "--head", first[1], "--database", database.url])
    assert (result.exit_code, second[1] in result.output) == (0, True)


@costly
@pytest.mark.parametrize(
    ("attack", "says"),
    [
        (f"UPDATE {S}.audit SET person = 'eve' WHERE id = 2", "line 2 of audit was changed"),
        (f"UPDATE {S}.audit SET at = at + interval '1 microsecond' WHERE id = 2", "line 2 of audit was changed"),
        (f"UPDATE {S}.approvals SET subject = '7'", "line 1 of approvals was changed"),
        (f"DELETE FROM {S}.audit WHERE id = 2", "line 2 of audit was deleted"),
        (f"DELETE FROM {S}.approvals", "line 1 of approvals was deleted"),
        (f"DELETE FROM {S}.audit WHERE id = 2; DELETE FROM {S}.chain WHERE source = 'audit' AND line = 2", "link 2 was deleted"),
        (f"INSERT INTO {S}.audit (person, action) VALUES ('ada', 'approve')", "line 4 of audit was added without a link"),
        (f"INSERT INTO {S}.chain SELECT 5, source, line, digest FROM {S}.chain WHERE position = 4", "was changed, or the link before it"),
        (f"UPDATE {S}.chain SET position = -position WHERE position IN (1, 2)", "link 1 was deleted"),
        (f"DELETE FROM {S}.audit WHERE id = 3; DELETE FROM {S}.chain WHERE position = 4", "it does not contain"),
        (f"TRUNCATE {S}.audit, {S}.chain, {S}.approvals", "it does not contain"),
    ],
)
def test_whatever_is_done_to_a_line_is_noticed(database: FleetDatabase, attack: str, says: str) -> None:
    filled(database)
    head = verified(database)[1]
    with database.transaction() as connection:  # as the owner, who can turn the triggers off
        for table in ("audit", "approvals", "chain"):
            connection.execute(text(f"ALTER TABLE {S}.{table} DISABLE TRIGGER ALL"))
        for statement in attack.split(";"):
            connection.execute(text(statement))
        for table in ("audit", "approvals", "chain"):
            connection.execute(text(f"ALTER TABLE {S}.{table} ENABLE TRIGGER ALL"))
    with pytest.raises(StateError, match=says) as raised:
        verified(database, head)
    assert raised.value.id == "RC-fleet-chain"
    result = CliRunner().invoke(main, ["fleet", "audit", "--verify", "--head", head, "--database", database.url])
    assert (result.exit_code != 0, says in result.output.replace("\n", " ")) == (True, True)


@pytest.mark.parametrize("table", ["approvals", "chain"])
@pytest.mark.parametrize("change", ["UPDATE {} SET digest = 'x'", "DELETE FROM {}", "TRUNCATE {}"])
def test_decisions_and_links_are_never_changed(database: FleetDatabase, table: str, change: str) -> None:
    filled(database)
    with pytest.raises(DBAPIError, match="append-only"), database._engine.begin() as connection:
        connection.execute(text(change.format(f"{S}.{table}")))


def test_many_write_at_once_and_nobody_waits_for_a_transaction_that_lasts(database: FleetDatabase) -> None:
    def write(number: int) -> None:
        with database.transaction() as connection:
            audit.write(connection, *(audit.AuditRecord(f"p{number}", "login") for _ in range(3)))

    with database.transaction() as slow:
        audit.write(slow, audit.AuditRecord("slow", "login"))
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(20)))
    assert verified(database)[0] == 61


def test_lines_from_before_the_chain_are_part_of_it(database: FleetDatabase) -> None:
    filled(database)
    with database.transaction() as connection:
        for table in ("audit", "approvals"):
            connection.execute(text(f"DROP TRIGGER add_link ON {S}.{table}"))
        connection.execute(text(f"DROP TABLE {S}.chain CASCADE"))
        databases._add_chain(connection)
    assert verified(database)[0] == 4
    filled(database)
    assert verified(database)[0] == 8


def lines(database: FleetDatabase, after: int = 0) -> list[audit.AuditRecord]:
    with database.transaction() as connection:
        return list(audit.read(connection, after=after, settled=True))


def test_a_line_whose_transaction_ends_late_is_not_skipped(database: FleetDatabase) -> None:
    with database.transaction() as connection:
        audit.write(connection, audit.AuditRecord("ada", "login"))
    (first,) = lines(database)
    with database.transaction() as slow:
        audit.write(slow, audit.AuditRecord("grace", "approve", "acme"))
        with database.transaction() as quick:
            audit.write(quick, audit.AuditRecord("linus", "logout"))
        assert lines(database, after=first.id) == [], "the later line waits for the earlier one"
    assert [line.person for line in lines(database, after=first.id)] == ["grace", "linus"]


def test_follow_prints_what_is_added_until_it_is_interrupted_and_survives_the_loss_of_its_connection(
    database: FleetDatabase, fleet_url: str, tmp_path: Path
) -> None:
    def write(person: str) -> None:
        with database.transaction() as connection:
            audit.write(connection, audit.AuditRecord(person, "sync", "acme", "docs", {"reason": "x"}))

    write("ada")
    words = ["fleet", "audit", "--follow", "--format", "json", "--database", fleet_url]
    environ = {**os.environ, "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "reconciler", *words]
    with processes.Popen(command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as follower:
        try:
            assert json.loads(follower.stdout.readline())["person"] == "ada"
            with database.transaction() as connection:
                connection.exec_driver_sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
                )
            write("grace")
            assert json.loads(follower.stdout.readline()) | {"at": "", "id": 0} == {
                "format": "reconciler.fleet-audit/1", "id": 0, "at": "", "person": "grace", "action": "sync", "project": "acme",
                "tenant": "docs", "details": {"reason": "x"},
            }  # fmt: skip
        finally:
            follower.send_signal(signal.SIGINT)
        rest, said = follower.communicate(timeout=30)
    assert (rest, follower.returncode) == ("", 130)
    assert "Traceback" not in said
