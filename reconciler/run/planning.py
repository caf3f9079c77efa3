"""From a reading of the service to a plan: what exists is read, the stages run, and what is refused is held where that is asked for.

In: the files, the state, a client that can read. Out: a plan, with all that it was made from. Forbidden: requests that write.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

from reconciler.model import Desired, Plan, PlanCost, State
from reconciler.observe import observe
from reconciler.plan.matching.matches import Matches
from reconciler.plan.matching.renames import Former
from reconciler.report.words import count
from reconciler.resource import Kinds
from reconciler.run.holding import with_held
from reconciler.run.operation import Operation
from reconciler.run.stages import Planned, PlanSource, staged


async def make(
    source: PlanSource,
    kinds: Kinds,
    desired: Desired,
    state: State,
    operation: Operation,
    *,
    stage: Callable[[str], None] = lambda what: None,
) -> Planned:
    """Read, and run every stage. `stage`: called with the name of each stage that lasts.

    Raises `ServiceError` if the service cannot be read at all.
    """
    reader, before, earlier = source.reader, source.reader.requests, source.earlier
    began = time.monotonic() if earlier is None else earlier[1]
    with reader.giving(earlier[0]) if earlier is not None else nullcontext():
        actual = await observe(reader, kinds, desired, state, everything=source.everything)
    read_at, objects = time.monotonic(), count(len(desired.resources), "object")
    if earlier is not None:
        actual = replace(actual, read_at=earlier[1])
    nothing = Plan(desired.project, desired.environment)
    unmatched = Matches(Former(state, state))
    planned = Planned(kinds, desired, state, operation, actual, nothing, began, unmatched, pages=source.state is not None)
    planned = await staged(source, planned, stage=lambda says: stage(f"{says} {objects}"))
    if operation.hold:
        planned = await with_held(planned, partial(staged, source))
    cost = PlanCost(reader.requests - before, read_at - began, time.monotonic() - read_at)
    return replace(planned, pace=(cost, reader.speed, reader.allowance))
