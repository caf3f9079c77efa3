"""`reconciler undo`: plan, ask and apply the inverse of a run."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final, Literal

import click

from reconciler import exits
from reconciler.address import Selection
from reconciler.cli import options as shared
from reconciler.cli.commands.apply import confirmed_plan, no_terminal
from reconciler.cli.options import Options
from reconciler.cli.terminal.progress import Narration
from reconciler.cli.terminal.screen import Screen
from reconciler.config import Project
from reconciler.kinds import load as load_kinds
from reconciler.model import Outcome, RecordedRun, StateChange, StepStatus
from reconciler.plan.matching.match import identify
from reconciler.report.documents import undo_document
from reconciler.report.history import ID_SHOWN, state_change_lines
from reconciler.report.outcome import outcome_sheet
from reconciler.report.sheet import sheet_text
from reconciler.run import codes
from reconciler.run.applying import ApplySession
from reconciler.run.connecting import connect, open_store, recording_end
from reconciler.run.leases import leased
from reconciler.run.loading import load
from reconciler.run.past import find_run
from reconciler.run.redirect_files import check_redirects
from reconciler.run.saved.origin import run_commit
from reconciler.run.stages import Planned
from reconciler.run.unseen import known_state
from reconciler.state import Journal, Store
from reconciler.undo import (
    Cannot,
    Inverse,
    YamlLine,
    desired_for_reading,
    entries_today,
    inverse,
    journal_arguments,
    redeclaring_lines,
    run_effects,
    state_changes_today,
    stop_managing_fields,
)

ONLY_RECORDED: Final = (
    "Run {} only recorded values that the service had already, so there is nothing to undo.\n"
    "To undo an earlier run: reconciler history lists them, and reconciler undo RUN undoes one."
)


@click.command("undo", short_help="Plan and apply the reverse of a run.")
@shared.run_argument()
@shared.project()
@shared.guards()
@shared.absences()
@shared.service()
@shared.state()
@shared.lease()
@shared.yes()
@click.option(
    "--on-error",
    type=click.Choice(["continue", "stop"]),
    default="continue",
    show_default=True,
    help="Stop after the first failed request, or continue with independent ones.",
)
@click.option("--full", is_flag=True, help="Show every change on lines of its own.")
@shared.output(formats=("text", "json"))
@click.pass_obj
def command(screen: Screen, /, run: str, yes: bool, on_error: Literal["continue", "stop"], full: bool, **parameters: Any) -> int:
    """Undo a run: restore its fields and locations, delete what it created, restore the spaces that it deleted.

    RUN is the id of the run, the beginning of an id, or `last`: the newest run that sent or recorded anything. What was changed since
    stays. What cannot be undone is listed, and so are the lines of the YAML that would repeat the run: change them before the next apply.

    \b
    Example:
      reconciler undo last examples/acme --sandbox .reconciler/acme.db
    """
    options = Options.of(screen, parameters)
    kinds = load_kinds()
    project = load(screen, options, kinds)
    recorded_run = _recorded_run(screen, options, project, run)
    with (
        connect(screen, options, project, kinds) as service,
        open_store(screen, options, project, service, create=True) as store,
        leased(screen, options, store, command=f"undo {recorded_run.id[:ID_SHOWN]}") as journal,
        recording_end(journal),
        ApplySession(
            Narration(screen), service, kinds.with_digest_key(store.digest_key(), project.sensitive), project, journal, options.operation
        ) as session,
    ):
        for note in session.recover():
            screen.say(note)
        # An undo does not continue the run before it, whose consents would otherwise let it open things unasked.
        session.alone = True
        inverse = inverse_of(session, store, recorded_run.id)
        undo_only(session, inverse)
        _note_irreversible(screen, inverse.cannot)
        _note_state_changes(screen, inverse.state_changes)
        planned = confirmed_plan(screen, options, session, ask=not yes, full=full)
        if planned is not None and inverse.state_changes and not yes and not planned.plan.pending:
            if not screen.can_ask:
                raise no_terminal("undo")
            planned = planned if click.confirm("Change the state? This needs no requests.", default=False, err=True) else None
        if planned is None:
            screen.say("Nothing was undone.")
            journal.finish(exit_code=exits.FAILED, summary={})
            return exits.FAILED
        lines = _lines(session, planned, inverse.state_changes)
        check_redirects(project.settings.root, planned.plan.redirects)
        outcome = session.apply(planned, on_error=on_error)
        written = session.settle_redirects(planned)
        changed = change_state(screen, journal, outcome, inverse, recorded_run.id[:ID_SHOWN])
        code = codes.of_outcome(outcome, signal=session.signal)
        code = code if written else exits.strongest([code, exits.PARTLY])
        if inverse.cannot:
            code = exits.strongest([code, exits.PARTLY if outcome.results or changed or outcome.plan.changes else exits.REFUSED])
        journal.finish(exit_code=code, summary={**outcome.summary, **run_commit(project)})
    if options.format == "json":
        screen.document(undo_document(recorded_run, outcome, changed, inverse.cannot, lines))
    elif outcome.results or outcome.notes:
        done = f"Run {recorded_run.id[:ID_SHOWN]} is undone{', except for what is listed' if inverse.cannot else ''}."
        again = f"reconciler undo {recorded_run.id[:ID_SHOWN]} again"
        sheet = outcome_sheet(screen.masked_data(outcome), done=done, again=again, withheld=False)
        screen.spans(sheet_text(sheet, width=screen.width))
    elif set(recorded_run.turned) == {"record"}:
        screen.say(ONLY_RECORDED.format(recorded_run.id[:ID_SHOWN]))
    _note_redeclaring_lines(screen, lines)
    return code


def _recorded_run(screen: Screen, options: Options, project: Project, run: str) -> RecordedRun:
    """The run that is meant, found before anything is asked or sent. Raises `UsageError` where there is none."""
    with known_state(screen, options, project) as store:
        return find_run(store.runs() if store is not None else (), run)


def inverse_of(session: ApplySession, store: Store, run: str) -> Inverse:
    """Read the current objects, and find what takes the run back."""
    kinds, project, state = session.kinds, session.project.desired, session.journal.state()
    later = store.later_state_changes(run)
    done, state_changes = run_effects(kinds, entries_today(store.entries(run), later)), state_changes_today(store.state_changes(run), later)
    actual = session.look(desired_for_reading(kinds, project, state, done, state_changes))
    return inverse(kinds, project, state, actual, done, state_changes, ever=store.ids())


def change_state(screen: Screen, journal: Journal, outcome: Outcome, inverse: Inverse, run: str) -> tuple[StateChange, ...]:
    """Change the bindings once everything else is done; answers what was changed. Fields that were not managed are unmanaged again."""
    state_changes = inverse.state_changes
    if not state_changes and not inverse.unmanaged:
        return ()
    if outcome.plan.deferred or outcome.plan.blocked or any(result.status is not StepStatus.DONE for result in outcome.results):
        screen.note(f"The state was not changed, because not everything was done. To try again: reconciler undo {run}")
        return ()
    for address, unset in stop_managing_fields(inverse, journal.state()).items():
        journal.note(address, sent=unset, seen=unset)
    forget, rename, protect = journal_arguments(state_changes)
    journal.remember(forget=forget, rename=rename, protect=protect)
    return tuple(state_changes)


def undo_only(session: ApplySession, inverse: Inverse) -> None:
    """Let the session plan and apply what takes a run back, and nothing else."""
    session.desired = inverse.desired
    session.operation = replace(session.operation, selection=Selection(only=inverse.only))


def _lines(session: ApplySession, planned: Planned, state_changes: Collection[StateChange]) -> tuple[YamlLine, ...]:
    """Where the YAML still wants what is about to be taken back."""
    ids = identify(session.kinds, session.project.desired, planned.state, planned.actual).ids
    return redeclaring_lines(session.kinds, session.project.desired, session.desired, planned.plan, state_changes, ids)


def _note_irreversible(screen: Screen, cannot: Collection[Cannot]) -> None:
    if cannot:
        screen.note("Cannot be undone:\n" + "\n".join(f"  {blocked.address}: {blocked.reason}" for blocked in cannot))


def _note_state_changes(screen: Screen, state_changes: Collection[StateChange]) -> None:

    if state_changes:
        screen.note("\n  ".join(["Changes of the state, without requests:", *state_change_lines(state_changes)]))


def _note_redeclaring_lines(screen: Screen, lines: Collection[YamlLine]) -> None:
    if lines:
        lines_text = (f"{f'{line.source.file_and_line}  ' if line.source else ''}{line.address}: {line.what}" for line in lines)
        screen.note(
            "Change these lines before the next apply, which would otherwise repeat the run:\n"
            + "\n".join(f"  {text}" for text in lines_text)
        )
