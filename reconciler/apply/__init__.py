"""Applying: step by step over the graph, each with an intent before its request and an outcome after it.

- `task`: what is carried out, with what, and how
- `run`: which steps may go, and what is left when all have ended
- `preconditions`: what is read again before it is written, with `look` and what it is compared with, `expected`
- `clearance`: which steps open something or cannot be taken back, and who is asked before each
- `step`: one step, from its intent to its request
- `answer`: what an answer says, and what of it the state records
- `verify`: the look after the run
- `recover`: what became of requests whose outcome is unknown, by `evidence`; `unsaved`: outcomes that the database could not take
"""

from __future__ import annotations

from reconciler.apply.answer import bound_as
from reconciler.apply.run import apply
from reconciler.apply.task import FRESH, ApplyOptions, Progress, Quiet

__all__ = ["FRESH", "ApplyOptions", "Progress", "Quiet", "apply", "bound_as"]
