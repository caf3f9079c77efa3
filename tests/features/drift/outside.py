"""What was changed outside Reconciler, as `drift` reads it; what somebody edits is in `tests/outside.py`."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2

from reconciler.client import ClientSettings
from reconciler.client.service import Reader
from reconciler.features.drift.model import Drift
from reconciler.features.drift.plan import drift, grouped, looking_for_access
from reconciler.model import Actual, Plan, State
from reconciler.observe import observe, planned
from reconciler.plan.matching.match import identify
from reconciler.plan.matching.missing import believable
from reconciler.plan.planner import plan
from reconciler.plan.prove import prove
from reconciler.plan.world import World
from tests.harness import BASE, TOKEN, Org, Still, kinds
from tests.outside import Case
from tests.storms import Record
from tests.transports import Onward, Through, Way, between


def showing(id: str, key: str, value: Any) -> Way:
    """Shows one key of one object otherwise: what somebody with other means than this API did to it."""

    def change(part: Any) -> None:
        """Wherever the object is shown."""
        if isinstance(part, dict) and part.get("id") == id:
            part[key] = value
        for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
            change(inner)

    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        answer = await onward(request)
        document = json.loads(await answer.aread() or b"null")
        change(document)
        headers = {"Date": answer.headers["Date"]} if "Date" in answer.headers else {}
        return httpx2.Response(answer.status_code, json=document, headers=headers, request=request)

    return way


def observed(org: Org) -> tuple[State, Actual]:
    """What is remembered, and what the service shows."""
    state = org.remembered()

    async def look() -> Actual:
        async with org.client(Reader) as reader:
            return await observe(reader, kinds(), org.load().desired, state)

    return state, asyncio.run(look())


def drifted(org: Org, *, case: Case | None = None, whole: bool = False, failing: tuple[str, ...] = ()) -> Drift:
    """The drift of a project in groups, by a client that cannot write; of a `case` that no request makes, as it would show."""
    return asyncio.run(_drifted(org, case, whole, failing))


async def _drifted(org: Org, case: Case | None, whole: bool, failing: tuple[str, ...]) -> Drift:
    desired = org.load().desired
    state = org.remembered()
    if case is not None and case.shown is not None:
        transport = between(org.transport(), showing(org.id(case.address), case.shown, case.value))
        reader = Reader(ClientSettings(BASE, TOKEN), transport=Through(transport))
    else:
        reader = org.client(Reader, failing=failing)
    async with reader:
        actual = await observe(reader, kinds(), looking_for_access(kinds(), desired), state, everything=whole)
        made, actual = await planned(reader, kinds(), actual, lambda actual: plan(kinds(), desired, state, actual))
    found = drift(World(kinds(), desired, state, actual), made, whole=whole)
    return grouped(World(kinds(), desired, state, actual), identify(kinds(), desired, state, actual), found)


def said(found: Drift) -> list[str]:
    """`acme/space/one: changed title`."""
    return [f"{one.address}: {one.status} {' '.join(delta.name for delta in one.fields)}".strip() for one in found.resources]


def plan_and_drift(
    record: Record, transport: httpx2.AsyncBaseTransport, *, accept: int | None = None, clock: Still | None = None
) -> tuple[Plan, Drift]:
    """Observe, believe, plan and read the drift of it, as `plan` and `drift` do. Raises what they raise."""
    desired, state = record.desired, record.state

    async def look() -> Actual:
        async with Reader(ClientSettings(BASE, TOKEN), transport=Through(transport), clock=clock or Still(), jitter=lambda: 0.5) as reader:
            return await observe(reader, kinds(), desired, state)

    actual = asyncio.run(look())
    believable(identify(kinds(), desired, state, actual), desired, accept=accept)
    made = prove(World(kinds(), desired, state, actual), plan(kinds(), desired, state, actual))
    return made, drift(World(kinds(), desired, state, actual), made)
