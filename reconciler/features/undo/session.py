"""What a session plans, applies and records to take a run back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from reconciler import exits
from reconciler.address import Selection, bare
from reconciler.features.undo import (
    Inverse,
    RevertedRun,
    YamlLine,
    desired_for_reading,
    entries_today,
    journal_arguments,
    redeclaring_lines,
    run_effects,
    state_changes_today,
    stop_managing_fields,
)
from reconciler.model import Outcome, StateChange, StepStatus
from reconciler.plan.matching.match import identify
from reconciler.run.applying import ApplySession
from reconciler.run.saved.origin import run_commit
from reconciler.run.stages import Planned
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


@dataclass(frozen=True)
class UndoneRun:
    """What an undo did. `changed`: of the state; None where it was left as it is, because not everything was done. `lines`: of the YAML,
    which would repeat the run."""

    outcome: Outcome
    changed: tuple[StateChange, ...] | None
    lines: tuple[YamlLine, ...]
    code: int


def begin_undo(session: ApplySession, store: Store, run: str) -> Inverse:
    """Resolve what is in doubt, and let the session plan and apply what takes a run back, and nothing else."""
    for note in session.recover():
        session.voice.say(note)
    # An undo does not continue the run before it, whose consents would otherwise let it open things unasked.
    session.alone = True
    inverse = inverse_of(session, store, run)
    undo_only(session, inverse)
    return inverse


def carry_out_undo(session: ApplySession, planned: Planned, inverse: Inverse, *, on_error: Literal["continue", "stop"]) -> UndoneRun:
    """Apply its plan, and record its end."""
    # Where the YAML still wants what is about to be taken back.
    ids = identify(session.kinds, session.project.desired, planned.state, planned.actual).ids
    lines = redeclaring_lines(session.kinds, session.project.desired, session.desired, planned.plan, inverse.state_changes, ids)
    outcome, code = session.carry_out(planned, on_error=on_error)
    changed = change_state(session.journal, outcome, inverse)
    if inverse.cannot:
        code = exits.strongest([code, exits.PARTLY if outcome.results or changed or outcome.plan.changes else exits.REFUSED])
    session.journal.finish(exit_code=code, summary={**outcome.summary, **run_commit(session.project)})
    return UndoneRun(outcome, changed, lines, code)


def undo_only(session: ApplySession, inverse: Inverse) -> None:
    """Let the session plan and apply what takes a run back, and nothing else."""
    session.desired = inverse.desired
    session.operation = replace(session.operation, selection=Selection(only=inverse.only))
