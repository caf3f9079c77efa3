"""What applying a plan takes: how many requests, and about how many seconds. Pure.

An apply reads and plans like the run that made the plan, which took what was measured. Then it writes, as many requests at a time as it
may, but each behind those that it waits for. Last it reads again the lists of what it wrote, and plans once more to see what is left; a
plan that is not proved takes half the time of one that is.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Final

from reconciler.address import Address
from reconciler.model import Allowance, Desired, Forecast, Plan, PlanCost, ServiceSpeed, Step
from reconciler.resource import UNSET, Kinds

OWN_WORK: Final = 0.0012  # seconds that this program computes for a request, however fast the service is
WINDOWS: Final = (1.0, 10.0, 60.0, 900.0, 3600.0, 86400.0)  # seconds for which services count requests
ROUNDING: Final = 1.5  # seconds; resets are reported in whole seconds


def forecast(kinds: Kinds, desired: Desired, plan: Plan, cost: PlanCost, speed: ServiceSpeed, allowance: Allowance | None) -> Forecast:
    """What applying `plan` takes. `cost`: what making it took. `allowance`: what is left of the service's rate limit; None without one."""
    if not plan.steps:
        return Forecast(0, 0, 0.0)
    writes, again = len(plan.steps), lists_of_written(kinds, desired, plan.steps)
    reads = cost.reads + again
    request = max(speed.answer / speed.concurrency, OWN_WORK, 1.0 / speed.rate if speed.rate else 0.0)
    writing = max(writes * request, longest_path(plan.steps) * speed.fastest)
    seconds = cost.reading + cost.planning + writing + again * request + cost.planning / 2
    held = max(_allowed_after(writes + reads, allowance) - seconds, 0.0)
    return Forecast(writes, reads, seconds + held, held)


def lists_of_written(kinds: Kinds, desired: Desired, steps: Collection[Step]) -> int:
    """How many lists show everything that these steps write or delete."""
    lists = set()
    for step in steps:
        for name, address in [(step.kind, step.address), *((name, child) for name, _, child in step.brings)]:
            inside, declared = kinds[name].inside, desired.resources.get(address)
            by_parent = inside is not None and any(listing.each == inside.to for listing in kinds[name].listings)
            parent = declared.values.get(inside.name, UNSET) if by_parent and inside is not None and declared is not None else UNSET
            lists.add((name, address.container, parent if isinstance(parent, Address) else None))
    return len(lists)


def longest_path(steps: Collection[Step]) -> int:
    """How many steps must follow one another at least. Every step comes after those that it waits for."""
    position: dict[int, int] = {}
    for step in steps:
        position[step.id] = 1 + max((position[other] for others in (step.needs, step.after) for other in others), default=0)
    return max(position.values(), default=0)


def _allowed_after(requests: int, allowance: Allowance | None) -> float:
    """Seconds until the rate limit has allowed so many requests."""
    if allowance is None or requests <= allowance.remaining:
        return 0.0
    told = max(allowance.window, allowance.resets_in)
    window = next((window for window in WINDOWS if told <= window + ROUNDING), told)
    return allowance.resets_in + window * (math.ceil((requests - allowance.remaining) / allowance.limit) - 1)
