"""Undo: what a run did, turned into a Desired that reverts it. Pure.

- `effects`: the entries of a run, one for each address
- `tracking`: what the run changed about tracked resources; both under today's addresses
- `objects`: what is tracked and exists, and its rows of siblings
- `transfers`: what the run transferred to another organization, transferred back
- `current`: a Desired that declares the organization as it is, so that nothing differs
- `revert`: the same with the run reverted where nobody changed the objects since; and what cannot be reverted
- `reapplied`: the lines of the YAML that still declare what the run did

The plan that follows is an ordinary one, limited to these addresses.
"""

from __future__ import annotations

from reconciler.features.undo.current import desired_for_reading
from reconciler.features.undo.effects import Cannot, Inverse, RunEffect, run_effects
from reconciler.features.undo.reapplied import YamlLine, redeclaring_lines
from reconciler.features.undo.revert import RevertedRun
from reconciler.features.undo.tracking import entries_today, journal_arguments, state_changes_today, stop_managing_fields

__all__ = [
    "Cannot",
    "Inverse",
    "RevertedRun",
    "RunEffect",
    "YamlLine",
    "desired_for_reading",
    "entries_today",
    "journal_arguments",
    "redeclaring_lines",
    "run_effects",
    "state_changes_today",
    "stop_managing_fields",
]
