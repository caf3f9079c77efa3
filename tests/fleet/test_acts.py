"""What people decide, on a real PostgreSQL server: who may, what counts, what is written, and what the audit log says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import func, update

from reconciler.errors import ReconcilerError
from reconciler.fleet import acts
from reconciler.fleet.model import ChangeClass, Mode
from reconciler.fleet.people import ALL, Person, Role
from reconciler.fleet.runs import end
from reconciler.fleet.runs.end import RunResult
from reconciler.fleet.store import FleetDatabase, approvals, audit, projects, quarantines, schema as tables
from tests.cli.test_end_to_end import at_a_terminal
from tests.fleet.test_store import admit, begin, declare, project, register

ADA, GRACE, LINUS = (Person(f"{name}@acme.example", {"docs": Role.APPROVER}) for name in ("ada", "grace", "linus"))
ADMIN = Person("root@desk", {ALL: Role.ADMIN})
PLAN = approvals.StoredPlan(
    "c0ffee", {"changes": []}, "d1", frozenset({ChangeClass.TITLES, ChangeClass.CREATE, ChangeClass.DELETE}), ("Ada@ACME.example",), "- x"
)


def known(database: FleetDatabase, *addresses: str) -> None:
    """Make a fleet file take effect that says that these addresses are people."""
    settings = {"people": [{"subject": None, "addresses": [address]} for address in addresses]}
    with database.transaction() as connection:
        projects.revise(connection, projects.Revision("fleet.yaml", "", 0, "ada", settings))


def keep(database: FleetDatabase, plan: approvals.StoredPlan, *, waits: str | None = "the plan needs approvals: delete (2)") -> int:
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
    first = act(database, acts.approve, GRACE, "a", digest="d1")
    assert (first.verdict.allows, row(database).waits) == (
        False,
        "the plan needs approvals: delete (1 more, approved by grace@acme.example)",
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
    assert "- space docs:old\n" in lines
    assert "  delete    two people, not the authors\n" in lines
    assert "The plan needs approvals: create (1), delete (2).\n" in lines
    assert lines.endswith("Approved create of a.\nThe plan needs approvals: delete (2).\n")


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
    about = {"commit": "c0ffee", "digest": "ab", "classes": ["delete"], "run": run}
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
