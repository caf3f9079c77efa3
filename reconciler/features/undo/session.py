"""What a session plans, applies and records to take a run back."""

from __future__ import annotations

from dataclasses import replace

from reconciler.address import Selection, bare
from reconciler.features.undo import (
    Inverse,
    RevertedRun,
    desired_for_reading,
    entries_today,
    journal_arguments,
    run_effects,
    state_changes_today,
    stop_managing_fields,
)
from reconciler.model import Outcome, StateChange, StepStatus
from reconciler.run.applying import ApplySession
from reconciler.state import Journal, Store


def inverse_of(session: ApplySession, store: Store, run: str) -> Inverse:
    """Read the current objects, and find what takes the run back."""
    kinds, project, state = session.kinds, session.project.desired, session.journal.state()
    later = store.later_state_changes(run)
    done, state_changes = run_effects(kinds, entries_today(store.entries(run), later)), state_changes_today(store.state_changes(run), later)
    actual = session.look(desired_for_reading(kinds, project, state, done, state_changes))
    return RevertedRun(kinds, project, state, actual, done, state_changes, set(map(bare, store.ids()))).inverse()


def change_state(journal: Journal, outcome: Outcome, inverse: Inverse) -> tuple[StateChange, ...] | None:
    """Change the bindings once everything else is done; answers what was changed, None where not everything was done. Fields that were not
    managed are unmanaged again."""
    state_changes = inverse.state_changes
    if not state_changes and not inverse.unmanaged:
        return ()
    if outcome.plan.deferred or outcome.plan.blocked or any(result.status is not StepStatus.DONE for result in outcome.results):
        return None
    for address, unset in stop_managing_fields(inverse, journal.state()).items():
        journal.note(address, sent=unset, seen=unset)
    forget, rename, protect = journal_arguments(state_changes)
    journal.remember(forget=forget, rename=rename, protect=protect)
    return tuple(state_changes)


def undo_only(session: ApplySession, inverse: Inverse) -> None:
    """Let the session plan and apply what takes a run back, and nothing else."""
    session.desired = inverse.desired
    session.operation = replace(session.operation, selection=Selection(only=inverse.only))
