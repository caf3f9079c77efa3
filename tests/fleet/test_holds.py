"""What holds back an apply that is under way: asked through the gate before each step that cannot be taken back, of rows of PostgreSQL.

The gate between a run and its worker: every request that is asked for is answered, also if many are asked for at once.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import bindparam, text

from reconciler.client.quota import Hints
from reconciler.errors import StateError
from reconciler.fleet import approvals as rules
from reconciler.fleet.budget import BudgetReport
from reconciler.fleet.model import APPROVALS_DEFAULT, Approval, ChangeClass, Mode
from reconciler.fleet.runs import holds
from reconciler.fleet.runs.gate import GateClient, RunGate
from reconciler.fleet.store import FleetDatabase, approvals, projects, quarantines
from reconciler.model import Outcome, StepStatus
from tests.fleet.test_store import declare, project
from tests.harness import Org

SPEC = "UPDATE reconciler_fleet.projects SET spec = spec || jsonb_build_object('windows', CAST(:windows AS jsonb))"
DAY = "SELECT (extract(isodow FROM now() + make_interval(days => :days)) - 1)::int"
FREE = dict.fromkeys(APPROVALS_DEFAULT, Approval.AUTO)


def windows(database: FleetDatabase, *, closed: bool) -> None:
    """Open or close the windows of all projects, at the database's time."""
    with database.transaction() as connection:
        days = [connection.execute(text(DAY), {"days": days}).scalar_one() for days in ((3,) if closed else (-1, 0, 1))]
        window = {"days": days, "opens": "00:00:00", "closes": "23:59:59.999999", "zone": "UTC"}
        from sqlalchemy.dialects.postgresql import JSONB

        connection.execute(text(SPEC).bindparams(bindparam("windows", type_=JSONB)), {"windows": [window]})


def document(*addresses: str) -> dict[str, Any]:
    return {"changes": [{"address": address} for address in addresses], "blocked": []}


def spaces(org: Org, *keys: str, title: str) -> None:
    content = [{"space": key, "title": f"{key} {title if key == 'a' else ''}".strip()} for key in keys]
    org.write({"content": [*content, {"space": "blank", "id": "spc_blank", "title": "Blank", "template": True}]})


def test_a_window_that_closes_in_the_middle_stops_before_the_next_delete(tmp_path: Path, database: FleetDatabase) -> None:
    org = Org(tmp_path)
    declare(database, project("p", mode=Mode.APPLY, approvals=FREE))
    plan = approvals.StoredPlan("c0ffee", document(), "d", frozenset({ChangeClass.TITLES, ChangeClass.DELETE}))
    spaces(org, "a", "x", "y", "z", title="before")
    assert org.apply().went_through
    spaces(org, "a", title="after")
    windows(database, closed=False)
    asked: list[str] = []

    def held(what: str) -> str | None:
        asked.append(what)
        with database.transaction() as connection:
            answer = holds.hold_reason(connection, "p", plan)
        if answer is None:
            windows(database, closed=True)
        return answer

    async def applied(number: int) -> tuple[Outcome, str | None]:
        async with RunGate(tmp_path / f"gate{number}", lambda method, ticket: 0.0, lambda told: None, held) as gate:
            gate_client = GateClient(str(gate.path))
            org.permission = gate_client.refusal
            outcome = await org._apply(("**",))
            if gate_client._listening is not None and gate_client._writer is not None:
                gate_client._listening.cancel()  # or the end of the gate would end this process
                gate_client._writer.close()
            return outcome, gate.refused

    outcome, refused = asyncio.run(applied(1))
    assert refused == "its windows are closed"
    assert outcome.stopped == "stopped: its windows are closed"
    ends = {(str(result.step.address).rpartition(":")[2], result.step.verb): result.status for result in outcome.results}
    assert [status for (_, verb), status in ends.items() if verb == "delete"].count(StepStatus.DONE) == 1
    assert [status for (_, verb), status in ends.items() if verb == "delete"].count(StepStatus.SKIPPED) == 2
    assert [status for (_, verb), status in ends.items() if verb == "update"] == [StepStatus.DONE], "what can be undone was sent"
    assert {result.id for result in outcome.results if result.status is StepStatus.SKIPPED} <= {"RC-apply-held", None}
    assert len([1 for method, _ in org.requests if method == "DELETE"]) == 1
    for number in (2, 3):  # the next runs continue, one delete for each time that the window is open
        windows(database, closed=False)
        outcome, _ = asyncio.run(applied(number))
    assert (outcome.went_through, set(asked)) == (True, {"delete"})
    assert [result.step.verb for result in outcome.results] == ["delete"]


