"""How long applying a plan will take, from the time that reading took and the service's rate limit. Pure.

An apply reads before it writes and again at the end, each about as much as the plan did; each write takes as long as an average read.
"""

from __future__ import annotations

import math

from reconciler.model import Allowance, Forecast


def forecast(writes: int, reads: int, seconds: float, allowance: Allowance | None) -> Forecast:
    """The forecast of an apply. `reads` (requests) and `seconds`: what reading for this plan took. `allowance`: what is left of the rate
    limit; None where the service reports none."""
    if not writes:
        return Forecast(0, 0, 0.0)
    again = 2 * reads
    every = writes + again
    moving = every * seconds / max(reads, 1)
    if allowance is None:
        return Forecast(writes, again, moving)
    held = allowance.resets_in * math.ceil((every - allowance.remaining) / allowance.limit)
    return Forecast(writes, again, max(moving, held), max(held - moving, 0.0))
