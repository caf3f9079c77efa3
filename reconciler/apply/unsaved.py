"""Outcomes that could not be written to the database, and that the next apply adds to it.

In: what an earlier run kept beside the project. Out: endings in the journal, a sentence for each. Forbidden: HTTP; using outcomes of
another state, or of a request that has an outcome by now.
"""

from __future__ import annotations

from dataclasses import replace

from reconciler.model import Binding, Intent
from reconciler.resource import Kinds
from reconciler.state import Journal


def take_in(kinds: Kinds, journal: Journal) -> tuple[str, ...]:
    """Write the outcomes that an earlier run kept, then remove the file. May be interrupted: outcomes already written are skipped."""
    endings = journal.unsaved_endings()
    if not endings:
        return ()
    notes = []
    for run, ending in endings:
        state = journal.state()
        intent = next((binding for binding in state.intents if (binding.id, binding.run) == (ending.intent, run)), None)
        # A later run may have tracked the object at another address, or settled the request. What it recorded is newer.
        bound = {(binding.kind, binding.id): address for address, binding in state.bindings.items()}
        if intent is None or any(bound.get((binding.kind, binding.id), binding.address) != binding.address for binding in ending.bind):
            continue
        bind = tuple(_binding_with_values(kinds, intent, binding, state.bindings.get(binding.address)) for binding in ending.bind)
        journal.settle([replace(ending, bind=bind)])
        notes.append(f"{intent.address}: {intent.verb} {ending.status}, as recorded next to the project by the earlier run")
    journal.discard_unsaved_endings()
    return tuple(notes)


def _binding_with_values(kinds: Kinds, intent: Intent, kept: Binding, old: Binding | None) -> Binding:
    """The binding with the values of the intent; the plan reads the seen values again."""
    if kept.address != intent.address:
        return kept if old is None or old.id != kept.id else old
    if old is None or old.id != kept.id:
        carried = {field.name for field in kinds[intent.kind].sent_by(intent.verb)} if intent.kind in kinds else set()
        return replace(kept, sent={name: value for name, value in intent.writes.items() if name in carried})
    return replace(old, sent={**old.sent, **intent.writes})
