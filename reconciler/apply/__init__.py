"""Applying: step by step over the graph, each with an intent before its request and an outcome after it.

- `run`: which steps may go, and what is left when all have ended
- `guards`: what is read again before it is written, with `look` and what it is held against, `expected`
- `step`: one step, from its intent to its request
- `answer`: what an answer says, and what of it is remembered
- `verify`: the look after the run
"""

from __future__ import annotations

from reconciler.apply.answer import bound_as
from reconciler.apply.guards import FRESH
from reconciler.apply.run import Progress, Quiet, apply

__all__ = ["FRESH", "Progress", "Quiet", "apply", "bound_as"]
