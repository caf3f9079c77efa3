"""Applying: step by step over the graph, each with an intent before its request and an outcome after it.

- `task`: what a run carries out, with what, and how; which steps open something or cannot be undone, and who is asked before each
- `run`: which steps may start, and what is left when all have ended
- `preconditions`: what is read again before it is written, by `look`, and compared with what was expected
- `step`: one step, from its intent to its request
- `answer`: the response to a request, and what the state records of it
- `verify`: the check after the run
- `recover`: the outcomes of requests in doubt, by `evidence`, and those that the database could not store
"""

from __future__ import annotations

from reconciler.apply.answer import bound_as
from reconciler.apply.run import apply
from reconciler.apply.task import FRESH, ApplyOptions

__all__ = ["FRESH", "ApplyOptions", "apply", "bound_as"]
