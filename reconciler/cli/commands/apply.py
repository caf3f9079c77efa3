"""`reconciler apply`: recover, plan, confirm, apply."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from reconciler import exits
from reconciler.apply import FRESH
from reconciler.cli import options as shared, reports
from reconciler.cli.options import Options, require_commit as require_commit_option
from reconciler.cli.terminal.progress import Narration
from reconciler.cli.terminal.screen import Screen
from reconciler.config import Project
from reconciler.errors import StalePlan, UsageError
from reconciler.kinds import load as load_kinds
from reconciler.model import Outcome, Plan
from reconciler.report.documents import outcome_document
from reconciler.report.outcome import outcome_sheet
from reconciler.report.plan import not_changed, plan_sheet
from reconciler.report.sheet import sheet_text
from reconciler.report.words import count
from reconciler.run import codes
from reconciler.run.applying import ApplySession
from reconciler.run.connecting import connect, open_store, recording_end
from reconciler.run.guards import check
from reconciler.run.leases import leased
from reconciler.run.loading import load, now
from reconciler.run.redirect_files import check_redirects
from reconciler.run.rules import judged
from reconciler.run.saved import use as apply_saved
from reconciler.run.saved.origin import run_commit
from reconciler.run.stages import Planned
from reconciler.run.unseen import Unseen, consented, to_create
from reconciler.state.history import WHOLE
from reconciler.text.names import HERE


@click.command("apply", short_help="Apply changes after confirmation.")
@shared.project()
@shared.selection()
@shared.guards()
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

    \b
    Example:
      reconciler apply examples/acme --sandbox .reconciler/acme.db
      reconciler apply examples/acme --sandbox .reconciler/acme.db --plan acme.plan.json
    """
    options = Options.of(screen, parameters)
    use = None
    if file is not None:
        use = apply_saved.opened(screen, options, file, partial=partial, ask=not yes, commit=require_commit)
        options = use.options
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
    kinds = load_kinds()
    by = judged(screen, options, kinds, load(screen, options, kinds))
    project = by.project
    for note in by.notes:
        screen.say(note)
    if use is not None:
        use.check_project(project.settings.project)
    elif not yes and not screen.can_ask:
        raise no_terminal("apply")
    with connect(screen, options, project, kinds, create=use is None) as service:
        if use is not None:
            use.check_service(service)
        new = to_create(screen, options, project, service)
        if new is not None and use is not None:
            use.check_new(new)
        if consented(screen, options, new, asks=not yes):
            new = None
        # In this order: the state is locked before the service is read, so that no other run changes either in between.
        with (
            open_store(screen, options, project, service, create=True) as store,
            leased(screen, options, store, command="apply" if use is None else "apply --plan") as journal,
            recording_end(journal),
            ApplySession(
                Narration(screen),
                service,
                kinds.with_digest_key(store.digest_key(), project.sensitive),
                project,
                journal,
                options.operation,
            ) as session,
        ):
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
                    planned = use.approved_part(session, store, full=full, new=new)
                except StalePlan:
                    if (nothing := use.nothing(journal.run)) is not None:
                        _write_outcome(screen, options, report, project, nothing, text=False)
                    raise
            if planned is None:
                declined = exits.FAILED if use is None else exits.LOCKED
                screen.say("Nothing was applied.")
                journal.finish(exit_code=declined, summary={})
                return declined
            check_redirects(project.settings.root, planned.plan.redirects)
            outcome = session.apply(planned, on_error=on_error, verify=verify)
            written = session.settle_redirects(planned)
            code = codes.of_outcome(outcome, signal=session.signal)
            code = code if written else exits.strongest([code, exits.PARTLY])
            if use is not None:
                outcome, code = use.ended(outcome, code)
            # A later drift began after the newest run that found or left everything as it is declared.
            whole = {WHOLE: True} if use is None and not options.operation.selection.partial else {}
            journal.finish(exit_code=code, summary={**outcome.summary, **whole, **run_commit(project)})
    _write_outcome(screen, options, report, project, outcome, text=bool(outcome.plan.pending or outcome.notes or use is not None))
    return code


def _write_outcome(
    screen: Screen, options: Options, report: tuple[tuple[str, Path], ...], project: Project, outcome: Outcome, *, text: bool
) -> None:  # fmt: skip
    """Write the report where it was requested. `text`: also to a screen, unless it requested JSON."""
    outcome = screen.masked_data(outcome)
    document = outcome_document(outcome)
    reports.write(screen, report, document, lambda: outcome_sheet(outcome), created_at=now(), folder=reports.folder(project))
    if options.format == "json":
        screen.document(document)
    elif text:
        screen.spans(sheet_text(outcome_sheet(outcome, withheld=False), width=screen.width))


def confirmed_plan(
    screen: Screen, options: Options, session: ApplySession, *, ask: bool, full: bool, new: Unseen | None = None
) -> Planned | None:  # fmt: skip
    """A plan that passed the guards, was shown and confirmed, and still equals that of a fresh read; None if it was declined.

    `new`: the state that applying the plan creates, if that requires consent. Raises `UsageError` if nobody can confirm.
    """
    planned = session.plan()
    while True:
        _show(screen, options, planned.plan, ask=ask, full=full)
        asks = ask and planned.plan.pending
        check(planned.plan, session.desired, options.limits.with_exposures if asks else options.limits)
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
        screen.spans(sheet_text(plan_sheet(shown, full=full, zone=HERE), width=screen.width))
    elif ask:
        screen.narrate_spans(sheet_text(plan_sheet(shown, full=full, zone=HERE), width=screen.narration_width))


def _question(plan: Plan, new: Unseen | None) -> str:
    number, opened = len(plan.steps), len(plan.exposures)
    consequences = f" It exposes {opened} thing{'s' if opened != 1 else ''}." if opened else ""
    consequences += f" {not_changed(plan)}" if plan.blocked else ""
    written = len(plan.redirects.written) if plan.redirects is not None else 0
    consequences += f" It writes {count(written, 'file')} of redirects." if written else ""
    consequences += f" It creates {new.where} for {new.project}." if new is not None else ""
    if not number:
        return f"Apply this plan? It needs no requests.{consequences}"
    return f"Apply {'this request' if number == 1 else f'these {number} requests'}?{consequences}"
