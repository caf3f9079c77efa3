"""Applying: step by step over the graph, each with an intent before its request and an outcome after it.

- `run`: which steps may go, and what is left when all have ended
- `step`: one step, from its intent to its request
- `answer`: what an answer says, and what of it is remembered
"""

from __future__ import annotations

from reconciler.apply.answer import bound_as, seen_of
from reconciler.apply.run import Progress, Quiet, apply

__all__ = ["Progress", "Quiet", "apply", "bound_as", "seen_of"]
