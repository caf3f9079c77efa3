"""`reconciler apply`: recover, plan, confirm, apply."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import click
from click.core import ParameterSource

from reconciler import exits
from reconciler.apply import FRESH
from reconciler.cli import options as shared, reports
from reconciler.cli.opening import consented, create_there, opened, saved_use
from reconciler.cli.options import Options, require_commit as require_commit_option
from reconciler.cli.terminal.screen import Screen
from reconciler.config import Project
from reconciler.errors import StalePlan, UsageError
from reconciler.model import Outcome, Plan
from reconciler.report.documents import outcome_document
from reconciler.report.outcome import outcome_sheet
from reconciler.report.plan import not_changed, plan_sheet
from reconciler.report.sections import SECTIONS
from reconciler.report.sheet import sheet_text
from reconciler.run.applying import ApplySession, applying
from reconciler.run.connection.unseen import Unseen, to_create
from reconciler.run.loading import now
from reconciler.run.rules import JudgedProject
from reconciler.run.saved.origin import run_commit
from reconciler.run.saved.use import SavedPlanUse
from reconciler.run.stages import Planned
from reconciler.state import Store
from reconciler.state.history import WHOLE
from reconciler.text.names import HERE


@click.command("apply", short_help="Apply changes after confirmation.")
@shared.project()
@shared.selection()
@shared.guards()
@shared.holding()
@shared.rules()
@shared.absences()
@shared.service()
@shared.state()
@shared.lease()
@shared.creating()
@click.option(
    "--plan",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    allow_from_autoenv=False,
    help="Apply exactly what this saved plan shows.",
)
@require_commit_option()
@click.option("--partial", is_flag=True, allow_from_autoenv=False, help="With --plan: if part of it is no longer valid, apply the rest.")
@shared.yes()
@click.option(
    "--on-error",
    type=click.Choice(["continue", "stop"]),
    default="continue",
    show_default=True,
    help="Stop after the first failed request, or continue with independent ones.",
)
@click.option(
    "--verify",
    type=click.Choice(["written", "full"]),
    default="written",
    show_default=True,
    help="After the last request, read again what was written, or everything.",
)
@click.option("--full", is_flag=True, help="Show every change on lines of its own.")
@reports.option()
@shared.output(formats=("text", "json"))
@click.pass_obj
def command(
    screen: Screen, /, file: Path | None, require_commit: str | None, partial: bool, yes: bool, on_error: Literal["continue", "stop"],
    verify: Literal["written", "full"], full: bool, report: tuple[tuple[str, Path], ...], **parameters: Any,
) -> int:  # fmt: skip
    """Apply the project: resolve the requests in doubt of earlier runs, plan, ask for confirmation, apply, verify.

    With --plan FILE, apply what `plan --out FILE` saved, as far as it is still valid, without asking.
    With --hold, apply what no guard refuses, and end with exit code 5 where something is held.

    \b
    Example:
      reconciler apply examples/acme --sandbox .reconciler/acme.db
      reconciler apply examples/acme --sandbox .reconciler/acme.db --hold --yes
      reconciler apply examples/acme --sandbox .reconciler/acme.db --plan acme.plan.json
    """
    options = Options.of(screen, parameters)
    use = None
    if file is not None:
        if click.get_current_context().get_parameter_source("hold") is ParameterSource.COMMANDLINE:
            hint = "Hold what is refused when the plan is created: reconciler plan --hold --out FILE."
            raise UsageError("--plan FILE applies nothing but what it shows", id="RC-options-conflict", hint=hint)
        options = replace(options, hold=False)
        use, options = saved_use(screen, options, file, commit=require_commit)
    elif require_commit is not None:
        raise UsageError(
            "--require-commit requires --plan FILE",
            id="RC-options-conflict",
            hint="Without a saved plan, apply uses the files as they are.",
        )
    elif partial:
        raise UsageError(
            "--partial requires --plan FILE", id="RC-options-conflict", hint="To apply part of a plan without a file, use --target GLOB."
        )

    def admit(judged_project: JudgedProject) -> None:
        for note in judged_project.notes:
            screen.say(note)
        if use is not None:
            use.check_project(judged_project.project.settings.project)
        elif not yes and not screen.can_ask:
            raise no_terminal("apply")

    with opened(screen, options, create=use is None, admit=admit) as run:
        if use is not None:
            use.check_service(run.service)
        new = to_create(run.operation, run.voice, run.project, run.service)
        if new is not None and use is not None:
            use.check_new(new)
        if consented(screen, options, new, asks=not yes):
            new = None
        project = run.project
        with applying(run, "apply" if use is None else "apply --plan") as (store, session):
            journal = session.journal
            for note in session.recover():
                screen.say(note)
            if use is not None and (earlier := use.applied_before(store)) is not None:
                outcome = use.repeated(journal.run, earlier)
                journal.finish(exit_code=exits.DONE, summary={})
                _write_outcome(screen, options, report, project, outcome, text=True)
                return exits.DONE
            if use is None:
                planned = confirmed_plan(screen, options, session, ask=not yes, full=full, new=new)
            else:
                try:
                    planned = _approved_plan(screen, options, use, session, store, partial=partial, ask=not yes, full=full, new=new)
                except StalePlan:
                    if (nothing := use.nothing(journal.run)) is not None:
                        _write_outcome(screen, options, report, project, nothing, text=False)
                    raise
            if planned is None:
                declined = exits.FAILED if use is None else exits.LOCKED
                screen.say("Nothing was applied.")
                journal.finish(exit_code=declined, summary={})
                return declined
            outcome, code = session.carry_out(planned, on_error=on_error, verify=verify)
            if use is not None:
                outcome, code = use.ended(outcome, code)
            # A later drift began after the newest run that found or left everything as it is declared.
            whole = {WHOLE: True} if use is None and not (run.operation.selection.partial or outcome.plan.held) else {}
            journal.finish(exit_code=code, summary={**outcome.summary, **whole, **run_commit(project)})
    shown = bool(outcome.plan.pending or outcome.plan.held or outcome.notes or use is not None)
    _write_outcome(screen, options, report, project, outcome, text=shown)
    return code


def _write_outcome(
    screen: Screen, options: Options, report: tuple[tuple[str, Path], ...], project: Project, outcome: Outcome, *, text: bool
) -> None:
    """Write the report where it was requested. `text`: also to a screen, unless it requested JSON."""
    outcome = screen.masked_data(outcome)
    document = outcome_document(outcome)
    reports.Report(document, lambda: outcome_sheet(outcome), now(), reports.folder(project)).write(screen, report)
    if options.format == "json":
        screen.document(document)
    elif text:
        reports.show_sheet(screen, outcome_sheet(outcome, not_applied=False))


def _approved_plan(
    screen: Screen, options: Options, use: SavedPlanUse, session: ApplySession, store: Store, *, partial: bool, ask: bool, full: bool,
    new: Unseen | None,
) -> Planned | None:  # fmt: skip
    """The part of a fresh plan that a file allows, recorded in the journal; None if it was declined. `new`: the state that this creates,
    where that takes consent: the file did not ask for it.

    Raises `StalePlan` where the file was used, belongs to another state, or does not hold and nobody said that the rest will do.
    """
    planned = use.begin(session, store)
    while True:
        use.tell()
        rest = use.rest(planned) if (refused := use.refused) else ""
        if options.format == "text":
            reports.show_sheet(screen, plan_sheet(planned.plan, full=full, zone=HERE))
        if rest and not partial and not (ask and screen.can_ask):
            raise use.partly(rest)
        planned.check(use.limits)
        if not rest:
            break
        if not partial and not click.confirm(f"Apply {rest}?", default=False, err=True):
            return None
        # Somebody may think about the question for an hour. What they agreed to must still be true when it is sent.
        if planned.age <= FRESH:
            break
        again = use.approved(session, store)
        if again.plan == planned.plan and use.refused == refused:
            planned = again
            break
        screen.say("The service changed in the meantime; this is what is still valid.")
        planned = again
    if new is not None and not create_there(screen, new):
        return None
    session.journal.carry_out(use.saved.digest)
    return planned


def confirmed_plan(
    screen: Screen, options: Options, session: ApplySession, *, ask: bool, full: bool, new: Unseen | None = None
) -> Planned | None:
    """A plan that passed the guards, was shown and confirmed, and still equals that of a fresh read; None if it was declined.

    `new`: the state that applying the plan creates, if that requires consent. Raises `UsageError` if nobody can confirm.
    """
    planned = session.plan()
    while True:
        _show(screen, options, planned.plan, ask=ask, full=full)
        asks = ask and planned.plan.pending
        planned.check(options.limits.with_exposures if asks else options.limits)
        if not asks:
            return planned
        if not screen.can_ask:
            raise no_terminal("undo" if session.alone else "apply")
        if new is not None:
            screen.say(new.fact)
        if not click.confirm(_question(planned.plan, new), default=False, err=True):
            return None
        if planned.age <= FRESH:
            return planned
        again = session.plan()
        if again.plan == planned.plan:
            return again
        screen.say("The service changed in the meantime; this is the new plan.")
        planned = again


def no_terminal(verb: str) -> UsageError:
    """The error if a question is needed without a terminal. `verb`: what would be confirmed."""
    return UsageError(
        "there is no terminal to ask for confirmation", id="RC-no-terminal", hint=f"Pass --yes to {verb} without confirmation."
    )


def _show(screen: Screen, options: Options, plan: Plan, *, ask: bool, full: bool) -> None:

    shown = screen.masked_data(plan)
    if options.format == "text":
        reports.show_sheet(screen, plan_sheet(shown, full=full, zone=HERE))
    elif ask:
        screen.narrate_spans(sheet_text(plan_sheet(shown, full=full, zone=HERE), width=screen.narration_width))


def _question(plan: Plan, new: Unseen | None) -> str:
    number, opened = len(plan.steps), len(plan.exposures)
    consequences = f" It exposes {opened} thing{'s' if opened != 1 else ''}." if opened else ""
    consequences += f" {not_changed(plan)}" if plan.blocked or plan.held else ""
    consequences += "".join(f" It writes {files}." for section in SECTIONS if (files := section.written(plan)))
    consequences += f" It creates {new.where} for {new.project}." if new is not None else ""
    if not number:
        return f"Apply this plan? It needs no requests.{consequences}"
    return f"Apply {'this request' if number == 1 else f'these {number} requests'}?{consequences}"