def test_pauses_quarantines_decisions_and_windows_hold_a_plan_and_each_ends(database: FleetDatabase) -> None:
    declare(database, project("p", mode=Mode.APPLY, tenant="docs"))
    plan = approvals.StoredPlan("c0ffee", document("docs:x", "docs:y"), "d", frozenset({ChangeClass.CREATE}))
    undo = {"run": "0123456789", "addresses": ["docs:y", "docs:z"]}

    def held(plan: approvals.StoredPlan = plan) -> str | None:
        with database.transaction() as connection:
            return holds.hold_reason(connection, "p", plan)

    def settle(plan: approvals.StoredPlan, *undone: dict[str, Any], whole: bool = True) -> None:
        with database.transaction() as connection:
            holds.settle_quarantines(connection, projects.read(connection)[0], plan, undone, whole=whole)

    def decide(person: str, *, approves: bool = True) -> None:
        with database.transaction() as connection:
            decision = rules.Decision(person, "d", plan.changes if approves else frozenset(), approves, "no")
            approvals.decide(connection, projects.read(connection)[0].id, decision)

    assert held() == "the plan needs approvals: create (1 person)"
    decide("grace")
    assert held() is None
    with database.transaction() as connection:
        (made,) = projects.read(connection)
        assert holds.approvers(connection, made.project.name, plan) == {"create": ["grace"]}
    assert held(replace(plan, digest="e")) == "the plan needs approvals: create (1 person)"
    decide("linus", approves=False)
    assert held() == "the plan was rejected by linus: no"
    decide("linus")
    windows(database, closed=True)
    assert held() == "its windows are closed"
    windows(database, closed=False)
    assert held() is None
    settle(replace(plan, document=document("docs:x")), undo)
    assert held() is None, "what the plan does not do again needs no quarantine"
    settle(plan, undo)
    settle(plan, undo)
    says = held()
    assert says is not None
    assert says.startswith("run 01234567 undid changes of docs:y, last applied from commit c0ffee; push a commit")
    settle(replace(plan, document=document()), undo, whole=False)
    assert held() == says, "what could not be read is no evidence that it is not wanted"
    assert held(replace(plan, document=document("docs:x"))) is None
    settle(replace(plan, commit="beef", document=document("docs:x")))
    assert held() is None, "a plan without these resources ended it"
    with database.transaction() as connection:
        row = projects.read(connection)[0]
        assert quarantines.opened(connection, [row.id]) == {}
        projects.pause(connection, ["p"], until=None, by="ada", reason="the migration")
    assert held() == "it is paused by ada: the migration"
    declare(database, project("p", mode=Mode.WATCH))
    assert held() == "the fleet file no longer says that it is applied"


def test_many_requests_at_once_are_all_granted_even_if_the_database_is_briefly_unreachable(tmp_path: Path) -> None:
    taken: list[str] = []
    told: dict[str, BudgetReport | None] = {}
    gone = {"take": 2, "report": 1}  # how often the database cannot be reached

    def fails(what: str) -> None:
        gone[what] -= 1
        if gone[what] >= 0:
            raise StateError("the fleet's database cannot be reached", id="RC-state-unreachable")

    def take(method: str, ticket: str) -> float:
        fails("take")
        taken.append(f"{method} {ticket}")
        return 0.0

    def report(answers: dict[str, BudgetReport | None]) -> None:
        fails("report")
        told.update(answers)

    async def run(gate_client: GateClient) -> None:
        async with asyncio.timeout(20):
            tickets = await asyncio.gather(*(gate_client.take("GET", 10.0) for _ in range(20)))
        for ticket in tickets:
            gate_client.report(ticket, 200, Hints(limit=100, remaining=50, reset=0))

    async def both(gate: RunGate) -> None:
        async with gate:
            gate_client = GateClient(str(gate.path))
            await run(gate_client)
            await asyncio.sleep(0)
            assert gate_client._listening is not None
            assert gate_client._writer is not None
            gate_client._listening.cancel()  # or the end of the gate would end this process
            gate_client._writer.close()

    gate = RunGate(tmp_path / "gate", take, report)
    asyncio.run(both(gate))
    assert len(set(taken)) == gate.taken == 20
    assert set(told) == {str(number) for number in range(1, 21)}
    assert all(answer is not None and answer.left == 50 for answer in told.values()), "what a run says last is read"
