"""An apply that begins, and what people decide at that moment, on a real PostgreSQL server: one comes before the other, and both count."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, func, text, update

from reconciler.fleet import acts, drift
from reconciler.fleet.drift_groups import FleetDifference, FleetDriftGroup
from reconciler.fleet.model import Approval, ChangeClass, Mode
from reconciler.fleet.people import ALL, Person, Role
from reconciler.fleet.runs.applying import DECIDED_OTHERWISE, RunApply
from reconciler.fleet.runs.end import RunResult
from reconciler.fleet.status import Reading, as_data
from reconciler.fleet.store import FleetDatabase, approvals, audit, projects, schema as tables
from tests.fleet.test_store import admit, begin, declare, project, register

GRACE, LINUS = (Person(f"{name}@acme.example", {ALL: Role.APPROVER}) for name in ("grace", "linus"))
PLAN = approvals.StoredPlan("c0ffee", {"changes": [], "exposures": []}, "d1-c0ffee", frozenset({ChangeClass.DELETE}), (), "- x")
DIFFERENCE = FleetDifference("a/space/one", "changed", "drift-1")
DRIFTED = FleetDriftGroup("one", "cosmetic", "a/space/one: title One -> Mine", (DIFFERENCE.address,), differences=(DIFFERENCE,))


def made(database: FleetDatabase, plan: approvals.StoredPlan = PLAN, **words: Any) -> RunApply:
    """A run of the project `a` that is about to apply a plan, on which nobody has decided yet."""
    declare(database, project("a", mode=Mode.APPLY, **words))
    worker = register(database)
    (run,) = admit(database)
    begun = begin(database, run, worker)
    assert begun is not None
    with database.transaction() as connection:
        approvals.keep_plan(connection, begun.project_id, plan)
        reading = as_data(Reading("c0ffee", ahead=1, drift=1, groups=(DRIFTED,)))
        connection.execute(update(tables.projects).values(reading=reading, read_at=func.now()))
    return RunApply(begun, RunResult(commit="c0ffee", plan=plan), "saved", {"a/space/old": "p1"}, (DRIFTED,), frozenset(), plan)


def act(database: FleetDatabase, action: Callable[..., Any], *words: Any, **named: Any) -> Any:
    with database.transaction() as connection:
        return action(connection, *words, **named)


def approved(database: FleetDatabase) -> None:
    for person in (GRACE, LINUS):
        act(database, acts.approve, person, "a", digest=PLAN.digest)


@contextmanager
def meanwhile(database: FleetDatabase, decide: Callable[[Connection], Any], does: Callable[[], Any]) -> Iterator[Future[Any]]:
    """What another transaction does that begins while a decision is made, and waits for it: the result of `does`, after the block."""
    with ThreadPoolExecutor(1) as pool:
        with database.transaction() as connection:
            decide(connection)
            other = pool.submit(does)
            waits = text("SELECT 1 FROM pg_locks WHERE NOT granted AND transactionid IS NOT NULL")
            limit = time.monotonic() + 60
            while connection.execute(waits).first() is None and not other.done():
                assert time.monotonic() < limit
        yield other


def test_a_rejection_in_the_moment_in_which_an_apply_begins_counts(database: FleetDatabase) -> None:
    applying = made(database)
    approved(database)
    says = "the plan was rejected by grace@acme.example: not now"

    def reject(connection: Connection) -> None:
        acts.reject(connection, GRACE, "a", digest=PLAN.digest or "", reason="not now")

    with meanwhile(database, reject, lambda: act(database, applying.begin)) as begun:
        assert begun.result(60) == says
    with database.transaction() as connection:
        assert [line.action for line in audit.read(connection)] == ["approve", "approve", "reject"]
    act(database, acts.approve, GRACE, "a", digest=PLAN.digest)
    assert act(database, applying.begin) is None
    act(database, reject)
    assert act(database, applying.stop_reason) == says, "also one that comes after the begin"


@pytest.mark.parametrize("reverts_all", [False, True])
def test_drift_that_somebody_ignores_before_the_apply_begins_is_not_reverted(database: FleetDatabase, reverts_all: bool) -> None:
    words: Mapping[str, Any] = {"approvals": {**dict.fromkeys(ChangeClass, Approval.AUTO)}, "revert_drift": reverts_all}
    applying = made(database, **words)
    applying.reverts = frozenset({DIFFERENCE.address})
    digest = drift.digest([DRIFTED])
    act(database, acts.revert, GRACE, "a", digest=digest)
    with database.transaction() as connection:
        _, _, decided = acts.outside(connection, GRACE, "a")
        until = projects.clock(connection) + timedelta(days=1)
    applying.result.reverted = {} if reverts_all else decided

    def ignore(connection: Connection) -> None:
        acts.ignore(connection, LINUS, "a", digest=digest, until=until, reason="for the fair")

    with meanwhile(database, ignore, lambda: act(database, applying.begin)) as begun:
        assert begun.result(60) == DECIDED_OTHERWISE
    with database.transaction() as connection:
        assert drift.ignores(acts.outside(connection, GRACE, "a")[2]) == {DIFFERENCE.address}, "the decision still counts"
    act(database, acts.revert, LINUS, "a", digest=digest)
    assert act(database, applying.begin) is None
    assert act(database, applying.stop_reason) is None, "the decision that this apply has used up still counts for it"
    act(database, ignore)
    assert act(database, applying.stop_reason) == DECIDED_OTHERWISE
