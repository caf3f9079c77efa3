"""Somebody else edits the service while an apply is under way: before its kth request, whichever that is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2

from reconciler.client.pacing import Clock
from reconciler.exits import PARTLY
from reconciler.model import Outcome, StepStatus
from reconciler.run.codes import of_outcome
from tests.harness import Org
from tests.small import described
from tests.transports import Onward

Act = Callable[["Meddled"], Awaitable[Any]]


class Jumping(Clock):
    """A clock that stands still until it is put forward."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


@dataclass
class Meddled(Org):
    """`at`: before which request of the next apply `act` happens; `acted`: how many requests had been sent by then, None if it did not.

    `refused`: how the paths end that answer 403. `answered`: by object, keys that the answers to writes show otherwise, or (None) not.
    """

    at: int = 0
    act: Act | None = None
    count: int = 0
    acted: int | None = None
    ids: dict[str, str] = field(default_factory=dict)
    refused: str = ""
    answered: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.way = self._meddling

    async def _meddling(self, request: httpx2.Request, onward: Onward) -> httpx2.Response:
        self.count += 1
        if self.act is not None and self.count == self.at:
            await self.act(self)
            self.acted = len(self.requests)
        if self.refused and request.method == "GET" and request.url.path.endswith(self.refused):
            return httpx2.Response(403, json={"error": {"code": 403, "message": "not for you"}}, request=request)
        answer = await onward(request)
        if request.method == "GET" or not self.answered:
            return answer
        document = json.loads(await answer.aread() or b"null")
        if isinstance(document, dict) and document.get("object") in self.answered:
            for key, value in self.answered[document["object"]].items():
                document[key] = value
                if value is None:
                    del document[key]
        return httpx2.Response(answer.status_code, json=document, request=request)

    def meddled(self, at: int, act: Act | None) -> Outcome:
        """Apply while somebody acts."""
        self.at, self.act, self.count, self.acted = at, act, 0, None
        self.requests.clear()
        try:
            return self.apply()
        finally:
            self.act = None

    async def other(self, method: str, path: str, body: Any = None) -> Any:
        """One request by somebody else, with the ids of `ids` in its path."""
        return await self._call(method, path.format(**self.ids), body)


def is_reported(org: Org, outcome: Outcome, address: str) -> bool:
    """Whether the run's report, or the plan after it, has something to say of an address."""
    said = [str(result.step.address) for result in outcome.results if result.status is StepStatus.STALE]
    said += [str(one.address) for one in outcome.edited]
    if address in said or any(address in line for line in outcome.notes):
        return True
    plan = org.plan()
    return any(address in line for line in described(plan)) or any(address in str(refusal.address) for refusal in plan.blocked)


def exits_well(outcome: Outcome) -> bool:
    """Whether a run in whose report somebody's edit is ends with the code that says so."""
    noticed = outcome.edited or outcome.leftover or any(result.status is StepStatus.STALE for result in outcome.results)
    return not noticed or of_outcome(outcome) == PARTLY
