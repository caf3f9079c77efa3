"""Undo: what a run did, turned into a Desired that wants it back. Pure.

- `past`: the entries of a run as one thing an address
- `bound`: what it changed of the bindings
- `today`: both under the addresses of today
- `living`: the organization as it stands, declared as it is, so that nothing of it differs
- `back`: that, with the run taken back where nobody changed it since; and what cannot be taken back
- `again`: the lines of the YAML that still want the run

The plan that follows is an ordinary one, about these addresses only.
"""

from __future__ import annotations

from reconciler.inverse.again import Line, wants_again
from reconciler.inverse.back import inverse
from reconciler.inverse.bound import as_remembered
from reconciler.inverse.living import living
from reconciler.inverse.past import Cannot, Past, past
from reconciler.inverse.result import Inverse
from reconciler.inverse.today import entries_today, turns_today

__all__ = [
    "Cannot",
    "Inverse",
    "Line",
    "Past",
    "as_remembered",
    "entries_today",
    "inverse",
    "living",
    "past",
    "turns_today",
    "wants_again",
]
