"""What applying a plan will take, from what reading it took and from what the service says of its rate limit. Pure.

An apply reads before it writes and once more when all is done, each about as much as the plan did; its writes take as long, one by one, as
the readings did on the average.
"""

from __future__ import annotations

import math

from reconciler.model import Allowance, Forecast


def forecast(writes: int, reads: int, seconds: float, allowance: Allowance | None) -> Forecast:
    """`reads` and `seconds`: what the reading of this plan took. `allowance`: what is left of the rate limit; None where none is told."""
    if not writes:
        return Forecast(0, 0, 0.0)
    again = 2 * reads
    every = writes + again
    moving = every * seconds / max(reads, 1)
    if allowance is None:
        return Forecast(writes, again, moving)
    held = allowance.resets_in * math.ceil((every - allowance.remaining) / allowance.limit)
    return Forecast(writes, again, max(moving, held), max(held - moving, 0.0))
