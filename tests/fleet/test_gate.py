"""The gate between a run and its worker: every request that is asked for is answered, also if many are asked for at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

from reconciler.client.quota import Hints
from reconciler.errors import StateError
from reconciler.fleet.budget import BudgetReport
from reconciler.fleet.runs.gate import RunGate, Turnstile


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

    async def run(turnstile: Turnstile) -> None:
        async with asyncio.timeout(20):
            tickets = await asyncio.gather(*(turnstile.take("GET", 10.0) for _ in range(20)))
        for ticket in tickets:
            turnstile.report(ticket, 200, Hints(limit=100, remaining=50, reset=0))

    async def both(gate: RunGate) -> None:
        async with gate:
            turnstile = Turnstile(str(gate.path))
            await run(turnstile)
            await asyncio.sleep(0)
            assert turnstile._listening is not None
            assert turnstile._writer is not None
            turnstile._listening.cancel()  # or the end of the gate would end this process
            turnstile._writer.close()

    gate = RunGate(tmp_path / "gate", take, report)
    asyncio.run(both(gate))
    assert len(set(taken)) == gate.taken == 20
    assert set(told) == {str(number) for number in range(1, 21)}
    assert all(answer is not None and answer.left == 50 for answer in told.values()), "what a run says last is read"
