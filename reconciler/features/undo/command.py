"""`reconciler undo`: plan, ask and apply the inverse of a run."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack
from typing import Any, Final, Literal

import click

from reconciler import exits
from reconciler.cli import options as shared, reports
from reconciler.cli.commands.apply import confirmed_plan, no_terminal
from reconciler.cli.opening import opened, state_of
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.config import Project
from reconciler.features.undo import Cannot, YamlLine
from reconciler.features.undo.document import undo_document
from reconciler.features.undo.session import begin_undo, carry_out_undo
from reconciler.model import RecordedRun, StateChange
from reconciler.report.history import ID_SHOWN, state_change_lines
from reconciler.report.outcome import outcome_sheet
from reconciler.run.applying import applying
from reconciler.run.past import find_run
from reconciler.run.rules import JudgedProject

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
    chosen: list[RecordedRun] = []

    def admit(judged_project: JudgedProject) -> None:
        chosen.append(_recorded_run(screen, options, judged_project.project, run))

    with ExitStack() as stack:
        opened_run = stack.enter_context(opened(screen, options, admit=admit))
        recorded_run = chosen[0]
        store, session = stack.enter_context(applying(opened_run, f"undo {recorded_run.id[:ID_SHOWN]}"))
        inverse = begin_undo(session, store, recorded_run.id)
        _note_irreversible(screen, inverse.cannot)
        _note_state_changes(screen, inverse.state_changes)
        planned = confirmed_plan(screen, options, session, ask=not yes, full=full)
        if planned is not None and inverse.state_changes and not yes and not planned.plan.pending:
            if not screen.can_ask:
                raise no_terminal("undo")
            planned = planned if click.confirm("Change the state? This needs no requests.", default=False, err=True) else None
        if planned is None:
            screen.say("Nothing was undone.")
            session.journal.finish(exit_code=exits.FAILED, summary={})
            return exits.FAILED
        undone = carry_out_undo(session, planned, inverse, on_error=on_error)
        if undone.changed is None:
            screen.note(
                f"The state was not changed, because not everything was done. To try again: reconciler undo {recorded_run.id[:ID_SHOWN]}"
            )
    outcome = undone.outcome
    if options.format == "json":
        screen.document(undo_document(recorded_run, outcome, undone.changed or (), inverse.cannot, undone.lines))
    elif outcome.results or outcome.notes:
        done = f"Run {recorded_run.id[:ID_SHOWN]} is undone{', except for what is listed' if inverse.cannot else ''}."
        again = f"reconciler undo {recorded_run.id[:ID_SHOWN]} again"
        sheet = outcome_sheet(screen.masked_data(outcome), done=done, again=again, not_applied=False)
        reports.show_sheet(screen, sheet)
    elif set(recorded_run.turned) == {"record"}:
        screen.say(ONLY_RECORDED.format(recorded_run.id[:ID_SHOWN]))
    _note_redeclaring_lines(screen, undone.lines)
    return undone.code


def _recorded_run(screen: Screen, options: Options, project: Project, run: str) -> RecordedRun:
    """The run that is meant, found before anything is asked or sent. Raises `UsageError` where there is none."""
    with state_of(screen, options, project) as store:
        return find_run(store.runs() if store is not None else (), run)


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
